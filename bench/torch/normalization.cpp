// Normalization with libtorch's operators, autograd off. ReLU is a separate operator.
#include "workloads/normalization.h"
#include "torch/entry.h"

namespace bench {
namespace {
using at::Tensor;

template <class F>
Entry fresh(std::vector<const char*> names, F call) {
  return {.who = "torch",
          .run = without_autograd(call),
          .results =
              [call, names] {
                c10::InferenceMode guard;
                const std::vector<Tensor> values = call();
                std::vector<Result> results;
                for (size_t i = 0; i < names.size(); ++i)
                  results.push_back(to_result(names[i], values[i]));
                return results;
              },
          .note = ""};
}

}  // namespace

void add_torch_normalization(const Normalization& p, Rows& rows) {
  c10::InferenceMode guard;
  const int64_t n = int64_t(p.batch), c = int64_t(p.channels), s = int64_t(p.side);
  const std::vector<int64_t> sizes =
      p.by_row() ? std::vector<int64_t>{n, c} : std::vector<int64_t>{n, c, s, s};
  const Tensor x = view(p.in, sizes), dy = view(p.out_delta, sizes), gamma = view(p.gamma, {c}),
               beta = view(p.beta, {c});
  const double epsilon = double(Normalization::kEpsilon);
  const std::vector<const char*> gradients = {"in_delta", "gamma_delta", "beta_delta"};
  if (p.by_row()) {
    const auto forward = [=] { return at::native_layer_norm(x, {c}, gamma, beta, epsilon); };
    const auto kept = forward();
    const Tensor mean = std::get<1>(kept), inverse = std::get<2>(kept);
    rows.add("fwd", fresh({"out"}, [=] { return std::vector<Tensor>{std::get<0>(forward())}; }));
    rows.add("bwd", fresh(gradients, [=] {
               const auto d = at::native_layer_norm_backward(dy, x, {c}, mean, inverse, gamma, beta,
                                                             {true, true, true});
               return std::vector<Tensor>{std::get<0>(d), std::get<1>(d), std::get<2>(d)};
             }));
    return;
  }
  const Tensor moving_mean = at::zeros({c}), moving_variance = at::ones({c});
  const auto forward = [=] {
    auto result =
        at::native_batch_norm(x, gamma, beta, moving_mean, moving_variance, true, 0.1, epsilon);
    std::get<0>(result).relu_();
    return result;
  };
  const auto kept = forward();
  const Tensor y = std::get<0>(kept), mean = std::get<1>(kept), inverse = std::get<2>(kept);
  rows.add("fwd", fresh({"out"}, [=] { return std::vector<Tensor>{std::get<0>(forward())}; }));
  rows.add("bwd", fresh(gradients, [=] {
             const Tensor g = at::threshold_backward(dy, y, 0);
             const auto d =
                 at::native_batch_norm_backward(g, x, gamma, moving_mean, moving_variance, mean,
                                                inverse, true, epsilon, {true, true, true});
             return std::vector<Tensor>{std::get<0>(d), std::get<1>(d), std::get<2>(d)};
           }));
}

}  // namespace bench
