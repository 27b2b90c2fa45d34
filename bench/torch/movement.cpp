// Permute and padding with libtorch. A permutation is copied to memory of its own; the constant
// padding of libtorch has no form that writes a given tensor, so it also does what such a form
// would: fills a tensor made beforehand and copies the inside.
#include "workloads/movement.h"

#include "torch/entry.h"

namespace bench {
namespace {
using at::Tensor;

Entry fresh(const char* tensor, std::function<Tensor()> call) {
  return {.who = "torch",
          .run = without_autograd(call),
          .results =
              [=] {
                c10::InferenceMode guard;
                return std::vector<Result>{to_result(tensor, call())};
              },
          .note = ""};
}

}  // namespace

void add_torch_movement(const Movement& p, Rows& rows) {
  c10::InferenceMode guard;
  const auto n = int64_t(p.batch), c = int64_t(p.channels), s = int64_t(p.side),
             o = int64_t(p.out_side()), pad = int64_t(p.pad);
  const Tensor x = view(p.in, {n, c, s, s});
  Tensor dx = at::empty({n, c, s, s});
  if (p.moves == Moves::kPermute) {
    const Tensor dy = view(p.out_delta, {n, s, s, c});
    Tensor y = at::empty({n, s, s, c});
    const Tensor turned = x.permute({0, 2, 3, 1}), back = dy.permute({0, 3, 1, 2});
    rows.add("fwd", fresh("out", [=] { return turned.contiguous(); }));
    rows.add("fwd", into({{"out", y}}, [=]() mutable { y.copy_(turned); }));
    rows.add("bwd", fresh("in_delta", [=] { return back.contiguous(); }));
    rows.add("bwd", into({{"in_delta", dx}}, [=]() mutable { dx.copy_(back); }));
    return;
  }
  const Tensor dy = view(p.out_delta, {n, c, o, o});
  Tensor y = at::empty({n, c, o, o});
  const std::vector<int64_t> cells(4, pad);
  if (p.moves == Moves::kConstant) {
    Tensor y_inside = y.narrow(2, pad, s).narrow(3, pad, s);
    const Tensor dy_inside = dy.narrow(2, pad, s).narrow(3, pad, s);
    rows.add("fwd",
             fresh("out", [=] { return at::constant_pad_nd(x, cells, Movement::kConstant); }));
    rows.add("fwd", into({{"out", y}}, [=]() mutable {
               y.fill_(Movement::kConstant);
               y_inside.copy_(x);
             }));
    rows.add("bwd", into({{"in_delta", dx}}, [=]() mutable { dx.copy_(dy_inside); }));
    return;
  }
  rows.add("fwd", into({{"out", y}}, [=]() mutable { at::reflection_pad2d_out(y, x, cells); }));
  rows.add("bwd", into({{"in_delta", dx}},
                       [=]() mutable { at::reflection_pad2d_backward_out(dx, dy, x, cells); }));
}

}  // namespace bench
