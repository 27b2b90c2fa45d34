// Exp2, Log2, Pow and its gradients, and the quotients of whole numbers on float vectors.
//   Exp2(x) = 2^n e^(r ln 2) with n the integer next to x, in float
//   Pow(x, y) = 2^(y log2 |x|), negated for negative x and odd y, in double; special values are
//   those of C
//   Remainder(x, y) = x - y trunc(x / y), exact, like fmod
// The quotient of two floats in double is on the right side of every integer below 2^28, and there
// the product of y and that integer is exact. Larger quotients take fmod lane by lane.

#if defined(OPENBNNS_MATH_POWER_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef OPENBNNS_MATH_POWER_INL_H_
#undef OPENBNNS_MATH_POWER_INL_H_
#else
#define OPENBNNS_MATH_POWER_INL_H_
#endif

#include <hwy/highway.h>

#include <cmath>

#include "math/double-inl.h"
#include "math/exp-inl.h"

HWY_BEFORE_NAMESPACE();
namespace bnns::impl::HWY_NAMESPACE {

template <class D, class V>
HWY_INLINE V Exp2(D d, V x) {
  const V clamped = AtLeast(d, AtMost(d, x, 129.0f), -151.0f);
  const V rounder = hn::Set(d, kRounder + 254);
  const V biased = hn::Add(clamped, rounder);
  const V r = hn::Mul(hn::Sub(clamped, hn::Sub(biased, rounder)), hn::Set(d, 0.693147181f));
  return ScaleByPowerOfTwo(d, hn::Add(hn::Set(d, 1.0f), Expm1Reduced(d, r)), biased);
}

struct Log2OfD {
  template <class D, class V>
  static HWY_INLINE V of(D d, V x) {
    return Log2D(d, x);
  }
};
template <class D, class V>
HWY_INLINE V Log2(D d, V x) {
  return ThroughDouble<Log2OfD>(d, x);
}

// Whether y, a finite double, is an odd integer.
template <class D, class V>
HWY_INLINE auto IsOdd(D d, V y) {
  const V half = hn::Mul(y, hn::Set(d, 0.5));
  return hn::And(hn::Eq(hn::Trunc(y), y), hn::Ne(hn::Trunc(half), half));
}

// x^y in double for x and y of float size.
template <class D, class V>
HWY_INLINE V PowOfD(D d, V x, V y) {
  const V zero = hn::Zero(d), one = hn::Set(d, 1.0), a = hn::Abs(x);
  const V inf = hn::Set(d, std::numeric_limits<double>::infinity());
  const V magnitude = Exp2D(d, hn::Mul(y, Log2D(d, a)));
  // Infinity counts as an even integer; the odd test of it is false, as Inf / 2 is Inf.
  const V turned = hn::IfThenElse(IsOdd(d, y), hn::CopySign(magnitude, x), magnitude);
  const V nan = hn::Set(d, std::numeric_limits<double>::quiet_NaN());
  const auto broken =
      hn::And(hn::And(hn::Lt(x, zero), hn::Gt(x, hn::Neg(inf))), hn::Ne(hn::Trunc(y), y));
  const V regular = hn::IfThenElse(broken, nan, turned);
  const auto minus_one = hn::And(hn::Eq(x, hn::Neg(one)), hn::Eq(hn::Abs(y), inf));
  const auto is_one = hn::Or(hn::Or(hn::Eq(x, one), hn::Eq(y, zero)), minus_one);
  return hn::IfThenElse(is_one, one, regular);
}

struct PowD {
  template <class D, class V>
  static HWY_INLINE V of(D d, V x, V y) {
    return PowOfD(d, x, y);
  }
};
template <class D, class V>
HWY_INLINE V Pow(D d, V x, V y) {
  return ThroughDouble<PowD>(d, x, y);
}

// g y x^(y - 1), the gradient of x^y by x; 0 for y = 0. The product with g is in double too,
// because the slope alone may be too large for a float.
struct PowGradientOfBaseD {
  template <class D, class V>
  static HWY_INLINE V of(D d, V x, V y, V g) {
    const V slope = hn::Mul(y, PowOfD(d, x, hn::Sub(y, hn::Set(d, 1.0))));
    return hn::IfThenZeroElse(hn::Eq(y, hn::Zero(d)), hn::Mul(g, slope));
  }
};
template <class D, class V>
HWY_INLINE V PowGradientOfBase(D d, V x, V y, V g) {
  return ThroughDouble<PowGradientOfBaseD>(d, x, y, g);
}

// g x^y ln x, the gradient of x^y by y; 0 for x = 0 and positive y, where 0^y does not change.
struct PowGradientOfExponentD {
  template <class D, class V>
  static HWY_INLINE V of(D d, V x, V y, V g) {
    const V slope = hn::Mul(PowOfD(d, x, y), LogD(d, x));
    const auto flat = hn::And(hn::Eq(x, hn::Zero(d)), hn::Gt(y, hn::Zero(d)));
    return hn::IfThenZeroElse(flat, hn::Mul(g, slope));
  }
};
template <class D, class V>
HWY_INLINE V PowGradientOfExponent(D d, V x, V y, V g) {
  return ThroughDouble<PowGradientOfExponentD>(d, x, y, g);
}

// The sign is set because Highway's scalar target rounds to +0 where -0 is right.
struct FloorQuotientD {
  template <class D, class V>
  static HWY_INLINE V of(D /*d*/, V x, V y) {
    const V quotient = hn::Div(x, y);
    return hn::CopySign(hn::Floor(quotient), quotient);
  }
};
template <class D, class V>
HWY_INLINE V FloorQuotient(D d, V x, V y) {
  return ThroughDouble<FloorQuotientD>(d, x, y);
}

struct TruncQuotientD {
  template <class D, class V>
  static HWY_INLINE V of(D /*d*/, V x, V y) {
    const V quotient = hn::Div(x, y);
    return hn::CopySign(hn::Trunc(quotient), quotient);
  }
};
template <class D, class V>
HWY_INLINE V TruncQuotient(D d, V x, V y) {
  return ThroughDouble<TruncQuotientD>(d, x, y);
}

struct RemainderD {
  template <class D, class V>
  static HWY_INLINE V of(D /*d*/, V x, V y) {
    return hn::CopySign(hn::NegMulAdd(hn::Trunc(hn::Div(x, y)), y, x), x);
  }
};
template <class D, class V>
HWY_INLINE V Remainder(D d, V x, V y) {
  const V inf = hn::Set(d, std::numeric_limits<float>::infinity());
  const auto regular = hn::And(hn::Lt(hn::Abs(x), hn::Mul(hn::Abs(y), hn::Set(d, 0x1p27f))),
                               hn::Lt(hn::Abs(y), inf));
  if (HWY_LIKELY(hn::AllTrue(d, regular))) return ThroughDouble<RemainderD>(d, x, y);
  HWY_ALIGN float values[hn::MaxLanes(d)], divisors[hn::MaxLanes(d)];
  hn::Store(x, d, values);
  hn::Store(y, d, divisors);
  for (size_t i = 0; i < hn::Lanes(d); ++i) values[i] = std::fmod(values[i], divisors[i]);
  return hn::Load(d, values);
}

}  // namespace bnns::impl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // OPENBNNS_MATH_POWER_INL_H_
