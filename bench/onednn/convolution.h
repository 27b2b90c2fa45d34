// Convolution with oneDNN as a sequence of primitives, for the families that have one.
#pragma once

#include <cstring>
#include <unordered_map>

#include "workloads/convolution.h"
#include "onednn/onednn.h"

namespace bench {

using dnnl::memory;
using Arguments = std::unordered_map<int, memory>;

// The user's tensors and the steps that run on them; a tensor wanted in one layout by several
// primitives is reordered once.
class Sequence {
 public:
  memory user(const char* tensor, const Desc& plain, float* data) {
    return users_
        .emplace(tensor, data == nullptr ? memory(plain, engine()) : memory(plain, engine(), data))
        .first->second;
  }
  memory in(const char* tensor, const Desc& layout) {
    const memory plain = users_.at(tensor);
    if (plain.get_desc() == layout) return plain;
    for (const auto& [name, made] : reordered_) {
      if (name == tensor && made.get_desc() == layout) return made;
    }
    const memory made(layout, engine());
    steps_.push_back({dnnl::reorder(plain, made), {{DNNL_ARG_FROM, plain}, {DNNL_ARG_TO, made}}});
    reordered_.emplace_back(tensor, made);
    return made;
  }
  // From here on the name stands for another tensor.
  memory replace(const char* tensor, const Desc& plain) {
    return users_[tensor] = memory(plain, engine());
  }
  memory out(const char* tensor, const Desc& layout) {
    const memory plain = users_.at(tensor);
    return plain.get_desc() == layout ? plain : memory(layout, engine());
  }
  void add(const dnnl::primitive& p, const Arguments& arguments) {
    steps_.push_back({p, arguments});
  }
  // Filled with zeros before the steps, for primitives that add to what is there.
  void zero(const memory& made) { zeroed_.push_back(made); }
  void back(const char* tensor, const memory& made) {
    const memory plain = users_.at(tensor);
    outputs_.push_back(tensor);
    if (plain.get_desc() != made.get_desc())
      steps_.push_back({dnnl::reorder(made, plain), {{DNNL_ARG_FROM, made}, {DNNL_ARG_TO, plain}}});
  }

  void run() const {
    for (const memory& m : zeroed_) std::memset(m.get_data_handle(), 0, m.get_desc().get_size());
    for (const Step& s : steps_) s.primitive.execute(stream(), s.arguments);
    stream().wait();
  }
  std::vector<Result> results() const {
    run();
    std::vector<Result> list;
    for (const std::string& tensor : outputs_) {
      const memory& m = users_.at(tensor);
      const float* data = static_cast<const float*>(m.get_data_handle());
      list.push_back(
          {.tensor = tensor, .value = {data, data + m.get_desc().get_size() / sizeof(float)}});
    }
    return list;
  }

 private:
  struct Step {
    dnnl::primitive primitive;
    Arguments arguments;
  };
  std::unordered_map<std::string, memory> users_;
  std::vector<std::pair<std::string, memory>> reordered_;
  std::vector<Step> steps_;
  std::vector<std::string> outputs_;
  std::vector<memory> zeroed_;
};

class ConvolutionPrimitives {
 public:
  using Forward = dnnl::convolution_forward;
  using ToData = dnnl::convolution_backward_data;
  using ToWeights = dnnl::convolution_backward_weights;

