// oneDNN 2.x and 3.x, every primitive created beforehand and executed through the C interface,
// which avoids the argument map of the C++ interface:
//   onednn-plain    all tensors in the row-major layout the user has
//   onednn-reorder  the layouts oneDNN prefers; every reorder from and to the user's is counted
//   onednn-packed   the same, but the weights were reordered once beforehand (forward only: what a
//                   filter does that copies its weights)
#include <oneapi/dnnl/dnnl.h>

#include <stdexcept>

#include "workloads/convolution.h"
#include "workloads/fused.h"
#include "workloads/gemm.h"
#include "workloads/lstm.h"
#include "workloads/matmul.h"
#include "workloads/normalization.h"
#include "onednn/onednn.h"
#include "workloads/pooling.h"
#include "workloads/workloads.h"

namespace bench {
namespace {
using dnnl::memory;

Desc f32(const memory::dims& dims, Tag tag) {
  return {dims, memory::data_type::f32, tag};
}

struct Operand {
  int id;              // DNNL_ARG_...
  const char* tensor;  // the user's name for it
  Desc layout;         // the layout the primitive expects
};

template <class List>
auto& find(List& list, const std::string& tensor) {
  for (auto& x : list) {
    if (x.tensor == tensor) return x;
  }
  throw std::logic_error("no tensor " + tensor);
}

// Primitives in the order they run, with the reorders their layouts need. A tensor that several
// primitives read in the same layout is reordered once.
class Sequence {
 public:
  // The user's tensors; `prepared` ones are reordered when the sequence is built, not when it runs.
  void input(const char* tensor, const Desc& plain, float* data, bool prepared = false) {
    inputs_.push_back({tensor, memory(plain, engine(), data), prepared, {}});
  }
  void output(const char* tensor, const Desc& plain) {
    outputs_.push_back({tensor, memory(plain, engine())});
  }
  // Written by one primitive and read by others.
  void between(const char* tensor, const Desc& plain) {
    output(tensor, plain);
    inputs_.push_back({tensor, outputs_.back().plain, false, {}});
  }

  void add(const dnnl::primitive& p, const std::vector<Operand>& in,
           const std::vector<Operand>& out) {
    std::vector<std::pair<int, memory>> arguments;
    std::vector<std::pair<memory, memory>> back;
    for (const Operand& o : in) arguments.emplace_back(o.id, read_as(o));
    for (const Operand& o : out) {
      memory& user = find(outputs_, o.tensor).plain;
      const bool direct = user.get_desc() == o.layout;
      const memory written = direct ? user : memory(o.layout, engine());
      arguments.emplace_back(o.id, written);
      if (!direct) back.emplace_back(written, user);
    }
    calls_.emplace_back(p, arguments);
    for (auto& [from, to] : back) calls_.push_back(reorder(from, to));
  }

  size_t reorders() const { return reorders_; }

  void run() const {
    for (const Call& call : calls_) call.execute();
  }

  std::vector<Result> results() const {
    run();
    stream().wait();
    std::vector<Result> list;
    for (const Output& o : outputs_) {
      const float* data = static_cast<const float*>(o.plain.get_data_handle());
      const size_t n = o.plain.get_desc().get_size() / sizeof(float);
      list.push_back({.tensor = o.tensor, .value = {data, data + n}});
    }
    return list;
  }

 private:
  struct Call {
    Call(dnnl::primitive p, const std::vector<std::pair<int, memory>>& arguments)
        : primitive(std::move(p)) {
      for (const auto& [id, m] : arguments) {
        keep.push_back(m);
        args.push_back({id, m.get()});
      }
    }
    void execute() const {
      if (dnnl_primitive_execute(primitive.get(), stream().get(), int(args.size()), args.data()) !=
          dnnl_success) {
        throw std::runtime_error("dnnl_primitive_execute failed");
      }
    }
    dnnl::primitive primitive;
    std::vector<memory> keep;
    std::vector<dnnl_exec_arg_t> args;
  };
  struct Input {
    std::string tensor;
    memory plain;
    bool prepared;
    std::vector<memory> reordered;
  };
  struct Output {
    std::string tensor;
    memory plain;
  };

