// Per-element losses: loss l(x, t) and gradient dl/dx from one evaluation; the compiler drops the
// result that a caller does not use. e = x - t.
//   square error   e^2                                            2 e
//   absolute error |e|                                            +1 if x >= t, else -1
//   Huber          m (|e| - m/2), m = min(|e|, delta)             m with the sign of e
//   hinge          max(0, 1 - v), v = (2t - 1) x                  1 - 2t if v <= 1, else 0
//   sigmoid CE     max(x, 0) - x t + log(1 + e^-|x|)              sigmoid(x) - t
//   log            -t log P - (1 - t) log Q                       (e + eps (1 - 2t)) / (P Q)
//                  with P = x + eps, Q = 1 - x + eps
// NaN in x or t gives NaN in both.

#if defined(OPENBNNS_OPS_LOSS_FUNCTIONS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef OPENBNNS_OPS_LOSS_FUNCTIONS_INL_H_
#undef OPENBNNS_OPS_LOSS_FUNCTIONS_INL_H_
#else
#define OPENBNNS_OPS_LOSS_FUNCTIONS_INL_H_
#endif

#include "hwy/highway.h"

#include "math/log-inl.h"
#include "math/sigmoid-inl.h"
#include "ops/loss/loss.h"

HWY_BEFORE_NAMESPACE();
namespace bnns::impl::HWY_NAMESPACE {
namespace losses {

namespace hn = hwy::HWY_NAMESPACE;
using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;

struct Pair {
  V loss, gradient;
};

struct SquareError {
  static HWY_INLINE Pair at(V x, V t, const LossCoefficients&) {
    const V e = hn::Sub(x, t);
    return {hn::Mul(e, e), hn::Add(e, e)};
  }
};

struct AbsoluteError {
  static HWY_INLINE Pair at(V x, V t, const LossCoefficients&) {
    const D d;
    const V e = hn::Sub(x, t), one = hn::Set(d, 1.0f);
    const V below = hn::IfThenElse(hn::Lt(x, t), hn::Neg(one), e);
    return {hn::Abs(e), hn::IfThenElse(hn::Ge(x, t), one, below)};
  }
};

struct Huber {
  static HWY_INLINE Pair at(V x, V t, const LossCoefficients& p) {
    const D d;
    const V e = hn::Sub(x, t), a = hn::Abs(e);
    const V m = AtMost(d, a, p.delta);
    return {hn::Mul(m, hn::NegMulAdd(m, hn::Set(d, 0.5f), a)), hn::CopySignToAbs(m, e)};
  }
};

struct Hinge {
  static HWY_INLINE Pair at(V x, V t, const LossCoefficients&) {
    const D d;
    const V one = hn::Set(d, 1.0f);
    const V sign = hn::Sub(hn::Add(t, t), one);
    const V v = hn::Mul(sign, x);
    const V inside = hn::IfThenElse(hn::Le(v, one), hn::Neg(sign), v);
    return {AtLeast(d, hn::Sub(one, v), 0.0f), hn::IfThenZeroElse(hn::Gt(v, one), inside)};
  }
};

// One exponential serves the logarithm and the sigmoid. The loss is split into linear + log(1 + e),
// so that a sum of losses needs only the logarithm of a product.
struct SigmoidCrossEntropy {
  struct Parts {
    V linear, e, gradient;
  };
  static HWY_INLINE Parts parts(V x, V label, const LossCoefficients& p) {
    const D d;
    const V zero = hn::Zero(d), one = hn::Set(d, 1.0f);
    const V t = hn::MulAdd(label, hn::Set(d, p.keep), hn::Set(d, p.added));
    const V e = ExpNonPositive(d, hn::Neg(hn::Abs(x)));
    const V sigmoid = hn::Div(hn::IfThenElse(hn::Lt(x, zero), e, one), hn::Add(one, e));
    return {hn::NegMulAdd(x, t, hn::Max(x, zero)), e, hn::Sub(sigmoid, t)};
  }
  static HWY_INLINE Pair at(V x, V label, const LossCoefficients& p) {
    const Parts v = parts(x, label, p);
    return {hn::Add(v.linear, Log1pOfUnit(D(), v.e)), v.gradient};
  }
};

struct LogLoss {
  static constexpr float kEpsilon = 1e-7f;
  static HWY_INLINE Pair at(V x, V t, const LossCoefficients&) {
    const D d;
    const V one = hn::Set(d, 1.0f), epsilon = hn::Set(d, kEpsilon);
    const V rest = hn::Sub(one, t);
    const V p = hn::Add(x, epsilon), q = hn::Add(hn::Sub(one, x), epsilon);
    const V loss = hn::Neg(hn::MulAdd(t, Log(d, p), hn::Mul(rest, Log(d, q))));
    const V slope = hn::MulAdd(hn::Sub(rest, t), epsilon, hn::Sub(x, t));
    return {loss, hn::Div(slope, hn::Mul(p, q))};
  }
};

}  // namespace losses
}  // namespace bnns::impl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
