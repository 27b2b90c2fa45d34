// Functions on double vectors for the float functions of this folder that would need much care in
// float: a float vector is widened to two double vectors, computed there and rounded once. The
// functions here have relative errors of about 2^-40, so that the rounding to float decides and
// results err by little more than half an ulp.

#if defined(OPENBNNS_MATH_DOUBLE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef OPENBNNS_MATH_DOUBLE_INL_H_
#undef OPENBNNS_MATH_DOUBLE_INL_H_
#else
#define OPENBNNS_MATH_DOUBLE_INL_H_
#endif

#include <hwy/highway.h>

#include <limits>

HWY_BEFORE_NAMESPACE();
namespace bnns::impl::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// Rounds to float. Highway's emulated targets would give the largest float instead of infinity.
template <class D, class V>
HWY_INLINE hn::Vec<D> Narrow(D d, V x) {
#if HWY_TARGET == HWY_SCALAR || HWY_TARGET == HWY_EMU128
  const hn::Rebind<double, D> dd;
  HWY_ALIGN double wide[hn::MaxLanes(dd)];
  HWY_ALIGN float narrow[hn::MaxLanes(d)];
  hn::Store(x, dd, wide);
  for (size_t i = 0; i < hn::Lanes(d); ++i) narrow[i] = static_cast<float>(wide[i]);
  return hn::Load(d, narrow);
#else
  return hn::DemoteTo(d, x);
#endif
}

// F::of(dd, x...) of float vectors, computed on double vectors.
template <class F, class D, class... Vs>
HWY_INLINE hn::Vec<D> ThroughDouble(D d, Vs... x) {
#if HWY_TARGET == HWY_SCALAR
  const hn::Rebind<double, D> dd;
  return Narrow(d, F::of(dd, hn::PromoteTo(dd, x)...));
#else
  const hn::Half<D> dh;
  const hn::Rebind<double, decltype(dh)> dd;
  const auto low = F::of(dd, hn::PromoteTo(dd, hn::LowerHalf(dh, x))...);
  const auto high = F::of(dd, hn::PromoteTo(dd, hn::UpperHalf(dh, x))...);
  return hn::Combine(d, Narrow(dh, high), Narrow(dh, low));
#endif
}

// c0 + c1 x + c2 x^2 + ... by Horner's rule.
template <class D, class V>
HWY_INLINE V PolynomialD(D d, V /*x*/, double c0) {
  return hn::Set(d, c0);
}
template <class D, class V, class... Doubles>
HWY_INLINE V PolynomialD(D d, V x, double c0, Doubles... rest) {
  return hn::MulAdd(PolynomialD(d, x, rest...), x, hn::Set(d, c0));
}

// Adding it leaves the nearest integer in the low bits of the sum.
inline constexpr double kRounderD = 0x1.8p52;

// 2^t for |t| < 1000: 2^n e^(r ln 2) with an integer n and |r| <= 1/2. NaN passes through.
template <class D, class V>
HWY_INLINE V Exp2InRangeD(D d, V t) {
  const hn::RebindToUnsigned<D> du;
  const V biased = hn::Add(t, hn::Set(d, kRounderD + 1023));
  const V n = hn::Sub(biased, hn::Set(d, kRounderD + 1023));
  const V r = hn::Mul(hn::Sub(t, n), hn::Set(d, 0.69314718055994530942));
  const V p = PolynomialD(d, r, 1.0, 1.0000000000000013, 0.4999999999943695, 0.16666666666615498,
                          0.041666667041371473, 0.0083333333673860765, 0.0013888801622329689,
                          0.00019841190531844625, 2.4884520306294873e-05, 2.7632695699976396e-06);
  return hn::Mul(p, hn::BitCast(d, hn::ShiftLeft<52>(hn::BitCast(du, biased))));
}

// 2^t; beyond +-500 the float result is 0 or infinite anyway, also after a product with a float.
template <class D, class V>
HWY_INLINE V Exp2D(D d, V t) {
  const V top = hn::Set(d, 500.0), bottom = hn::Set(d, -500.0);
  const V below = hn::IfThenElse(hn::Gt(t, top), top, t);
  return Exp2InRangeD(d, hn::IfThenElse(hn::Lt(below, bottom), bottom, below));
}

template <class D, class V>
HWY_INLINE V ExpD(D d, V x) {
  return Exp2D(d, hn::Mul(x, hn::Set(d, 1.4426950408889634074)));
}

