// Element losses of images: loss(y, t), its derivative by_y and its derivative by_t. A term whose
// label factor is 0 counts as 0; NaN goes through, also where a comparison decides.

#if defined(OPENBNNS_OPS_LOSS_IMAGE_FUNCTIONS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef OPENBNNS_OPS_LOSS_IMAGE_FUNCTIONS_INL_H_
#undef OPENBNNS_OPS_LOSS_IMAGE_FUNCTIONS_INL_H_
#else
#define OPENBNNS_OPS_LOSS_IMAGE_FUNCTIONS_INL_H_
#endif

#include "hwy/highway.h"

#include "core/image_kernels.h"
#include "math/log-inl.h"
#include "ops/loss/functions-inl.h"

HWY_BEFORE_NAMESPACE();
namespace bnns::impl::HWY_NAMESPACE {
namespace images {

namespace hn = hwy::HWY_NAMESPACE;
using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;
using Constants = ImageLossConstants;

// factor * value, and 0 for a factor of 0 whatever the value is.
HWY_INLINE V Term(V factor, V value) {
  return hn::IfThenZeroElse(hn::Eq(factor, hn::Zero(D())), hn::Mul(factor, value));
}
// value / divisor in the same way.
HWY_INLINE V Quotient(V value, V divisor) {
  return hn::IfThenZeroElse(hn::Eq(value, hn::Zero(D())), hn::Div(value, divisor));
}
// v if m > 0, 0 if m <= 0, NaN if m is.
HWY_INLINE V WherePositive(V m, V v) {
  const V zero = hn::Zero(D());
  return hn::IfThenZeroElse(hn::Le(m, zero), hn::IfThenElse(hn::Gt(m, zero), v, m));
}
HWY_INLINE V Sign(V v) {
  const V zero = hn::Zero(D()), one = hn::Set(D(), 1.0f);
  const V not_above = hn::IfThenElse(hn::Lt(v, zero), hn::Neg(one), v);
  return hn::IfThenElse(hn::Gt(v, zero), one, not_above);
}
HWY_INLINE V Smoothed(V t, const Constants& k) {
  return hn::MulAdd(t, hn::Set(D(), k.keep), hn::Set(D(), k.added));
}

struct AbsoluteError {
  static HWY_INLINE V loss(V y, V t, const Constants&) { return hn::Abs(hn::Sub(y, t)); }
  static HWY_INLINE V by_y(V y, V t, const Constants&) { return Sign(hn::Sub(y, t)); }
  static HWY_INLINE V by_t(V y, V t, const Constants&) { return Sign(hn::Sub(t, y)); }
};

// The formulas that the losses of loss.h have too.
template <class F>
struct Shared {
  static HWY_INLINE LossCoefficients of(const Constants& k) {
    return {.keep = k.keep, .added = k.added, .delta = k.delta};
  }
  static HWY_INLINE V loss(V y, V t, const Constants& k) { return F::at(y, t, of(k)).loss; }
  static HWY_INLINE V by_y(V y, V t, const Constants& k) { return F::at(y, t, of(k)).gradient; }
  static HWY_INLINE V by_t(V y, V t, const Constants& k) { return hn::Neg(by_y(y, t, k)); }
};
using SquaredError = Shared<losses::SquareError>;
using Huber = Shared<losses::Huber>;

struct SigmoidCrossEntropy : Shared<losses::SigmoidCrossEntropy> {
  static HWY_INLINE V by_t(V y, V, const Constants& k) { return hn::Mul(y, hn::Set(D(), -k.keep)); }
};

struct CategoricalCrossEntropy {
  static HWY_INLINE V loss(V y, V t, const Constants&) { return hn::Neg(Term(t, Log(D(), y))); }
  static HWY_INLINE V by_y(V y, V t, const Constants&) { return hn::Neg(Quotient(t, y)); }
  static HWY_INLINE V by_t(V y, V, const Constants&) { return hn::Neg(Log(D(), y)); }
};

struct Hinge {
  // 1 - 2t
  static HWY_INLINE V slope(V t) { return hn::Sub(hn::Set(D(), 1.0f), hn::Add(t, t)); }
  static HWY_INLINE V margin(V y, V t) { return hn::MulAdd(slope(t), y, hn::Set(D(), 1.0f)); }
  static HWY_INLINE V loss(V y, V t, const Constants&) {
    const V m = margin(y, t);
    return WherePositive(m, m);
  }
  static HWY_INLINE V by_y(V y, V t, const Constants&) {
    return WherePositive(margin(y, t), slope(t));
  }
  static HWY_INLINE V by_t(V y, V t, const Constants&) {
    return WherePositive(margin(y, t), hn::Mul(y, hn::Set(D(), -2.0f)));
  }
};

// Outside of delta the printed gradient has no sign.
struct PrintedHuber {
  static HWY_INLINE V by_y(V y, V t, const Constants& k) {
    const V delta = hn::Set(D(), k.delta);
    return hn::IfThenElse(hn::Lt(hn::Sub(y, t), hn::Neg(delta)), delta, Huber::by_y(y, t, k));
  }
};

// The loss of an image is 1 plus the sum of these.
struct CosineDistance {
  static HWY_INLINE V loss(V y, V t, const Constants&) { return hn::Mul(hn::Neg(y), t); }
  static HWY_INLINE V by_y(V, V t, const Constants&) { return hn::Neg(t); }
  static HWY_INLINE V by_t(V y, V, const Constants&) { return hn::Neg(y); }
};

struct LogLoss {
  static HWY_INLINE V above_zero(V y, const Constants& k) {
    return hn::Add(y, hn::Set(D(), k.epsilon));
  }
  static HWY_INLINE V below_one(V y, const Constants& k) {
    return hn::Add(hn::Sub(hn::Set(D(), 1.0f), y), hn::Set(D(), k.epsilon));
  }
  static HWY_INLINE V rest(V t) { return hn::Sub(hn::Set(D(), 1.0f), t); }
  static HWY_INLINE V loss(V y, V t, const Constants& k) {
    return hn::Neg(
        hn::Add(Term(t, Log(D(), above_zero(y, k))), Term(rest(t), Log(D(), below_one(y, k)))));
  }
  static HWY_INLINE V by_y(V y, V t, const Constants& k) {
    return hn::Sub(Quotient(rest(t), below_one(y, k)), Quotient(t, above_zero(y, k)));
  }
  static HWY_INLINE V by_t(V y, V, const Constants& k) {
    return hn::Sub(Log(D(), below_one(y, k)), Log(D(), above_zero(y, k)));
  }
};

struct KullbackLeibler {
  static HWY_INLINE V loss(V y, V t, const Constants&) { return Term(t, hn::Sub(Log(D(), t), y)); }
  static HWY_INLINE V by_y(V, V t, const Constants&) { return hn::Neg(t); }
  static HWY_INLINE V by_t(V y, V t, const Constants&) {
    return hn::Add(hn::Sub(Log(D(), t), y), hn::Set(D(), 1.0f));
  }
};

// The printed gradient is that of the categorical cross entropy.
struct PrintedKullbackLeibler {
  static HWY_INLINE V by_y(V y, V t, const Constants&) { return hn::Neg(Quotient(t, y)); }
};

}  // namespace images
}  // namespace bnns::impl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
