// Exp(x) = e^x and Expm1(x) = e^x - 1 on float vectors.
//
// x = n ln 2 + r with n an integer and |r| <= 0.347; e^r - 1 = r + r^2 q(r) with a polynomial q;
// the result is 2^n (1 + (e^r - 1)). n is found by adding 1.5 * 2^23, which leaves it in the low
// bits of the sum: with the exponent bias added to that constant a shift by 23 gives 2^n itself.

#if defined(OPENBNNS_MATH_EXP_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef OPENBNNS_MATH_EXP_INL_H_
#undef OPENBNNS_MATH_EXP_INL_H_
#else
#define OPENBNNS_MATH_EXP_INL_H_
#endif

#include <hwy/highway.h>

#include "math/support-inl.h"

HWY_BEFORE_NAMESPACE();
namespace bnns::impl::HWY_NAMESPACE {

inline constexpr float kRounder = 12582912.0f;  // 1.5 * 2^23

// x = n ln 2 + remainder; the low bits of `biased` hold n + bias.
template <class V>
struct ExpReduced {
  V biased;
  V remainder;
};

template <int kBias, class D, class V>
HWY_INLINE ExpReduced<V> ReduceExp(D d, V x) {
  const V rounder = hn::Set(d, kRounder + kBias);
  const V biased = hn::MulAdd(x, hn::Set(d, kLog2E), rounder);
  const V n = hn::Sub(biased, rounder);
  const V high = hn::NegMulAdd(n, hn::Set(d, kLn2High), x);
  return {.biased = biased, .remainder = hn::NegMulAdd(n, hn::Set(d, kLn2Low), high)};
}

// q with r + r^2 q(r) = e^r - 1 for |r| <= 0.3476, error below 2^-26.1 |e^r - 1|.
template <class D, class V>
HWY_INLINE V ExpQ(D d, V r) {
  return Polynomial(d, r, 4.9999997e-01f, 1.6666545e-01f, 4.166744e-02f, 8.366454e-03f,
                    1.3870572e-03f);
}

// e^r - 1 for |r| <= 0.3476.
template <class D, class V>
HWY_INLINE V Expm1Reduced(D d, V r) {
  return hn::MulAdd(hn::Mul(r, r), ExpQ(d, r), r);
}

// 2^n from a float whose low bits hold n + 127 (0 < n + 127 < 255).
template <class D, class V>
HWY_INLINE V PowerOfTwo(D d, V biased) {
  const hn::RebindToUnsigned<D> du;
  return hn::BitCast(d, hn::ShiftLeft<23>(hn::BitCast(du, biased)));
}

// x 2^n for -252 <= n <= 254 from a float whose low bits hold n + 254. Two factors of about equal
// size reach the subnormal and overflowing results with one rounding.
template <class D, class V>
HWY_INLINE V ScaleByPowerOfTwo(D d, V x, V biased) {
  const hn::RebindToUnsigned<D> du;
  const auto bits = hn::BitCast(du, biased);
  const auto half = hn::ShiftRight<1>(bits);
  const V first = hn::BitCast(d, hn::ShiftLeft<23>(half));
  const V second = hn::BitCast(d, hn::ShiftLeft<23>(hn::Sub(bits, half)));
  return hn::Mul(hn::Mul(x, first), second);
}

// e^x for x between -105 and 89, NaN included.
template <class D, class V>
HWY_INLINE V ExpInRange(D d, V x) {
  const ExpReduced<V> reduced = ReduceExp<254>(d, x);
  const V y = hn::Add(hn::Set(d, 1.0f), Expm1Reduced(d, reduced.remainder));
  return ScaleByPowerOfTwo(d, y, reduced.biased);
}

// e^x for x <= 0 (and NaN); it needs one clamp less than Exp.
template <class D, class V>
HWY_INLINE V ExpNonPositive(D d, V x) {
  return ExpInRange(d, AtLeast(d, x, -104.0f));
}

template <class D, class V>
HWY_INLINE V Exp(D d, V x) {
  return ExpNonPositive(d, AtMost(d, x, 89.0f));
}

template <class D, class V>
HWY_INLINE V Expm1(D d, V x) {
  const V clamped = AtLeast(d, AtMost(d, x, 89.0f), -18.0f);
  // Bias 126 gives 2^(n-1), finite up to n = 128; the sum is doubled at the end.
  const ExpReduced<V> reduced = ReduceExp<126>(d, clamped);
  const V scale = PowerOfTwo(d, reduced.biased);
  const V p = Expm1Reduced(d, reduced.remainder);
  const V half = hn::MulAdd(scale, p, hn::Sub(scale, hn::Set(d, 0.5f)));
  // For tiny x the result is x itself: halving would lose a bit of subnormal numbers, and the sum
  // the sign of zero.
  return hn::IfThenElse(hn::Lt(hn::Abs(x), hn::Set(d, 0x1p-30f)), x, hn::Add(half, half));
}

}  // namespace bnns::impl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // OPENBNNS_MATH_EXP_INL_H_
