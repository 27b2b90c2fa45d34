// Sin, Cos, Tan, Asin, Acos and Atan on float vectors, computed in double.
//
// x = q pi/2 + r with |r| <= pi/4; q modulo 4 selects sin or cos of r and the sign. Up to 2^20 the
// product q pi/2 is subtracted in three parts whose products are exact; larger arguments are
// reduced lane by lane (math/reduce_angle.h).
//   asin x = atan(x / sqrt((1 - x)(1 + x)))     acos x = 2 atan(sqrt((1 - x) / (1 + x)))
// without cancellation, and with the right ends: beyond +-1 the root is NaN.

#if defined(OPENBNNS_MATH_TRIGONOMETRIC_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef OPENBNNS_MATH_TRIGONOMETRIC_INL_H_
#undef OPENBNNS_MATH_TRIGONOMETRIC_INL_H_
#else
#define OPENBNNS_MATH_TRIGONOMETRIC_INL_H_
#endif

#include <hwy/highway.h>

#include "math/double-inl.h"
#include "math/reduce_angle.h"

HWY_BEFORE_NAMESPACE();
namespace bnns::impl::HWY_NAMESPACE {

inline constexpr float kLargeAngle = 0x1p20f;

// x = (quarter + k) pi/2 + r, with k and r found by SinCosD.
template <class V>
struct Angle {
  V x, quarter;
};

template <class D, class V>
HWY_INLINE Angle<V> ReduceLargeAngles(D d, V x) {
  const V inf = hn::Set(d, std::numeric_limits<float>::infinity());
  const auto large = hn::And(hn::Ge(hn::Abs(x), hn::Set(d, kLargeAngle)), hn::Lt(hn::Abs(x), inf));
  if (HWY_LIKELY(hn::AllFalse(d, large))) return {.x = x, .quarter = hn::Zero(d)};
  HWY_ALIGN float values[hn::MaxLanes(d)], quarters[hn::MaxLanes(d)];
  hn::Store(x, d, values);
  for (size_t i = 0; i < hn::Lanes(d); ++i) {
    const float a = values[i] < 0 ? -values[i] : values[i];
    quarters[i] = 0;
    if (!(a >= kLargeAngle && a <= std::numeric_limits<float>::max())) continue;
    const ReducedAngle reduced = reduce_large_angle(values[i]);
    values[i] = reduced.r;
    quarters[i] = static_cast<float>(reduced.quarter);
  }
  return {.x = hn::Load(d, values), .quarter = hn::Load(d, quarters)};
}

// sin and cos of r, and the bits of the quarter of the circle.
template <class D>
struct SinCos {
  hn::Vec<D> sine, cosine;
  hn::Vec<hn::RebindToUnsigned<D>> quarter;

  HWY_INLINE SinCos(D d, hn::Vec<D> x, hn::Vec<D> added) {
    using V = hn::Vec<D>;
    const hn::RebindToUnsigned<D> du;
    const V rounder = hn::Set(d, kRounderD);
    const V biased = hn::MulAdd(x, hn::Set(d, 0.63661977236758134308), rounder);
    const V k = hn::Sub(biased, rounder);
    const V r1 = hn::NegMulAdd(k, hn::Set(d, 0x1.921fb544p+0), x);
    const V r2 = hn::NegMulAdd(k, hn::Set(d, 0x1.0b4611a6p-34), r1);
    const V r = hn::NegMulAdd(k, hn::Set(d, 0x1.3198a2e037073p-69), r2);
    const V z = hn::Mul(r, r);
    sine = hn::Mul(
        r, PolynomialD(d, z, 1.0, -0.16666666666616423, 0.0083333333238383364,
                       -0.00019841263277750154, 2.7555267593980435e-06, -2.4756249185235514e-08));
    cosine =
        PolynomialD(d, z, 1.0, -0.49999999999999245, 0.041666666666471279, -0.0013888888869899032,
                    2.4801578510918645e-05, -2.7555229505519919e-07, 2.0630196367075749e-09);
    quarter = hn::BitCast(du, hn::Add(biased, added));
  }

  // Whether the bit of the quarter plus `offset` is set.
  HWY_INLINE auto bit(D d, uint64_t mask, uint64_t offset) const {
    const hn::RebindToUnsigned<D> du;
    const auto sum = hn::Add(quarter, hn::Set(du, offset));
    return hn::MaskFromVec(
        hn::BitCast(d, hn::VecFromMask(du, hn::Ne(hn::And(sum, hn::Set(du, mask)), hn::Zero(du)))));
  }
};

// sin(x + kOffset pi/2)
template <int kOffset>
struct SineD {
  template <class D, class V>
  static HWY_INLINE V of(D d, V x, V quarter) {
    const SinCos<D> c(d, x, quarter);
    const V y = hn::IfThenElse(c.bit(d, 1, kOffset), c.cosine, c.sine);
    return hn::IfThenElse(c.bit(d, 2, kOffset), hn::Neg(y), y);
  }
};

struct TanD {
  template <class D, class V>
  static HWY_INLINE V of(D d, V x, V quarter) {
    const SinCos<D> c(d, x, quarter);
    const auto odd = c.bit(d, 1, 0);
    return hn::Div(hn::IfThenElse(odd, hn::Neg(c.cosine), c.sine),
                   hn::IfThenElse(odd, c.sine, c.cosine));
  }
};

template <class D, class V>
HWY_INLINE V Sin(D d, V x) {
  const Angle<V> angle = ReduceLargeAngles(d, x);
  return ThroughDouble<SineD<0>>(d, angle.x, angle.quarter);
}
template <class D, class V>
HWY_INLINE V Cos(D d, V x) {
  const Angle<V> angle = ReduceLargeAngles(d, x);
  return ThroughDouble<SineD<1>>(d, angle.x, angle.quarter);
}
template <class D, class V>
HWY_INLINE V Tan(D d, V x) {
  const Angle<V> angle = ReduceLargeAngles(d, x);
  return ThroughDouble<TanD>(d, angle.x, angle.quarter);
}

struct AtanOfD {
  template <class D, class V>
  static HWY_INLINE V of(D d, V x) {
    return AtanD(d, x);
  }
};
struct AsinD {
  template <class D, class V>
  static HWY_INLINE V of(D d, V x) {
    const V one = hn::Set(d, 1.0);
    return AtanD(d, hn::Div(x, hn::Sqrt(hn::Mul(hn::Sub(one, x), hn::Add(one, x)))));
  }
};
struct AcosD {
  template <class D, class V>
  static HWY_INLINE V of(D d, V x) {
    const V one = hn::Set(d, 1.0);
    const V half = AtanD(d, hn::Sqrt(hn::Div(hn::Sub(one, x), hn::Add(one, x))));
    return hn::Add(half, half);
  }
};

template <class D, class V>
HWY_INLINE V Atan(D d, V x) {
  return ThroughDouble<AtanOfD>(d, x);
}
template <class D, class V>
HWY_INLINE V Asin(D d, V x) {
  return ThroughDouble<AsinD>(d, x);
}
template <class D, class V>
HWY_INLINE V Acos(D d, V x) {
  return ThroughDouble<AcosD>(d, x);
}

}  // namespace bnns::impl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // OPENBNNS_MATH_TRIGONOMETRIC_INL_H_
