// libtorch's operators on the user's memory:
//   torch           operators that return fresh tensors, autograd off
//   torch-out       the same into tensors made beforehand, where there is such a form
//   torch-autograd  fwd+bwd recorded and differentiated, as a training loop does it
#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <ATen/Version.h>
#include <torch/csrc/api/include/torch/version.h>

#include <array>

#include "workloads/arithmetic.h"
#include "workloads/attention.h"
#include "workloads/convolution.h"
#include "workloads/embedding.h"
#include "workloads/fused.h"
#include "workloads/lstm.h"
#include "workloads/matmul.h"
#include "workloads/movement.h"
#include "workloads/pooling.h"
#include "workloads/resize.h"
#include "workloads/reduction.h"
#include "workloads/normalization.h"
#include "workloads/top_k.h"
#include "torch/entry.h"
#include "workloads/workloads.h"

namespace bench {
namespace {
using at::Tensor;

// `call` returns an array with the named tensors.
template <size_t N, class F>
Entry fresh(const char* (&&names)[N], F call) {
  std::array<const char*, N> list;
  std::copy(names, names + N, list.begin());
  return {.who = "torch",
          .run = without_autograd(call),
          .results =
              [call, list] {
                c10::InferenceMode guard;
                const std::array<Tensor, N> values = call();
                std::vector<Result> results;
                for (size_t i = 0; i < N; ++i) results.push_back(to_result(list[i], values[i]));
                return results;
              },
          .note = ""};
}

struct Operators {
  Tensor (*forward)(const Tensor& in);
  void (*forward_out)(Tensor& out, const Tensor& in);
  Tensor (*backward)(const Tensor& delta, const Tensor& in, const Tensor& out);
  void (*backward_out)(Tensor& to, const Tensor& delta, const Tensor& in, const Tensor& out);
};

constexpr Operators kOperators[] = {
    // in the order of Function
    {[](const Tensor& x) { return at::relu(x); },
     [](Tensor& y, const Tensor& x) { at::clamp_min_out(y, x, 0); },
     [](const Tensor& d, const Tensor&, const Tensor& y) {
       return at::threshold_backward(d, y, 0);
     },
     [](Tensor& t, const Tensor& d, const Tensor&, const Tensor& y) {
       at::threshold_backward_out(t, d, y, 0);
     }},
    {[](const Tensor& x) { return at::sigmoid(x); },
     [](Tensor& y, const Tensor& x) { at::sigmoid_out(y, x); },
     [](const Tensor& d, const Tensor&, const Tensor& y) { return at::sigmoid_backward(d, y); },
     [](Tensor& t, const Tensor& d, const Tensor&, const Tensor& y) {
       at::sigmoid_backward_out(t, d, y);
     }},
    {[](const Tensor& x) { return at::tanh(x); },
     [](Tensor& y, const Tensor& x) { at::tanh_out(y, x); },
     [](const Tensor& d, const Tensor&, const Tensor& y) { return at::tanh_backward(d, y); },
     [](Tensor& t, const Tensor& d, const Tensor&, const Tensor& y) {
       at::tanh_backward_out(t, d, y);
     }},
    {[](const Tensor& x) { return at::gelu(x); },
     [](Tensor& y, const Tensor& x) { at::gelu_out(y, x); },
     [](const Tensor& d, const Tensor& x, const Tensor&) { return at::gelu_backward(d, x); },
     [](Tensor& t, const Tensor& d, const Tensor& x, const Tensor&) {
       at::gelu_backward_out(t, d, x);
     }},
    {[](const Tensor& x) { return at::silu(x); },
     [](Tensor& y, const Tensor& x) { at::silu_out(y, x); },
     [](const Tensor& d, const Tensor& x, const Tensor&) { return at::silu_backward(d, x); },
     [](Tensor& t, const Tensor& d, const Tensor& x, const Tensor&) {
       at::silu_backward_out(t, d, x);
     }},
};

class Torch final : public Peer {
 public:
  explicit Torch(int threads) { at::set_num_threads(threads); }

  std::string describe() const override {
    std::string cpu = at::show_config();
    const size_t start = cpu.find("CPU capability");
    cpu = start == cpu.npos ? "" : cpu.substr(start, cpu.find('\n', start) - start) + ", ";
    return "libtorch " TORCH_VERSION ", " + cpu + "OpenMP threads " +
           std::to_string(at::get_num_threads());
  }