  Call reorder(memory& from, memory& to) {
    ++reorders_;
    return {dnnl::reorder(from, to), {{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, to}}};
  }

  memory read_as(const Operand& o) {
    Input& input = find(inputs_, o.tensor);
    if (input.plain.get_desc() == o.layout) return input.plain;
    for (const memory& m : input.reordered) {
      if (m.get_desc() == o.layout) return m;
    }
    memory made(o.layout, engine());
    Call call = reorder(input.plain, made);
    if (input.prepared) {
      call.execute();
    } else {
      calls_.push_back(std::move(call));
    }
    input.reordered.push_back(made);
    return made;
  }

  std::vector<Input> inputs_;
  std::vector<Output> outputs_;
  std::vector<Call> calls_;
  size_t reorders_ = 0;
};

Entry entry(const char* who, Sequence s, std::string note) {
  const auto shared = std::make_shared<const Sequence>(std::move(s));
  return {.who = who,
          .run = repeated([shared] { shared->run(); }),
          .results = [shared] { return shared->results(); },
          .note = std::move(note)};
}

struct Eltwise {
  dnnl::algorithm forward, backward;
  bool from_output;  // the backward algorithm reads the forward result
  float alpha;
};

constexpr Eltwise kEltwise[] = {
    // in the order of Function
    {dnnl::algorithm::eltwise_relu, dnnl::algorithm::eltwise_relu_use_dst_for_bwd, true, 0},
    {dnnl::algorithm::eltwise_logistic, dnnl::algorithm::eltwise_logistic_use_dst_for_bwd, true, 0},
    {dnnl::algorithm::eltwise_tanh, dnnl::algorithm::eltwise_tanh_use_dst_for_bwd, true, 0},
    {dnnl::algorithm::eltwise_gelu_erf, dnnl::algorithm::eltwise_gelu_erf, false, 0},
    {dnnl::algorithm::eltwise_swish, dnnl::algorithm::eltwise_swish, false, 1},
};

std::string instruction_set() {
  switch (dnnl::get_effective_cpu_isa()) {
    case dnnl::cpu_isa::sse41:
      return "SSE4.1";
    case dnnl::cpu_isa::avx:
      return "AVX";
    case dnnl::cpu_isa::avx2:
      return "AVX2";
    case dnnl::cpu_isa::avx512_core:
      return "AVX-512";
    default:
      return "code " + std::to_string(int(dnnl::get_effective_cpu_isa()));
  }
}

class OneDnn final : public Peer {
 public:
  explicit OneDnn(int threads) : threads_(threads) {}

  std::string describe() const override {
    const dnnl_version_t* v = dnnl_version();
    return "oneDNN " + std::to_string(v->major) + "." + std::to_string(v->minor) + "." +
           std::to_string(v->patch) + ", instruction set " + instruction_set() +
           ", OpenMP threads " + std::to_string(threads_);
  }

  void activation(const Activation& p, Rows& rows) override;
  void fused(const FusedConvolution& p, Rows& rows) override { add_onednn_fused(p, rows); }
  void convolution(const Convolution& p, Rows& rows) override { add_onednn_convolution(p, rows); }
  void fully_connected(const FullyConnected& p, Rows& rows) override;
  void lstm(const Lstm& p, Rows& rows) override { add_onednn_lstm(p, rows); }
  void matmul(const MatMul& p, Rows& rows) override { add_onednn_matmul(p, rows); }
  void normalization(const Normalization& p, Rows& rows) override {
    add_onednn_normalization(p, rows);
  }
  void pooling(const Pooling& p, Rows& rows) override { add_onednn_pooling(p, rows); }

