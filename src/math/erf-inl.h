// Erf(x), NormalCdf(x) = (1 + erf(x / sqrt 2)) / 2, Gelu(x) = x NormalCdf(x) and its slope on float
// vectors.
//
// Erf: an odd polynomial below 1, above it 1 - g(|x|)^4 with a polynomial g: the fourth root of
// erfc needs a third of the terms of erfc itself, and at 4 the result rounds to 1. NormalCdf: with
// a = |x| the tail is e^(-a^2/2) M(a), M a rational function; the result is the tail itself for
// negative x, 1 - tail otherwise. a^2 is split in an exact and a small part, since e^-y turns the
// relative error of y into y times as much.

#if defined(OPENBNNS_MATH_ERF_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef OPENBNNS_MATH_ERF_INL_H_
#undef OPENBNNS_MATH_ERF_INL_H_
#else
#define OPENBNNS_MATH_ERF_INL_H_
#endif

#include <hwy/highway.h>

#include "math/exp-inl.h"
#include "math/support-inl.h"

HWY_BEFORE_NAMESPACE();
namespace bnns::impl::HWY_NAMESPACE {

inline constexpr float kErfJoin = 1.0f;
inline constexpr float kErfAtJoin = 0.842700793f;

template <class D, class V>
HWY_INLINE V Erf(D d, V x) {
  const V a = AtMost(d, hn::Abs(x), 4.0f);
  // erf(a)/a - 1 in z = a^2 for a <= 1, error below 2^-29.3 of the result.
  const V z = hn::Mul(a, a);
  const V s = Polynomial(d, z, 1.2837917e-01f, -3.7612626e-01f, 1.1283579e-01f, -2.6853347e-02f,
                         5.187162e-03f, -7.997853e-04f, 7.806903e-05f);
  const V near_zero = hn::MulAdd(a, s, a);
  // The fourth root of erfc(2 + u) for 1 <= 2 + u <= 4, error of its fourth power below 2^-26.8.
  const V u = hn::Sub(a, hn::Set(d, 2.0f));
  const V root =
      Polynomial(d, u, 2.6152232e-01f, -2.8886166e-01f, 9.913935e-02f, 6.901529e-03f,
                 -1.2249067e-02f, 1.5321495e-03f, 7.7282626e-04f, -1.7824196e-04f, -2.2132459e-05f);
  const V square = hn::Mul(root, root);
  // The clamp keeps rounding errors above the join from breaking monotonicity there.
  const V far = AtLeast(d, hn::NegMulAdd(square, square, hn::Set(d, 1.0f)), kErfAtJoin);
  return hn::CopySignToAbs(hn::IfThenElse(hn::Lt(a, hn::Set(d, kErfJoin)), near_zero, far), x);
}

// Beyond this NormalCdf(-a) and a NormalCdf(-a) are 0.
inline constexpr float kNormalEnd = 14.8f;

// q and below with q / below = e^(a^2/2) NormalCdf(-a), relative error below 2^-27.1; below = K a q
// + p. For large a the term K a q dominates, so that the rounding errors of q (and of a q) cancel
// and those of p fade.
template <class V>
struct NormalRatio {
  V q, aq, below;
};

template <class D, class V>
HWY_INLINE NormalRatio<V> NormalTailRatio(D d, V a) {
  const V p = Polynomial(d, a, 3.7524333e+00f, 1.5803967e+00f, 3.8956925e-01f, 3.8133837e-02f,
                         2.8112914e-05f);
  const V q = Polynomial(d, a, 1.8762167e+00f, 1.6446557e+00f, 6.874651e-01f, 1.5240633e-01f,
                         1.5427471e-02f);
  const V aq = hn::Mul(a, q);
  return {.q = q, .aq = aq, .below = hn::MulAdd(aq, hn::Set(d, 2.5066f), p)};
}

// -a^2/2 as the sum of two floats. Without fused multiply-add, the upper 12 bits of a (top) have an
// exact square, and (a - top)(a + top) is the rest.
template <class V>
struct HalfSquare {
  V high, low;
};

template <class D, class V>
HWY_INLINE HalfSquare<V> MinusHalfSquare(D d, V a) {
  const V minus_half = hn::Set(d, -0.5f);
#if HWY_TARGET == HWY_SSE4 || HWY_TARGET == HWY_SSSE3 || HWY_TARGET == HWY_SCALAR || \
    HWY_TARGET == HWY_EMU128
  const hn::RebindToUnsigned<D> du;
  const V top = hn::BitCast(d, hn::And(hn::BitCast(du, a), hn::Set(du, 0xFFFFF000u)));
  return {.high = hn::Mul(hn::Mul(top, minus_half), top),
          .low = hn::Mul(hn::Mul(hn::Sub(a, top), minus_half), hn::Add(a, top))};
#else
  const V half = hn::Mul(a, minus_half);
  const V high = hn::Mul(half, a);
  return {.high = high, .low = hn::MulSub(half, a, high)};
#endif
}

// factor e^(-a^2/2) for 0 <= a <= kNormalEnd.
template <class D, class V>
HWY_INLINE V TimesNormalExp(D d, V a, V factor) {
  const HalfSquare<V> y = MinusHalfSquare(d, a);
  const V rounder = hn::Set(d, kRounder + 254);
  const V biased = hn::MulAdd(y.high, hn::Set(d, kLog2E), rounder);
  const V n = hn::Sub(biased, rounder);
  const V high = hn::NegMulAdd(n, hn::Set(d, kLn2High), y.high);
  const V r = hn::Add(high, hn::NegMulAdd(n, hn::Set(d, kLn2Low), y.low));
  return ScaleByPowerOfTwo(d, hn::MulAdd(factor, Expm1Reduced(d, r), factor), biased);
}

// NormalCdf for |x| <= kNormalJoin: 1/2 + x C(x^2), relative error of C below 2^-25.
inline constexpr float kNormalJoin = 0.75f;
inline constexpr float kTailAtJoin = 0.226627352f;  // NormalCdf(-0.75)

template <class D, class V>
HWY_INLINE V NormalCdfCenter(D d, V x) {
  const V c = Polynomial(d, hn::Mul(x, x), 3.989423e-01f, -6.649095e-02f, 9.977926e-03f,
                         -1.196725e-03f, 1.1640084e-04f);
  return hn::MulAdd(x, c, hn::Set(d, 0.5f));
}

template <class D, class V>
HWY_INLINE V NormalCdf(D d, V x) {
  const V a = AtMost(d, hn::Abs(x), kNormalEnd);
  const NormalRatio<V> ratio = NormalTailRatio(d, a);
  // The clamp keeps rounding errors of the tail from breaking monotonicity at the join.
  const V tail = AtMost(d, TimesNormalExp(d, a, hn::Div(ratio.q, ratio.below)), kTailAtJoin);
  const V far = hn::IfThenElse(hn::Lt(x, hn::Zero(d)), tail, hn::Sub(hn::Set(d, 1.0f), tail));
  return hn::IfThenElse(hn::Lt(a, hn::Set(d, kNormalJoin)), NormalCdfCenter(d, x), far);
}

// max(x, 0) - a NormalCdf(-a). The factor a is applied before the scaling by a power of two,
// because a subnormal NormalCdf would have lost bits.
template <class D, class V>
HWY_INLINE V Gelu(D d, V x) {
  const V a = AtMost(d, hn::Abs(x), kNormalEnd);
  const NormalRatio<V> ratio = NormalTailRatio(d, a);
  const V product = TimesNormalExp(d, a, hn::Div(ratio.aq, ratio.below));
  return hn::Sub(hn::Max(x, hn::Zero(d)), product);
}

// NormalCdf(x) + x e^(-x^2/2) / sqrt(2 pi). For x < 0 it is t = e^(-a^2/2) (ratio - a / sqrt(2
// pi)), with one exponential for both terms; for x >= 0 it is 1 - t.
template <class D, class V>
HWY_INLINE V GeluSlope(D d, V x) {
  const V a = AtMost(d, hn::Abs(x), kNormalEnd);
  const NormalRatio<V> ratio = NormalTailRatio(d, a);
  const V density = hn::Mul(a, hn::Set(d, 0.39894228f));
  const V t = TimesNormalExp(d, a, hn::Sub(hn::Div(ratio.q, ratio.below), density));
  return hn::IfThenElse(hn::Lt(x, hn::Zero(d)), t, hn::Sub(hn::Set(d, 1.0f), t));
}

}  // namespace bnns::impl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // OPENBNNS_MATH_ERF_INL_H_
