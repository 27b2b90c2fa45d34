// Convolution, batch normalization and a rectifier with libtorch's operators, autograd off.
#include "workloads/fused.h"
#include "torch/entry.h"

namespace bench {
namespace {
using at::Tensor;

struct Layers {
  Tensor x, w, b, gamma, beta, dy, moving_mean, moving_variance;
  std::vector<int64_t> stride, pad, one = {1, 1}, none = {0, 0};

  std::vector<Tensor> run(bool backward) const {
    constexpr double kEpsilon = double(FusedConvolution::kEpsilon);
    const Tensor z = at::convolution(x, w, b, stride, pad, one, false, none, 1);
    const auto [y, mean, inverse] =
        at::native_batch_norm(z, gamma, beta, moving_mean, moving_variance, true, 0.1, kEpsilon);
    y.relu_();
    if (!backward) return {y};
    const Tensor g = at::threshold_backward(dy, y, 0);
    const auto n = at::native_batch_norm_backward(g, z, gamma, moving_mean, moving_variance, mean,
                                                  inverse, true, kEpsilon, {true, true, true});
    const auto c = at::convolution_backward(std::get<0>(n), x, w, b.sizes(), stride, pad, one,
                                            false, none, 1, {true, true, true});
    return {y, std::get<0>(c), std::get<1>(c), std::get<2>(c), std::get<2>(n), std::get<1>(n)};
  }
};

}  // namespace

void add_torch_fused(const FusedConvolution& p, Rows& rows) {
  static const char* const kNames[] = {"out",        "in_delta",   "weights_delta",
                                       "bias_delta", "beta_delta", "gamma_delta"};
  const ConvolutionShape& s = p.shape();
  const Convolution& c = p.convolution;
  const int64_t n = int64_t(s.batch), in = int64_t(s.inputs), out = int64_t(s.outputs),
                side = int64_t(s.side), o = int64_t(s.out_side()), k = int64_t(s.kernel);
  c10::InferenceMode guard;
  const Layers layers = {.x = view(c.in, {n, in, side, side}),
                         .w = view(c.weights, {out, in, k, k}),
                         .b = view(c.bias, {out}),
                         .gamma = view(p.gamma, {out}),
                         .beta = view(p.beta, {out}),
                         .dy = view(c.out_delta, {n, out, o, o}),
                         .moving_mean = at::zeros({out}),
                         .moving_variance = at::ones({out}),
                         .stride = std::vector<int64_t>(2, int64_t(s.stride)),
                         .pad = std::vector<int64_t>(2, int64_t(s.pad))};
  for (const bool backward : {false, true}) {
    const auto run = [=] { return layers.run(backward); };
    rows.add(backward ? "fwd+bwd" : "fwd",
             {.who = "torch",
              .run = without_autograd(run),
              .results =
                  [=] {
                    c10::InferenceMode inference;
                    std::vector<Result> list;
                    for (const Tensor& t : run()) list.push_back(to_result(kNames[list.size()], t));
                    return list;
                  },
              .note = ""});
  }
}

}  // namespace bench
