// at::lstm: without autograd for inference, and one step through autograd.
#include "workloads/lstm.h"

#include "torch/entry.h"

namespace bench {

void add_torch_lstm(const Lstm& p, Rows& rows) {
  const auto i = int64_t(p.inputs), h = int64_t(p.hidden), t = int64_t(p.steps),
             n = int64_t(p.batch);
  const at::Tensor x = view(p.in, {t, n, i}), iw = view(p.iw, {4 * h, i}),
                   hw = view(p.hw, {4 * h, h}), b = view(p.bias, {4 * h}),
                   dy = view(p.out_delta, {t, n, h});
  const at::Tensor zero = at::zeros({1, n, h}), no_bias = at::zeros({4 * h});
  const auto call = [=] {
    return std::get<0>(
        at::lstm(x, {zero, zero}, {iw, hw, b, no_bias}, true, 1, 0, false, false, false));
  };
  rows.add("fwd", {.who = "torch",
                   .run = without_autograd(call),
                   .results =
                       [=] {
                         c10::InferenceMode guard;
                         return std::vector<Result>{to_result("out", call())};
                       },
                   .note = ""});
  const auto trained = [](const at::Tensor& value) {
    return value.clone().set_requires_grad(true);
  };
  at::Tensor xg = trained(x), iwg = trained(iw), hwg = trained(hw), bg = trained(b);
  auto step = [=]() mutable {
    for (at::Tensor* g : {&xg, &iwg, &hwg, &bg}) g->mutable_grad().reset();
    const at::Tensor y = std::get<0>(
        at::lstm(xg, {zero, zero}, {iwg, hwg, bg, no_bias}, true, 1, 0, true, false, false));
    y.backward(dy);
    return y.detach();
  };
  rows.add("fwd+bwd", {.who = "torch-autograd",
                       .run = repeated(step),
                       .results =
                           [=]() mutable {
                             const at::Tensor y = step();
                             return std::vector<Result>{to_result("out", y),
                                                        to_result("in_delta", xg.grad()),
                                                        to_result("iw_delta", iwg.grad()),
                                                        to_result("hw_delta", hwg.grad()),
                                                        to_result("bias_delta", bg.grad())};
                           },
                       .note = ""});
}

}  // namespace bench
