// Sinh, Cosh, Asinh, Acosh and Atanh on float vectors, computed in double. Tanh is in
// sigmoid-inl.h.
//   sinh x  = (e^x - e^-x) / 2, a polynomial below 1     cosh x  = (e^x + e^-x) / 2
//   asinh x = ln(|x| + sqrt(x^2 + 1)) with the sign of x; x - x^3/6 below 2^-12
//   acosh x = ln(x + sqrt((x - 1)(x + 1)))
//   atanh x = ln((1 + x) / (1 - x)) / 2; x + x^3/3 below 2^-12

#if defined(OPENBNNS_MATH_HYPERBOLIC_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef OPENBNNS_MATH_HYPERBOLIC_INL_H_
#undef OPENBNNS_MATH_HYPERBOLIC_INL_H_
#else
#define OPENBNNS_MATH_HYPERBOLIC_INL_H_
#endif

#include <hwy/highway.h>

#include "math/double-inl.h"

HWY_BEFORE_NAMESPACE();
namespace bnns::impl::HWY_NAMESPACE {

struct SinhD {
  template <class D, class V>
  static HWY_INLINE V of(D d, V x) {
    const V half = hn::Set(d, 0.5);
    const V e = ExpD(d, x);
    const V far = hn::Mul(half, hn::Sub(e, hn::Div(hn::Set(d, 1.0), e)));
    const V near_zero = hn::Mul(
        x, PolynomialD(d, hn::Mul(x, x), 1.0, 0.16666666667239327, 0.0083333332665458688,
                       0.00019841298317149254, 2.755183485237489e-06, 2.5538205221156536e-08));
    return hn::IfThenElse(hn::Lt(hn::Abs(x), hn::Set(d, 1.0)), near_zero, far);
  }
};
struct CoshD {
  template <class D, class V>
  static HWY_INLINE V of(D d, V x) {
    const V e = ExpD(d, x);
    return hn::Mul(hn::Set(d, 0.5), hn::Add(e, hn::Div(hn::Set(d, 1.0), e)));
  }
};

// x + c x^3 where |x| is small, else y; always with the sign of x, of which the sum loses that of
// zero.
template <class D, class V>
HWY_INLINE V NearZeroD(D d, V x, double c, V y) {
  const V cubic = hn::Mul(x, hn::Mul(x, x));
  const V series = hn::MulAdd(cubic, hn::Set(d, c), x);
  const auto small = hn::Lt(hn::Abs(x), hn::Set(d, 0x1p-12));
  return hn::CopySign(hn::IfThenElse(small, series, y), x);
}

struct AsinhD {
  template <class D, class V>
  static HWY_INLINE V of(D d, V x) {
    const V a = hn::Abs(x);
    const V y = LogD(d, hn::Add(a, hn::Sqrt(hn::MulAdd(a, a, hn::Set(d, 1.0)))));
    return NearZeroD(d, x, -1.0 / 6, y);
  }
};
struct AcoshD {
  template <class D, class V>
  static HWY_INLINE V of(D d, V x) {
    const V one = hn::Set(d, 1.0);
    const V y = LogD(d, hn::Add(x, hn::Sqrt(hn::Mul(hn::Sub(x, one), hn::Add(x, one)))));
    const V nan = hn::Set(d, std::numeric_limits<double>::quiet_NaN());
    return hn::IfThenElse(hn::Lt(x, one), nan, y);
  }
};
struct AtanhD {
  template <class D, class V>
  static HWY_INLINE V of(D d, V x) {
    const V one = hn::Set(d, 1.0);
    const V y = LogD(d, hn::Div(hn::Add(one, x), hn::Sub(one, x)));
    return NearZeroD(d, x, 1.0 / 3, hn::Mul(hn::Set(d, 0.5), y));
  }
};

template <class D, class V>
HWY_INLINE V Sinh(D d, V x) {
  return ThroughDouble<SinhD>(d, x);
}
template <class D, class V>
HWY_INLINE V Cosh(D d, V x) {
  return ThroughDouble<CoshD>(d, x);
}
template <class D, class V>
HWY_INLINE V Asinh(D d, V x) {
  return ThroughDouble<AsinhD>(d, x);
}
template <class D, class V>
HWY_INLINE V Acosh(D d, V x) {
  return ThroughDouble<AcoshD>(d, x);
}
template <class D, class V>
HWY_INLINE V Atanh(D d, V x) {
  return ThroughDouble<AtanhD>(d, x);
}

}  // namespace bnns::impl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // OPENBNNS_MATH_HYPERBOLIC_INL_H_
