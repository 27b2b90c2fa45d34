// Multi-head attention with libtorch, in three ways: its fused operator for inference ("torch"),
// its module torch::nn::MultiheadAttention ("torch-module"), and the operators of a training loop
// that keeps the batch first ("torch-autograd").
#include "workloads/attention.h"

#include <torch/nn/modules/activation.h>

#include <cmath>

#include "torch/entry.h"

namespace bench {
namespace {
using at::Tensor;

// libtorch's weights are [outputs][inputs], those of queries, keys and values one behind the other.
struct Parameters {
  Tensor in_weight, in_bias, out_weight, out_bias;

  explicit Parameters(const Attention& p) {
    const auto n = int64_t(p.model);
    std::vector<Tensor> weights, biases;
    for (size_t i = 0; i < 3; ++i) {
      weights.push_back(view(p.weights[i], {n, n}).t());
      biases.push_back(view(p.bias[i], {n}));
    }
    in_weight = at::cat(weights).contiguous();
    in_bias = at::cat(biases);
    out_weight = view(p.weights[3], {n, n}).t().contiguous();
    out_bias = view(p.bias[3], {n}).clone();
  }
  std::vector<Tensor> all() const { return {in_weight, in_bias, out_weight, out_bias}; }
};

Tensor operators(const Attention& p, const Parameters& w, const Tensor& x) {
  const auto batch = int64_t(p.batch), length = int64_t(p.length), heads = int64_t(p.heads),
             size = int64_t(p.head_size());
  const std::vector<Tensor> parts =
      at::linear(x, w.in_weight, w.in_bias).view({batch, length, 3, heads, size}).unbind(2);
  const auto head = [&](size_t i) { return parts[i].transpose(1, 2); };
  const Tensor scores =
      at::matmul(head(0) * (1 / std::sqrt(double(size))), head(1).transpose(2, 3));
  const Tensor joined = at::matmul(at::softmax(scores, -1), head(2)).transpose(1, 2);
  return at::linear(joined.reshape({batch, length, heads * size}), w.out_weight, w.out_bias);
}

// One step through autograd: the forward pass is recorded and differentiated.
template <class F>
Entry autograd(const Attention& p, const char* who, std::vector<Tensor> leaves, F forward) {
  const auto batch = int64_t(p.batch), length = int64_t(p.length), n = int64_t(p.model);
  Tensor x = view(p.in, {batch, length, n}).clone().set_requires_grad(true);
  const Tensor dy = view(p.out_delta, {batch, length, n});
  leaves.push_back(x);
  const auto step = [=] {
    for (const Tensor& leaf : leaves) leaf.mutable_grad().reset();
    Tensor y = forward(x);
    y.backward(dy);
    return y.detach();
  };
  return {.who = who,
          .run = repeated(step),
          .results =
              [=] {
                const Tensor y = step();
                return std::vector<Result>{to_result("out", y), to_result("in_delta", x.grad())};
              },
          .note = ""};
}

torch::nn::MultiheadAttention make_module(const Attention& p, const Parameters& w) {
  torch::nn::MultiheadAttention module(
      torch::nn::MultiheadAttentionOptions(int64_t(p.model), int64_t(p.heads)));
  const c10::InferenceMode normal(false);
  at::NoGradGuard guard;
  module->in_proj_weight.copy_(w.in_weight);
  module->in_proj_bias.copy_(w.in_bias);
  module->out_proj->weight.copy_(w.out_weight);
  module->out_proj->bias.copy_(w.out_bias);
  return module;
}

Entry inference(const char* who, std::function<Tensor()> call) {
  return {.who = who,
          .run = without_autograd(call),
          .results =
              [=] {
                c10::InferenceMode guard;
                return std::vector<Result>{to_result("out", call())};
              },
          .note = ""};
}

}  // namespace

void add_torch_attention(const Attention& p, Rows& rows) {
  const auto batch = int64_t(p.batch), length = int64_t(p.length), n = int64_t(p.model),
             heads = int64_t(p.heads);
  const Parameters w(p);
  const Tensor x = view(p.in, {batch, length, n});
  const auto module = make_module(p, w);
  // The module takes the sequence first; a transposed view is what batch_first makes of it.
  const auto through_module = [=](const Tensor& in) {
    const Tensor t = in.transpose(0, 1);
    auto m = module;
    return std::get<0>(m->forward(t, t, t, {}, false)).transpose(0, 1);
  };
  rows.add("fwd", inference("torch", [=] {
             return std::get<0>(at::_native_multi_head_attention(
                 x, x, x, n, heads, w.in_weight, w.in_bias, w.out_weight, w.out_bias, {}, false));
           }));
  rows.add("fwd", inference("torch-module", [=] { return through_module(x); }));
  Parameters trained(p);
  for (Tensor* t : {&trained.in_weight, &trained.in_bias, &trained.out_weight, &trained.out_bias})
    t->set_requires_grad(true);
  rows.add("fwd+bwd", autograd(p, "torch-module", module->parameters(), through_module));
  const Attention* problem = &p;
  rows.add("fwd+bwd", autograd(p, "torch-autograd", trained.all(),
                               [=](const Tensor& in) { return operators(*problem, trained, in); }));
}

}  // namespace bench