 private:
  int threads_;
};

auto describe_eltwise(dnnl::algorithm algorithm, const Desc& d, float alpha) {
#if DNNL_VERSION_MAJOR >= 3
  return describe<dnnl::eltwise_forward>(dnnl::prop_kind::forward_training, algorithm, d, d, alpha,
                                         0.0f);
#else
  return describe<dnnl::eltwise_forward>(dnnl::prop_kind::forward_training, algorithm, d, alpha,
                                         0.0f);
#endif
}

void OneDnn::activation(const Activation& p, Rows& rows) {
  const Eltwise& e = kEltwise[size_t(p.function)];
  const Desc d = f32({memory::dim(p.n)}, Tag::a);
  const auto forward = describe_eltwise(e.forward, d, e.alpha);
  Sequence f;
  f.input("in", d, p.in.data());
  f.output("out", d);
  f.add(dnnl::eltwise_forward(forward), {{DNNL_ARG_SRC, "in", d}}, {{DNNL_ARG_DST, "out", d}});
  rows.add("fwd", entry("onednn-plain", std::move(f), forward.impl_info_str()));

  const auto hint = describe_eltwise(e.backward, d, e.alpha);
#if DNNL_VERSION_MAJOR >= 3
  const auto backward =
      describe_backward<dnnl::eltwise_backward>(hint, e.backward, d, d, d, e.alpha, 0.0f);
#else
  const auto backward =
      describe_backward<dnnl::eltwise_backward>(hint, e.backward, d, d, e.alpha, 0.0f);
#endif
  Sequence b;
  b.input("in", d, p.in.data());
  b.input("out", d, p.out.data());
  b.input("out_delta", d, p.out_delta.data());
  b.output("in_delta", d);
  const Operand known =
      e.from_output ? Operand{DNNL_ARG_DST, "out", d} : Operand{DNNL_ARG_SRC, "in", d};
  b.add(dnnl::eltwise_backward(backward), {known, {DNNL_ARG_DIFF_DST, "out_delta", d}},
        {{DNNL_ARG_DIFF_SRC, "in_delta", d}});
  rows.add("bwd", entry("onednn-plain", std::move(b), backward.impl_info_str()));
}

// The three inner-product primitives, with plain layouts or with those oneDNN prefers.
struct InnerProduct {
  InnerProduct(const FullyConnected& p, bool prefer)
      : src(f32({memory::dim(p.batch), memory::dim(p.inputs)}, Tag::ab)),
        weights(f32({memory::dim(p.outputs), memory::dim(p.inputs)}, Tag::ab)),
        bias(f32({memory::dim(p.outputs)}, Tag::a)),
        dst(f32({memory::dim(p.batch), memory::dim(p.outputs)}, Tag::ab)),
        fwd(describe_with<dnnl::inner_product_forward>(
            attributes(p.fused), dnnl::prop_kind::forward_training, free(src, prefer),
            free(weights, prefer), bias, free(dst, prefer))),
        hint(describe<dnnl::inner_product_forward>(dnnl::prop_kind::forward_training,
                                                   free(src, prefer), free(weights, prefer), bias,
                                                   free(dst, prefer))),
        data(describe_backward<dnnl::inner_product_backward_data>(
            hint, free(src, prefer), free(weights, prefer), free(dst, prefer))),
        grad(describe_backward<dnnl::inner_product_backward_weights>(
            hint, free(src, prefer), free(weights, prefer), bias, free(dst, prefer))) {}

  static Desc free(const Desc& d, bool prefer) {
#if DNNL_VERSION_MAJOR >= 3
    return prefer ? f32(d.get_dims(), Tag::any) : d;
#else
    return prefer ? f32(d.dims(), Tag::any) : d;
#endif
  }