  void activation(const Activation& p, Rows& rows) override;
  void arithmetic(const Arithmetic& p, Rows& rows) override { add_torch_arithmetic(p, rows); }
  void embedding(const Embedding& p, Rows& rows) override { add_torch_embedding(p, rows); }
  void attention(const Attention& p, Rows& rows) override { add_torch_attention(p, rows); }
  void fused(const FusedConvolution& p, Rows& rows) override { add_torch_fused(p, rows); }
  void convolution(const Convolution& p, Rows& rows) override { add_torch_convolution(p, rows); }
  void dropout(const Dropout& p, Rows& rows) override { add_torch_dropout(p, rows); }
  void sparse(const Sparse& p, Rows& rows) override { add_torch_sparse(p, rows); }
  void fully_connected(const FullyConnected& p, Rows& rows) override;
  void image_loss(const ImageLoss& p, Rows& rows) override { add_torch_image_loss(p, rows); }
  void loss(const Loss& p, Rows& rows) override { add_torch_loss(p, rows); }
  void lstm(const Lstm& p, Rows& rows) override { add_torch_lstm(p, rows); }
  void matmul(const MatMul& p, Rows& rows) override { add_torch_matmul(p, rows); }
  void movement(const Movement& p, Rows& rows) override { add_torch_movement(p, rows); }
  void optimizer(const Optimizer& p, Rows& rows) override { add_torch_optimizer(p, rows); }
  void normalization(const Normalization& p, Rows& rows) override {
    add_torch_normalization(p, rows);
  }
  void pooling(const Pooling& p, Rows& rows) override { add_torch_pooling(p, rows); }
  void resize(const Resize& p, Rows& rows) override { add_torch_resize(p, rows); }
  void reduction(const Reduction& p, Rows& rows) override { add_torch_reduction(p, rows); }
  void neighbors(const Neighbors& p, Rows& rows) override { add_torch_neighbors(p, rows); }
  void top_k(const TopK& p, Rows& rows) override { add_torch_top_k(p, rows); }
};

void Torch::activation(const Activation& p, Rows& rows) {
  const Operators& f = kOperators[size_t(p.function)];
  const int64_t n = int64_t(p.n);
  const Tensor x = view(p.in, {n}), y = view(p.out, {n}), dy = view(p.out_delta, {n});
  Tensor out = at::empty({n}), dx = at::empty({n});
  rows.add("fwd", fresh({"out"}, [=] { return std::array{f.forward(x)}; }));
  rows.add("fwd", into({{"out", out}}, [=]() mutable { f.forward_out(out, x); }));
  rows.add("bwd", fresh({"in_delta"}, [=] { return std::array{f.backward(dy, x, y)}; }));
  rows.add("bwd", into({{"in_delta", dx}}, [=]() mutable { f.backward_out(dx, dy, x, y); }));
}

// One step through autograd: records the forward pass, differentiates it, keeps the gradients.
Entry autograd_step(const Tensor& x, const Tensor& w, const Tensor& b, const Tensor& dy) {
  Tensor xg = x.clone().set_requires_grad(true), wg = w.clone().set_requires_grad(true),
         bg = b.clone().set_requires_grad(true);
  const auto step = [=] {
    xg.mutable_grad().reset();
    wg.mutable_grad().reset();
    bg.mutable_grad().reset();
    Tensor y = at::linear(xg, wg, bg);
    y.backward(dy);
    return y.detach();
  };
  return {.who = "torch-autograd",
          .run = repeated(step),
          .results =
              [=] {
                const Tensor y = step();
                return std::vector<Result>{to_result("out", y), to_result("in_delta", xg.grad()),
                                           to_result("weights_delta", wg.grad()),
                                           to_result("bias_delta", bg.grad())};
              },
          .note = ""};
}

void Torch::fully_connected(const FullyConnected& p, Rows& rows) {
  const int64_t batch = int64_t(p.batch), ni = int64_t(p.inputs), no = int64_t(p.outputs);
  const Tensor x = view(p.in, {batch, ni}), w = view(p.weights, {no, ni}), b = view(p.bias, {no}),
               dy = view(p.out_delta, {batch, no});
  if (p.fused != Fused::kNone) {
    const Fused f = p.fused;
    const Tensor y = view(p.out, {batch, no});
    rows.add("fwd", fresh({"out"}, [=] { return std::array{activate(f, at::linear(x, w, b))}; }));
    return rows.add("bwd", fresh({"in_delta", "weights_delta", "bias_delta"}, [=] {
                      const Tensor g = times_slope(f, dy, y);
                      return std::array{g.mm(w), g.t().mm(x), g.sum(0)};
                    }));
  }
  const Tensor wt = w.t(), dyt = dy.t();
  Tensor y = at::empty({batch, no}), dx = at::empty({batch, ni}), dw = at::empty({no, ni}),
         db = at::empty({no});
  auto forward_out = [=]() mutable { at::addmm_out(y, b, x, wt); };
  auto data_out = [=]() mutable { at::mm_out(dx, dy, w); };
  auto weights_out = [=]() mutable {
    at::mm_out(dw, dyt, x);
    at::sum_out(db, dy, 0);
  };
  rows.add("fwd", fresh({"out"}, [=] { return std::array{at::linear(x, w, b)}; }));
  rows.add("fwd", into({{"out", y}}, forward_out));
  rows.add("bwd_data", fresh({"in_delta"}, [=] { return std::array{dy.mm(w)}; }));
  rows.add("bwd_data", into({{"in_delta", dx}}, data_out));
  rows.add("bwd_weights", fresh({"weights_delta", "bias_delta"}, [=] {
             return std::array{dyt.mm(x), dy.sum(0)};
           }));
  rows.add("bwd_weights", into({{"weights_delta", dw}, {"bias_delta", db}}, weights_out));
  rows.add("fwd+bwd",
           into({{"out", y}, {"in_delta", dx}, {"weights_delta", dw}, {"bias_delta", db}},
                [=]() mutable { forward_out(), data_out(), weights_out(); }));
  rows.add("fwd+bwd", autograd_step(x, w, b, dy));
}

}  // namespace

std::unique_ptr<Peer> make_torch(int threads) {
  return std::make_unique<Torch>(threads);
}

}  // namespace bench