// x = 2^k m with m in [sqrt(1/2), sqrt(2)), and ln m = 2 atanh(s) with s = (m - 1) / (m + 1).
template <class V>
struct LogPartsD {
  V k, log_m;
};

// For positive normal x; Inf, 0, NaN and negative numbers give numbers without meaning.
template <class D, class V>
HWY_INLINE LogPartsD<V> LogOfPositiveD(D d, V x) {
  const hn::RebindToUnsigned<D> du;
  const V one = hn::Set(d, 1.0);
  const auto bits = hn::BitCast(du, x);
  // Adding what 1 - sqrt(1/2) is in bits makes the exponent field change at sqrt(1/2).
  const auto shifted = hn::Add(bits, hn::Set(du, 0x3FF0000000000000u - 0x3FE6A09E667F3BCDu));
  const auto field = hn::ShiftRight<52>(shifted);
  // The exponent field as the low bits of 2^52, from which it is a double by subtraction.
  const V k = hn::Sub(hn::BitCast(d, hn::Or(field, hn::Set(du, 0x4330000000000000u))),
                      hn::Set(d, 0x1p52 + 1023));
  const auto exponent = hn::Sub(hn::ShiftLeft<52>(field), hn::Set(du, 0x3FF0000000000000u));
  const V m = hn::BitCast(d, hn::Sub(bits, exponent));
  const V s = hn::Div(hn::Sub(m, one), hn::Add(m, one));
  const V p = PolynomialD(d, hn::Mul(s, s), 1.0, 0.33333333333276427, 0.20000000030885484,
                          0.14285708008158043, 0.11111717448303399, 0.090609614141007572,
                          0.084189016905796166);
  return {.k = k, .log_m = hn::Mul(hn::Add(s, s), p)};
}

// Replaces y where x has no regular logarithm: Inf gives Inf, 0 gives -Inf, below that NaN.
template <class D, class V>
HWY_INLINE V WithLogEndsD(D d, V y, V x) {
  const V inf = hn::Set(d, std::numeric_limits<double>::infinity());
  const V finite = hn::IfThenElse(hn::Lt(x, inf), y, x);
  const V zero = hn::IfThenElse(hn::Eq(x, hn::Zero(d)), hn::Neg(inf), finite);
  const V nan = hn::Set(d, std::numeric_limits<double>::quiet_NaN());
  return hn::IfThenElse(hn::Lt(x, hn::Zero(d)), nan, zero);
}

template <class D, class V>
HWY_INLINE V LogD(D d, V x) {
  const LogPartsD<V> parts = LogOfPositiveD(d, x);
  const V y = hn::MulAdd(parts.k, hn::Set(d, 0.69314718055994530942), parts.log_m);
  return WithLogEndsD(d, y, x);
}

template <class D, class V>
HWY_INLINE V Log2D(D d, V x) {
  const LogPartsD<V> parts = LogOfPositiveD(d, x);
  const V y = hn::MulAdd(parts.log_m, hn::Set(d, 1.4426950408889634074), parts.k);
  return WithLogEndsD(d, y, x);
}

// atan x: |x| is brought below 1 by 1/x, then below tan(pi/8) by (x - 1) / (x + 1).
template <class D, class V>
HWY_INLINE V AtanD(D d, V x) {
  const V one = hn::Set(d, 1.0), a = hn::Abs(x);
  const auto outside = hn::Gt(a, one);
  const V inner = hn::IfThenElse(outside, hn::Div(one, a), a);
  const auto upper = hn::Gt(inner, hn::Set(d, 0.41421356237309504880));
  const V z = hn::IfThenElse(upper, hn::Div(hn::Sub(inner, one), hn::Add(inner, one)), inner);
  const V p = PolynomialD(d, hn::Mul(z, z), 1.0, -0.33333333330802672, 0.19999999604787236,
                          -0.14285690418495545, 0.11110384913255042, -0.090783902895086727,
                          0.075636903644334716, -0.058744550821707237, 0.030661656753752625);
  const V base = hn::IfThenElseZero(upper, hn::Set(d, 0.78539816339744830962));
  const V y = hn::MulAdd(z, p, base);
  const V whole = hn::IfThenElse(outside, hn::Sub(hn::Set(d, 1.57079632679489661923), y), y);
  return hn::CopySignToAbs(whole, x);
}

}  // namespace bnns::impl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // OPENBNNS_MATH_DOUBLE_INL_H_
