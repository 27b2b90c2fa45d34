// Forward row kernels. Functions of two inputs have one kernel for two rows and two for a row and a
// single value, as broadcasting along rows brings them.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/arithmetic/kernels_forward.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

#include "ops/arithmetic/functions-inl.h"
#include "ops/arithmetic/kernels.h"
#include "simd/rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace bnns::impl::HWY_NAMESPACE {
namespace {

using namespace arithmetic;

template <class F>
void OneRow(const float* const* in, float* out, size_t n) {
  MapRow(in[0], out, n, [](V a) HWY_ATTR { return F::forward(a); });
}
template <class F>
void TwoRows(const float* const* in, float* out, size_t n) {
  MapRow(in[0], in[1], out, n, [](V a, V b) HWY_ATTR { return F::forward(a, b); });
}
template <class F>
void ValueAndRow(const float* const* in, float* out, size_t n) {
  const V a = Value(*in[0]);
  MapRow(in[1], out, n, [&](V b) HWY_ATTR { return F::forward(a, b); });
}
template <class F>
void RowAndValue(const float* const* in, float* out, size_t n) {
  const V b = Value(*in[1]);
  MapRow(in[0], out, n, [&](V a) HWY_ATTR { return F::forward(a, b); });
}
template <class F>
void ThreeRows(const float* const* in, float* out, size_t n) {
  MapRow(in[0], in[1], in[2], out, n, [](V a, V b, V c) HWY_ATTR { return F::forward(a, b, c); });
}

template <class F>
constexpr ForwardArithmetic one() {
  return {.rows = OneRow<F>};
}
template <class F>
constexpr ForwardArithmetic two() {
  return {.rows = TwoRows<F>, .first_is_value = ValueAndRow<F>, .second_is_value = RowAndValue<F>};
}
template <class F>
constexpr ForwardArithmetic three() {
  return {.rows = ThreeRows<F>};
}

// Entry k is that of function k.
const ForwardArithmetic* ForwardArithmeticTable() {
  static constexpr ForwardArithmetic kTable[] = {two<Add>(),
                                                 two<Subtract>(),
                                                 two<Multiply>(),
                                                 two<Divide>(),
                                                 one<SquareRoot>(),
                                                 one<ReciprocalSquareRoot>(),
                                                 one<Ceil>(),
                                                 one<Floor>(),
                                                 one<Round>(),
                                                 one<SinFunction>(),
                                                 one<CosFunction>(),
                                                 one<TanFunction>(),
                                                 one<AsinFunction>(),
                                                 one<AcosFunction>(),
                                                 one<AtanFunction>(),
                                                 one<SinhFunction>(),
                                                 one<CoshFunction>(),
                                                 one<TanhFunction>(),
                                                 one<AsinhFunction>(),
                                                 one<AcoshFunction>(),
                                                 one<AtanhFunction>(),
                                                 two<PowFunction>(),
                                                 one<ExpFunction>(),
                                                 one<Exp2Function>(),
                                                 one<LogFunction>(),
                                                 one<Log2Function>(),
                                                 two<MultiplyNoNaN>(),
                                                 two<DivideNoNaN>(),
                                                 three<MultiplyAddFunction>(),
                                                 two<Minimum>(),
                                                 two<Maximum>(),
                                                 three<Select>(),
                                                 one<AbsFunction>(),
                                                 one<Sign>(),
                                                 one<Negate>(),
                                                 one<Reciprocal>(),
                                                 one<Square>(),
                                                 two<FloorDivide>(),
                                                 two<TruncDivide>(),
                                                 two<TruncRemainder>(),
                                                 one<ErfFunction>()};
  static_assert(sizeof kTable / sizeof *kTable == kArithmeticFunctions);
  return kTable;
}

}  // namespace
}  // namespace bnns::impl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "core/target.h"

namespace bnns::impl {

HWY_EXPORT(ForwardArithmeticTable);
ForwardArithmetic forward_arithmetic(BNNSArithmeticFunction function) {
  return pick(HWY_DISPATCH_TABLE(ForwardArithmeticTable))()[function];
}

}  // namespace bnns::impl
#endif
