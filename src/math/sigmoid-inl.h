// Functions of the logistic family on float vectors:
//   Sigmoid(x)    = 1 / (1 + e^-x)
//   Softplus(x)   = ln(1 + e^x)      = max(x, 0) + ln(1 + e^-|x|)
//   LogSigmoid(x) = -ln(1 + e^-x)    = min(x, 0) - ln(1 + e^-|x|)
//   Tanh(x)       = 1 - 2 / (e^2|x| + 1) with the sign of x; near 0 a polynomial in x^2
// e^-|x| never overflows, and its subnormal values give the results in the far tails.

#if defined(OPENBNNS_MATH_SIGMOID_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef OPENBNNS_MATH_SIGMOID_INL_H_
#undef OPENBNNS_MATH_SIGMOID_INL_H_
#else
#define OPENBNNS_MATH_SIGMOID_INL_H_
#endif

#include <hwy/highway.h>

#include "math/exp-inl.h"
#include "math/log-inl.h"
#include "math/support-inl.h"

HWY_BEFORE_NAMESPACE();
namespace bnns::impl::HWY_NAMESPACE {

// With s = 2^n and e^-x = s (1 + p) the denominator is (s + 1) + s p. The sum s + 1 is exact up to
// s = 2^23; beyond that `lost` is its rounding error, which is added back. Numerator and
// denominator carry a factor 2^-64, which keeps 2^n finite where the result is subnormal.
template <class D, class V>
HWY_INLINE V Sigmoid(D d, V x) {
  const V unit = hn::Set(d, 0x1p-64f);
  const V clamped = AtLeast(d, AtMost(d, x, 18.0f), -104.0f);
  const ExpReduced<V> reduced = ReduceExp<127 - 64>(d, hn::Neg(clamped));
  const V scale = PowerOfTwo(d, reduced.biased);
  const V p = Expm1Reduced(d, reduced.remainder);
  const V sum = hn::Add(scale, unit);
  const V lost = hn::Sub(unit, hn::Sub(sum, scale));
  return hn::Div(unit, hn::Add(sum, hn::MulAdd(scale, p, lost)));
}

// ln(1 + e) for 0 <= e <= 1. In this range Log1p has only two cases, k = 0 and k = 1, and no
// special values.
template <class D, class V>
HWY_INLINE V Log1pOfUnit(D d, V e) {
  const auto upper = hn::Gt(e, hn::Set(d, 1.0f / 3.0f));
  const V half = hn::Set(d, 0.5f);
  const V f = hn::IfThenElse(upper, hn::MulSub(e, half, half), e);
  return LogOfParts(d, hn::IfThenElseZero(upper, hn::Set(d, 1.0f)), f);
}

template <class D, class V>
HWY_INLINE V Softplus(D d, V x) {
  const V e = ExpNonPositive(d, hn::Neg(hn::Abs(x)));
  return hn::Add(hn::Max(x, hn::Zero(d)), Log1pOfUnit(d, e));
}

template <class D, class V>
HWY_INLINE V LogSigmoid(D d, V x) {
  const V e = ExpNonPositive(d, hn::Neg(hn::Abs(x)));
  return hn::Sub(hn::Min(x, hn::Zero(d)), Log1pOfUnit(d, e));
}

// Below this Tanh uses the polynomial, above it the exponential, whose subtraction then cancels at
// most one bit.
inline constexpr float kTanhJoin = 0.55f;

template <class D, class V>
HWY_INLINE V Tanh(D d, V x) {
  const V one = hn::Set(d, 1.0f);
  const V a = AtMost(d, hn::Abs(x), 10.0f);
  // (tanh(a)/a - 1) / a^2 in z = a^2 up to 0.3026, error below 2^-29.7 of the result.
  const V z = hn::Mul(a, a);
  const V p = Polynomial(d, z, -3.3333316e-01f, 1.3332544e-01f, -5.3847548e-02f, 2.1050714e-02f,
                         -6.2428494e-03f);
  const V near_zero = hn::MulAdd(hn::Mul(a, z), p, a);

  const ExpReduced<V> reduced = ReduceExp<127>(d, hn::Add(a, a));
  const V scale = PowerOfTwo(d, reduced.biased);
  const V sum = hn::MulAdd(scale, Expm1Reduced(d, reduced.remainder), hn::Add(scale, one));
  const V far = hn::Sub(one, hn::Div(hn::Set(d, 2.0f), sum));
  return hn::CopySignToAbs(hn::IfThenElse(hn::Lt(a, hn::Set(d, kTanhJoin)), near_zero, far), x);
}

}  // namespace bnns::impl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // OPENBNNS_MATH_SIGMOID_INL_H_