  ConvolutionPrimitives(const Convolution& p, bool prefer) : p_(p) {
    const ConvolutionShape& s = p.shape;
    const auto dim = [](size_t n) { return memory::dim(n); };
    const auto f32 = [](const memory::dims& d, Tag tag) {
      return Desc(d, memory::data_type::f32, tag);
    };
    const memory::dims x = {dim(s.batch), dim(s.inputs), dim(s.side), dim(s.side)};
    const memory::dims y = {dim(s.batch), dim(s.outputs), dim(s.out_side()), dim(s.out_side())};
    memory::dims w = {dim(s.outputs), dim(s.inputs), dim(s.kernel), dim(s.kernel)};
    if (s.groups > 1)
      w = {dim(s.groups), dim(s.outputs / s.groups), dim(s.inputs / s.groups), w[2], w[3]};
    src = f32(x, Tag::nchw);
    dst = f32(y, Tag::nchw);
    weights = f32(w, s.groups > 1 ? Tag::goihw : Tag::oihw);
    bias = f32({dim(s.outputs)}, Tag::a);
    const Desc fx = prefer ? f32(x, Tag::any) : src, fy = prefer ? f32(y, Tag::any) : dst,
               fw = prefer ? f32(w, Tag::any) : weights;
    const memory::dims stride(2, dim(s.stride)), pad(2, dim(s.pad));
    const auto direct = dnnl::algorithm::convolution_direct;
    const auto training = dnnl::prop_kind::forward_training;
    forward = describe<Forward>(training, direct, fx, fw, bias, fy, stride, pad, pad);
    fused = describe_with<Forward>(attributes(s.fused), training, direct, fx, fw, bias, fy, stride,
                                   pad, pad);
    to_data = describe_backward<ToData>(forward, direct, fx, fw, fy, stride, pad, pad);
    to_weights = describe_backward<ToWeights>(forward, direct, fx, fw, bias, fy, stride, pad, pad);
  }

  Sequence start() const {
    Sequence s;
    s.user("in", src, p_.in.data());
    s.user("weights", weights, p_.weights.data());
    s.user("bias", bias, p_.bias.data());
    s.user("out_delta", dst, p_.out_delta.data());
    s.user("out", dst, nullptr);
    s.user("in_delta", src, nullptr);
    s.user("weights_delta", weights, nullptr);
    s.user("bias_delta", bias, nullptr);
    return s;
  }
  void add_forward(Sequence& s) const {
    const memory in = s.in("in", fused.src_desc()), w = s.in("weights", fused.weights_desc());
    const memory out = s.out("out", fused.dst_desc());
    s.add(Forward(fused), {{DNNL_ARG_SRC, in},
                           {DNNL_ARG_WEIGHTS, w},
                           {DNNL_ARG_BIAS, s.in("bias", bias)},
                           {DNNL_ARG_DST, out}});
    s.back("out", out);
  }
  // Replaces out_delta with its product with the slope of the activation.
  void add_slope(Sequence& s) const {
    s.user("right_out", dst, p_.out.data());
    const memory dy = s.in("out_delta", dst), y = s.in("right_out", dst);
    const memory g = s.replace("out_delta", dst);
    s.add(dnnl::eltwise_backward(describe_slope(p_.shape.fused, dst)),
          {{DNNL_ARG_DST, y}, {DNNL_ARG_DIFF_DST, dy}, {DNNL_ARG_DIFF_SRC, g}});
  }
  void add_data(Sequence& s) const {
    const memory dy = s.in("out_delta", to_data.diff_dst_desc()),
                 w = s.in("weights", to_data.weights_desc());
    const memory dx = s.out("in_delta", to_data.diff_src_desc());
    s.add(ToData(to_data),
          {{DNNL_ARG_DIFF_DST, dy}, {DNNL_ARG_WEIGHTS, w}, {DNNL_ARG_DIFF_SRC, dx}});
    s.back("in_delta", dx);
  }
  void add_weights(Sequence& s) const {
    const memory dy = s.in("out_delta", to_weights.diff_dst_desc()),
                 in = s.in("in", to_weights.src_desc());
    const memory dw = s.out("weights_delta", to_weights.diff_weights_desc()),
                 db = s.out("bias_delta", bias);
    s.add(ToWeights(to_weights), {{DNNL_ARG_DIFF_DST, dy},
                                  {DNNL_ARG_SRC, in},
                                  {DNNL_ARG_DIFF_WEIGHTS, dw},
                                  {DNNL_ARG_DIFF_BIAS, db}});
    s.back("weights_delta", dw);
    s.back("bias_delta", db);
  }

  Desc src, dst, weights, bias;
  Forward::primitive_desc forward, fused;  // `forward` is the hint for the gradients
  ToData::primitive_desc to_data;
  ToWeights::primitive_desc to_weights;

 private:
  const Convolution& p_;
};

inline Entry entry(const char* who, Sequence s, std::string note) {
  const auto shared = std::make_shared<const Sequence>(std::move(s));
  return {.who = who,
          .run = repeated([shared] { shared->run(); }),
          .results = [shared] { return shared->results(); },
          .note = std::move(note)};
}

}  // namespace bench
