// Gradient kernels that use the forward input x, and the gradient of a leaky slope.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/activation/kernels_from_input.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

#include "ops/activation/functions-inl.h"
#include "simd/rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace bnns::impl::HWY_NAMESPACE {
namespace {

template <class F>
void FromInput(const float* x, const float* dy, float* dx, size_t n,
               const ActivationCoefficients& p) {
  const ActivationCoefficients local = p;
  using activations::V;
  MapRow(x, dy, dx, n, [&](V v, V delta) HWY_ATTR { return F::from_input(v, delta, local); });
}

const BackwardKernel* FromInputTable() {
  using namespace activations;
  static constexpr BackwardKernel kTable[] = {FromInput<Identity>,
                                              FromInput<RectifiedLinear>,
                                              FromInput<LeakyRectifiedLinear>,
                                              FromInput<SigmoidFunction>,
                                              FromInput<TanhFunction>,
                                              FromInput<ScaledTanh>,
                                              FromInput<AbsFunction>,
                                              FromInput<Linear>,
                                              FromInput<Clamp>,
                                              nullptr,
                                              nullptr,
                                              nullptr,
                                              FromInput<GeluApproximation>,
                                              nullptr,
                                              nullptr,
                                              FromInput<HardSigmoid>,
                                              FromInput<SoftplusFunction>,
                                              FromInput<Softsign>,
                                              FromInput<Elu>,
                                              FromInput<ClampedLeakyRectifiedLinear>,
                                              FromInput<LinearWithBias>,
                                              nullptr,
                                              FromInput<LogSigmoidFunction>,
                                              FromInput<Selu>,
                                              FromInput<Celu>,
                                              FromInput<HardShrink>,
                                              FromInput<SoftShrink>,
                                              FromInput<TanhShrink>,
                                              FromInput<Threshold>,
                                              FromInput<LeakyRectifiedLinear>,
                                              FromInput<HardSwish>,
                                              FromInput<Silu>,
                                              FromInput<Relu6>,
                                              FromInput<ErfFunction>,
                                              FromInput<GeluFunction>,
                                              FromInput<GeluApproximationSigmoid>};
  static_assert(sizeof kTable / sizeof *kTable ==
                BNNSActivationFunctionGELUApproximationSigmoid + 1);
  return kTable;
}

// The partial sums are in two vectors that are joined in a fixed order, so that the bits depend on
// the row alone.
float LeakyGradientBlock(const float* x, const float* dy, size_t n) {
  namespace hn = hwy::HWY_NAMESPACE;
  const hn::ScalableTag<float> d;
  const size_t lanes = hn::Lanes(d);
  const auto zero = hn::Zero(d);
  const auto term = [&](auto v, auto delta, auto sum) HWY_ATTR {
    return hn::MulAdd(hn::IfThenElseZero(hn::Lt(v, zero), v), delta, sum);
  };
  auto even = zero, odd = zero;
  size_t i = 0;
  for (; i + 2 * lanes <= n; i += 2 * lanes) {
    even = term(hn::LoadU(d, x + i), hn::LoadU(d, dy + i), even);
    odd = term(hn::LoadU(d, x + i + lanes), hn::LoadU(d, dy + i + lanes), odd);
  }
  float rest = 0;
  for (; i < n; ++i) rest += x[i] < 0 ? x[i] * dy[i] : 0;
  return hn::GetLane(hn::SumOfLanes(d, hn::Add(even, odd))) + rest;
}

// Blocks are summed in double, so that a long row is as accurate as a short one.
float LeakyGradient(const float* x, const float* dy, size_t n) {
  constexpr size_t kSumBlock = 1024;
  double sum = 0;
  for (size_t i = 0; i < n; i += kSumBlock)
    sum += double{LeakyGradientBlock(x + i, dy + i, HWY_MIN(kSumBlock, n - i))};
  return static_cast<float>(sum);
}

void AddRow(const float* g, float* dx, size_t n) {
  using activations::V;
  MapRow(g, dx, dx, n, [](V a, V b) HWY_ATTR { return hwy::HWY_NAMESPACE::Add(a, b); });
}

const AlphaKernels* AlphaTable() {
  static constexpr AlphaKernels kTable = {.leaky_gradient = LeakyGradient, .add = AddRow};
  return &kTable;
}

}  // namespace
}  // namespace bnns::impl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "core/target.h"

namespace bnns::impl {

HWY_EXPORT(FromInputTable);
HWY_EXPORT(AlphaTable);
const BackwardKernel* from_input_kernels() {
  return pick(HWY_DISPATCH_TABLE(FromInputTable))();
}
const AlphaKernels* alpha_kernels() {
  return pick(HWY_DISPATCH_TABLE(AlphaTable))();
}

}  // namespace bnns::impl
#endif
