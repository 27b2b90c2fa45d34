// Gradient kernels that use the forward output y, which is what training a fused activation needs.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/activation/kernels_from_output.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

#include "ops/activation/functions-inl.h"
#include "simd/rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace bnns::impl::HWY_NAMESPACE {
namespace {

template <class F>
void FromOutput(const float* y, const float* dy, float* dx, size_t n,
                const ActivationCoefficients& p) {
  const ActivationCoefficients local = p;
  using activations::V;
  MapRow(y, dy, dx, n, [&](V v, V delta) HWY_ATTR { return F::from_output(v, delta, local); });
}

const BackwardKernel* FromOutputTable() {
  using namespace activations;
  static constexpr BackwardKernel kTable[] = {FromOutput<Identity>,
                                              FromOutput<RectifiedLinear>,
                                              FromOutput<LeakyRectifiedLinear>,
                                              FromOutput<SigmoidFunction>,
                                              FromOutput<TanhFunction>,
                                              FromOutput<ScaledTanh>,
                                              nullptr,
                                              FromOutput<Linear>,
                                              FromOutput<Clamp>,
                                              nullptr,
                                              nullptr,
                                              nullptr,
                                              nullptr,
                                              nullptr,
                                              nullptr,
                                              FromOutput<HardSigmoid>,
                                              FromOutput<SoftplusFunction>,
                                              FromOutput<Softsign>,
                                              FromOutput<Elu>,
                                              FromOutput<ClampedLeakyRectifiedLinear>,
                                              FromOutput<LinearWithBias>,
                                              nullptr,
                                              FromOutput<LogSigmoidFunction>,
                                              FromOutput<Selu>,
                                              FromOutput<Celu>,
                                              FromOutput<HardShrink>,
                                              FromOutput<SoftShrink>,
                                              FromOutput<TanhShrink>,
                                              FromOutput<Threshold>,
                                              FromOutput<LeakyRectifiedLinear>,
                                              nullptr,
                                              nullptr,
                                              FromOutput<Relu6>,
                                              nullptr,
                                              nullptr,
                                              FromOutput<GeluApproximationSigmoid>};
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

HWY_EXPORT(FromOutputTable);
const BackwardKernel* from_output_kernels() {
  return pick(HWY_DISPATCH_TABLE(FromOutputTable))();
}

}  // namespace bnns::impl
#endif
