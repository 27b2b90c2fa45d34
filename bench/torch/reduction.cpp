// Reductions with libtorch, as operators into tensors made beforehand. Gradients are computed with
// the operators of its autograd formulas, from the outputs that it keeps.
#include "workloads/reduction.h"

#include "torch/entry.h"

namespace bench {
namespace {
using at::Tensor;

std::vector<int64_t> axes_of(const Reduction& p) {
  std::vector<int64_t> axes;
  if (p.over_rows) axes.push_back(0);
  if (p.over_columns) axes.push_back(1);
  return axes;
}

}  // namespace

void add_torch_reduction(const Reduction& p, Rows& rows) {
  const auto h = int64_t(p.height), w = int64_t(p.width);
  const Tensor x = view(p.in, {h, w});
  const Tensor dy = view(p.out_delta, {int64_t(p.out_height()), int64_t(p.out_width())});
  Tensor out = at::empty_like(dy), dx = at::empty_like(x);
  const std::vector<int64_t> axes = axes_of(p);
  const double n = double(p.in.size()) / double(p.out_delta.size());
  const auto forward = [&](auto call) { rows.add("fwd", into({{"out", out}}, call)); };
  const auto backward = [&](auto call) { rows.add("bwd", into({{"in_delta", dx}}, call)); };
  switch (p.function) {
    case ReductionFunction::kSum:
      forward([=]() mutable { at::sum_out(out, x, axes, true); });
      backward([=]() mutable { dx.copy_(dy.expand({h, w})); });
      break;
    case ReductionFunction::kMean:
      forward([=]() mutable { at::mean_out(out, x, axes, true); });
      backward([=]() mutable { at::div_out(dx, dy.expand({h, w}), at::scalar_tensor(n)); });
      break;
    case ReductionFunction::kMax: {
      forward([=]() mutable { at::amax_out(out, x, axes, true); });
      if (axes.size() > 1) break;
      Tensor index = std::get<1>(at::max(x, axes[0], true));
      rows.add("fwd+bwd", into({{"out", out}, {"in_delta", dx}}, [=]() mutable {
                 at::max_out(out, index, x, axes[0], true);
                 dx.zero_().scatter_(axes[0], index, dy);
               }));
      break;
    }
    case ReductionFunction::kL2Norm: {
      forward([=]() mutable { at::linalg_vector_norm_out(out, x, 2, axes, true); });
      const Tensor y = at::linalg_vector_norm(x, 2, axes, true);
      backward([=]() mutable { at::mul_out(dx, x, at::div(dy, y)); });
      break;
    }
    case ReductionFunction::kLogSumExp: {
      forward([=]() mutable { at::logsumexp_out(out, x, axes, true); });
      const Tensor y = at::logsumexp(x, axes, true);
      backward([=]() mutable { at::sub_out(dx, x, y).exp_().mul_(dy); });
    }
  }
}

}  // namespace bench
