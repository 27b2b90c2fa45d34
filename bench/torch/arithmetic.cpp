// Arithmetic with libtorch, as operators into tensors made beforehand. What a gradient needs beside
// its result (products before a sum, powers) goes into tensors that are made once, too.
#include "workloads/arithmetic.h"

#include "torch/entry.h"

namespace bench {
namespace {
using at::Tensor;

// db = the sum of what b was broadcast to, from `whole`.
void reduce(Tensor& db, const Tensor& whole) {
  at::sum_out(db, whole, at::IntArrayRef{0, 2, 3}, true);
}

}  // namespace

void add_torch_arithmetic(const Arithmetic& p, Rows& rows) {
  const auto n = int64_t(p.batch), c = int64_t(p.channels), s = int64_t(p.side);
  const Tensor a = view(p.a, {n, c, s, s}), dy = view(p.out_delta, {n, c, s, s});
  const Tensor b = p.broadcast ? view(p.b, {1, c, 1, 1}) : view(p.b, {n, c, s, s});
  Tensor out = at::empty_like(a), da = at::empty_like(a), db = at::empty_like(b);
  Tensor whole = p.broadcast ? at::empty_like(a) : db, spare = at::empty_like(a);
  Tensor less = at::empty_like(b);
  const bool sum = p.broadcast;
  const std::vector<Named> both = {{"a_delta", da}, {"b_delta", db}};
  switch (p.function) {
    case ArithmeticFunction::kAdd:
      rows.add("fwd", into({{"out", out}}, [=]() mutable { at::add_out(out, a, b); }));
      rows.add("bwd", into(both, [=]() mutable {
                 da.copy_(dy);
                 if (sum) reduce(db, dy);
                 if (!sum) db.copy_(dy);
               }));
      break;
    case ArithmeticFunction::kMultiply:
      rows.add("fwd", into({{"out", out}}, [=]() mutable { at::mul_out(out, a, b); }));
      rows.add("bwd", into(both, [=]() mutable {
                 at::mul_out(da, dy, b);
                 at::mul_out(whole, dy, a);
                 if (sum) reduce(db, whole);
               }));
      break;
    case ArithmeticFunction::kPow:
      rows.add("fwd", into({{"out", out}}, [=]() mutable { at::pow_out(out, a, b); }));
      rows.add("bwd", into(both, [=]() mutable {
                 at::sub_out(less, b, at::ones({}));
                 at::pow_out(da, a, less).mul_(b).mul_(dy);
                 at::log_out(spare, a);
                 at::pow_out(whole, a, b).mul_(spare).mul_(dy);
                 if (sum) reduce(db, whole);
               }));
      break;
    case ArithmeticFunction::kExp: {
      const Tensor y = view(p.out, {n, c, s, s});
      rows.add("fwd", into({{"out", out}}, [=]() mutable { at::exp_out(out, a); }));
      rows.add("bwd", into({{"a_delta", da}}, [=]() mutable { at::mul_out(da, dy, y); }));
    }
  }
}

}  // namespace bench