  Sequence start(const FullyConnected& p, bool packed = false) const {
    Sequence s;
    s.input("in", src, p.in.data());
    s.input("weights", weights, p.weights.data(), packed);
    s.input("bias", bias, p.bias.data());
    s.input("out_delta", dst, p.out_delta.data());
    s.output("out", dst);
    s.output("in_delta", src);
    s.output("weights_delta", weights);
    s.output("bias_delta", bias);
    return s;
  }
  void add_forward(Sequence& s) const {
    s.add(dnnl::inner_product_forward(fwd),
          {{DNNL_ARG_SRC, "in", fwd.src_desc()},
           {DNNL_ARG_WEIGHTS, "weights", fwd.weights_desc()},
           {DNNL_ARG_BIAS, "bias", bias}},
          {{DNNL_ARG_DST, "out", fwd.dst_desc()}});
  }
  void add_slope(Sequence& s, const FullyConnected& p) const {
    s.input("right_out", dst, p.out.data());
    s.between("gradient", dst);
    s.add(dnnl::eltwise_backward(describe_slope(p.fused, dst)),
          {{DNNL_ARG_DST, "right_out", dst}, {DNNL_ARG_DIFF_DST, "out_delta", dst}},
          {{DNNL_ARG_DIFF_SRC, "gradient", dst}});
  }
  void add_data(Sequence& s, const char* g = "out_delta") const {
    s.add(dnnl::inner_product_backward_data(data),
          {{DNNL_ARG_DIFF_DST, g, data.diff_dst_desc()},
           {DNNL_ARG_WEIGHTS, "weights", data.weights_desc()}},
          {{DNNL_ARG_DIFF_SRC, "in_delta", data.diff_src_desc()}});
  }
  void add_weights(Sequence& s, const char* g = "out_delta") const {
    s.add(dnnl::inner_product_backward_weights(grad),
          {{DNNL_ARG_SRC, "in", grad.src_desc()}, {DNNL_ARG_DIFF_DST, g, grad.diff_dst_desc()}},
          {{DNNL_ARG_DIFF_WEIGHTS, "weights_delta", grad.diff_weights_desc()},
           {DNNL_ARG_DIFF_BIAS, "bias_delta", bias}});
  }

  Desc src, weights, bias, dst;
  dnnl::inner_product_forward::primitive_desc fwd, hint;  // hint: for the gradients
  dnnl::inner_product_backward_data::primitive_desc data;
  dnnl::inner_product_backward_weights::primitive_desc grad;
};

void OneDnn::fully_connected(const FullyConnected& p, Rows& rows) {
  if (p.fused == Fused::kNone) add_onednn_gemm(p, rows);
  for (const bool prefer : {false, true}) {
    const InnerProduct ip(p, prefer);
    const char* who = prefer ? "onednn-reorder" : "onednn-plain";
    // If it prefers the user's layouts, "reorder" would be the same as "plain".
    const auto add = [&](const char* op, Sequence s, const char* kernel) {
      if (!prefer || s.reorders() > 0) rows.add(op, entry(who, std::move(s), kernel));
    };
    Sequence f = ip.start(p), d = ip.start(p), w = ip.start(p), all = ip.start(p);
    ip.add_forward(f);
    if (p.fused != Fused::kNone) {
      ip.add_slope(all, p);
      ip.add_data(all, "gradient");
      ip.add_weights(all, "gradient");
      add("fwd", std::move(f), ip.fwd.impl_info_str());
      add("bwd", std::move(all), "");
      continue;
    }
    ip.add_data(d);
    ip.add_weights(w);
    ip.add_forward(all);
    ip.add_data(all);
    ip.add_weights(all);
    add("fwd", std::move(f), ip.fwd.impl_info_str());
    add("bwd_data", std::move(d), ip.data.impl_info_str());
    add("bwd_weights", std::move(w), ip.grad.impl_info_str());
    add("fwd+bwd", std::move(all), "");
    if (prefer && ip.fwd.weights_desc() != ip.weights) {
      Sequence packed = ip.start(p, true);
      ip.add_forward(packed);
      rows.add("fwd", entry("onednn-packed", std::move(packed), ip.fwd.impl_info_str()));
    }
  }
}

}  // namespace

std::unique_ptr<Peer> make_onednn(int threads) {
  return std::make_unique<OneDnn>(threads);
}

}  // namespace bench
