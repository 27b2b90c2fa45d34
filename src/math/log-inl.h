// Log(x) = ln x and Log1p(x) = ln(1 + x) on float vectors.
//
// x = 2^k (1 + f) with 2/3 <= 1 + f < 4/3; ln(1 + f) = f - f^2/2 + f^3 P(f) with a polynomial P;
// the result is k ln 2 + ln(1 + f). Log1p forms f = 2^-k x + (2^-k - 1) from x itself, so nothing
// of a small x is lost in 1 + x.

#if defined(OPENBNNS_MATH_LOG_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef OPENBNNS_MATH_LOG_INL_H_
#undef OPENBNNS_MATH_LOG_INL_H_
#else
#define OPENBNNS_MATH_LOG_INL_H_
#endif

#include <hwy/highway.h>

#include <limits>

#include "math/support-inl.h"

HWY_BEFORE_NAMESPACE();
namespace bnns::impl::HWY_NAMESPACE {

inline constexpr int32_t kTwoThirdsBits = 0x3F2AAAAB;

// ln(1 + f) - f for |f| <= 1/3, error below 2^-27.6 |ln(1 + f)|.
template <class D, class V>
HWY_INLINE V Log1pTail(D d, V f) {
  const V p =
      Polynomial(d, f, -0.5f, 3.3333215e-01f, -2.4999805e-01f, 2.0010434e-01f, -1.6680232e-01f,
                 1.4005567e-01f, -1.2187236e-01f, 1.3985507e-01f, -1.2880407e-01f);
  return hn::Mul(hn::Mul(f, f), p);
}

// k ln 2 + ln(1 + f).
template <class D, class V>
HWY_INLINE V LogOfParts(D d, V k, V f) {
  const V low = hn::MulAdd(k, hn::Set(d, kLn2Low), Log1pTail(d, f));
  return hn::MulAdd(k, hn::Set(d, kLn2High), hn::Add(f, low));
}

// Returns y where x is above the pole, -Inf at the pole, NaN below it.
template <class D, class V>
HWY_INLINE V WithPole(D d, V y, V x, float pole) {
  const V at = hn::Set(d, pole);
  const V not_a_number = hn::Set(d, std::numeric_limits<float>::quiet_NaN());
  const V minus_infinity = hn::Set(d, -std::numeric_limits<float>::infinity());
  const V below = hn::IfThenElse(hn::Lt(x, at), not_a_number, minus_infinity);
  return hn::IfThenElse(hn::Le(x, at), below, y);
}

template <class D, class V>
HWY_INLINE V Log(D d, V x) {
  const hn::RebindToSigned<D> di;
  const auto small = hn::Lt(x, hn::Set(d, std::numeric_limits<float>::min()));
  const V normal = hn::IfThenElse(small, hn::Mul(x, hn::Set(d, 0x1p24f)), x);
  const auto bits = hn::BitCast(di, normal);
  const auto exponent = hn::ShiftRight<23>(hn::Sub(bits, hn::Set(di, kTwoThirdsBits)));
  const V f = hn::Sub(hn::BitCast(d, hn::Sub(bits, hn::ShiftLeft<23>(exponent))), hn::Set(d, 1.0f));
  const V k = hn::Sub(hn::ConvertTo(d, exponent), hn::IfThenElseZero(small, hn::Set(d, 24.0f)));
  const V y = LogOfParts(d, k, f);
  const auto finite = hn::Lt(x, hn::Set(d, std::numeric_limits<float>::infinity()));
  return WithPole(d, hn::IfThenElse(finite, y, x), x, 0.0f);
}

template <class D, class V>
HWY_INLINE V Log1p(D d, V x) {
  const hn::RebindToSigned<D> di;
  const V one = hn::Set(d, 1.0f);
  const auto offset = hn::Sub(hn::BitCast(di, hn::Add(one, x)), hn::Set(di, kTwoThirdsBits));
  const auto exponent = hn::ShiftRight<23>(offset);
  const auto shift = hn::ShiftLeft<23>(exponent);
  // At k = 128 the bits of 2^-k would be negative; they are clamped to 0, since 2^-k does not count
  // beside the other term for large k.
  const V inverse = hn::BitCast(d, hn::Max(hn::Sub(hn::BitCast(di, one), shift), hn::Zero(di)));
  const V scaled = hn::BitCast(d, hn::Sub(hn::BitCast(di, x), shift));
  const V f = hn::Add(scaled, hn::Sub(inverse, one));
  const V y = LogOfParts(d, hn::ConvertTo(d, exponent), f);
  const auto finite = hn::Lt(x, hn::Set(d, std::numeric_limits<float>::infinity()));
  const auto regular = hn::And(finite, hn::Ne(x, hn::Zero(d)));
  return WithPole(d, hn::IfThenElse(regular, y, x), x, -1.0f);
}

}  // namespace bnns::impl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // OPENBNNS_MATH_LOG_INL_H_
