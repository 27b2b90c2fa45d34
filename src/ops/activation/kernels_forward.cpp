// Forward kernels of the element-wise activations, one row loop per function and target.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/activation/kernels_forward.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

#include "ops/activation/functions-inl.h"
#include "simd/rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace bnns::impl::HWY_NAMESPACE {
namespace {

template <class F>
void Forward(const float* x, float* y, size_t n, const ActivationCoefficients& p) {
  const ActivationCoefficients local = p;  // stores to y cannot change a local copy
  MapRow(x, y, n, [&](activations::V v) HWY_ATTR { return F::forward(v, local); });
}

const ForwardKernel* ForwardTable() {
  using namespace activations;
  static constexpr ForwardKernel kTable[] = {Forward<Identity>,
                                             Forward<RectifiedLinear>,
                                             Forward<LeakyRectifiedLinear>,
                                             Forward<SigmoidFunction>,
                                             Forward<TanhFunction>,
                                             Forward<ScaledTanh>,
                                             Forward<AbsFunction>,
                                             Forward<Linear>,
                                             Forward<Clamp>,
                                             nullptr,
                                             nullptr,
                                             nullptr,
                                             Forward<GeluApproximation>,
                                             Forward<Gumbel>,
                                             Forward<Gumbel>,
                                             Forward<HardSigmoid>,
                                             Forward<SoftplusFunction>,
                                             Forward<Softsign>,
                                             Forward<Elu>,
                                             Forward<ClampedLeakyRectifiedLinear>,
                                             Forward<LinearWithBias>,
                                             nullptr,
                                             Forward<LogSigmoidFunction>,
                                             Forward<Selu>,
                                             Forward<Celu>,
                                             Forward<HardShrink>,
                                             Forward<SoftShrink>,
                                             Forward<TanhShrink>,
                                             Forward<Threshold>,
                                             Forward<LeakyRectifiedLinear>,
                                             Forward<HardSwish>,
                                             Forward<Silu>,
                                             Forward<Relu6>,
                                             Forward<ErfFunction>,
                                             Forward<GeluFunction>,
                                             Forward<GeluApproximationSigmoid>};
  static_assert(sizeof kTable / sizeof *kTable ==
                BNNSActivationFunctionGELUApproximationSigmoid + 1);
  return kTable;
}

}  // namespace
}  // namespace bnns::impl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "core/target.h"

namespace bnns::impl {

HWY_EXPORT(ForwardTable);
const ForwardKernel* forward_kernels() {
  return pick(HWY_DISPATCH_TABLE(ForwardTable))();
}

}  // namespace bnns::impl
#endif
