// The element-wise activation functions: y = forward(x), and dx from dy with either the forward
// input x (`from_input`) or the forward output y (`from_output`). a and b are alpha and beta.
// Gradients select dy or 0 instead of multiplying by a slope of 1 or 0, so that an infinite dy
// cannot make a NaN where the slope is 0. Comparisons are written so that NaN passes through.

#if defined(OPENBNNS_OPS_ACTIVATION_FUNCTIONS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef OPENBNNS_OPS_ACTIVATION_FUNCTIONS_INL_H_
#undef OPENBNNS_OPS_ACTIVATION_FUNCTIONS_INL_H_
#else
#define OPENBNNS_OPS_ACTIVATION_FUNCTIONS_INL_H_
#endif

#include "hwy/highway.h"
#include "math/erf-inl.h"
#include "math/exp-inl.h"
#include "math/log-inl.h"
#include "math/sigmoid-inl.h"
#include "ops/activation/activation.h"

HWY_BEFORE_NAMESPACE();
namespace bnns::impl::HWY_NAMESPACE {
namespace activations {

namespace hn = hwy::HWY_NAMESPACE;
using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;
using P = ActivationCoefficients;

HWY_INLINE V Set(float value) {
  return hn::Set(D(), value);
}
HWY_INLINE V Zero() {
  return hn::Zero(D());
}
HWY_INLINE V Alpha(const P& p) {
  return Set(p.alpha);
}
HWY_INLINE V Beta(const P& p) {
  return Set(p.beta);
}
// e^-|x|
HWY_INLINE V ExpMinusAbs(V x) {
  return ExpNonPositive(D(), hn::Neg(hn::Abs(x)));
}
// s(x) (1 - s(x)), without the cancellation in 1 - s
HWY_INLINE V SigmoidSlope(V x) {
  const V e = ExpMinusAbs(x);
  const V r = hn::Div(Set(1), hn::Add(Set(1), e));
  return hn::Mul(e, hn::Mul(r, r));
}
// s(x) + t s(x) (1 - s(x)) from one exponential and one quotient
HWY_INLINE V SigmoidPlusSlope(V x, V t) {
  const V e = ExpMinusAbs(x);
  const V r = hn::Div(Set(1), hn::Add(Set(1), e));
  const V er = hn::Mul(e, r);
  return hn::MulAdd(hn::Mul(t, er), r, hn::IfThenElse(hn::Lt(x, Zero()), er, r));
}
// 1 - tanh^2 x, without cancellation
HWY_INLINE V TanhSlope(V x) {
  return hn::Mul(Set(4), SigmoidSlope(hn::Add(x, x)));
}

// Far from 0 slopes are constant; clamping x there avoids 0 * infinity. NaN passes through.
HWY_INLINE V Bounded(V x) {
  return AtLeast(D(), AtMost(D(), x, 1e9f), -1e9f);
}

struct Identity {
  static HWY_INLINE V forward(V x, const P&) { return x; }
  static HWY_INLINE V from_input(V, V dy, const P&) { return dy; }
  static HWY_INLINE V from_output(V, V dy, const P&) { return dy; }
};

struct RectifiedLinear {
  static HWY_INLINE V forward(V x, const P&) { return hn::IfThenZeroElse(hn::Lt(x, Zero()), x); }
  static HWY_INLINE V from_input(V x, V dy, const P&) {
    return hn::IfThenElseZero(hn::Gt(x, Zero()), dy);
  }
  static HWY_INLINE V from_output(V y, V dy, const P& p) { return from_input(y, dy, p); }
};

struct LeakyRectifiedLinear {
  static HWY_INLINE V forward(V x, const P& p) {
    return hn::IfThenElse(hn::Lt(x, Zero()), hn::Mul(Alpha(p), x), x);
  }
  static HWY_INLINE V from_input(V x, V dy, const P& p) {
    return hn::IfThenElse(hn::Lt(x, Zero()), hn::Mul(Alpha(p), dy), dy);
  }
  static HWY_INLINE V from_output(V y, V dy, const P& p) { return from_input(y, dy, p); }
};

struct SigmoidFunction {
  static HWY_INLINE V forward(V x, const P&) { return Sigmoid(D(), x); }
  static HWY_INLINE V from_input(V x, V dy, const P&) { return hn::Mul(dy, SigmoidSlope(x)); }
  static HWY_INLINE V from_output(V y, V dy, const P&) {
    return hn::Mul(dy, hn::Mul(y, hn::Sub(Set(1), y)));
  }
};

struct TanhFunction {
  static HWY_INLINE V forward(V x, const P&) { return Tanh(D(), x); }
  static HWY_INLINE V from_input(V x, V dy, const P&) { return hn::Mul(dy, TanhSlope(x)); }
  static HWY_INLINE V from_output(V y, V dy, const P&) {
    return hn::Mul(dy, hn::Mul(hn::Sub(Set(1), y), hn::Add(Set(1), y)));
  }
};

struct ScaledTanh {
  static HWY_INLINE V forward(V x, const P& p) {
    return hn::Mul(Alpha(p), Tanh(D(), hn::Mul(Beta(p), x)));
  }
  static HWY_INLINE V from_input(V x, V dy, const P& p) {
    return hn::Mul(hn::Mul(dy, Set(p.alpha * p.beta)), TanhSlope(hn::Mul(Beta(p), x)));
  }
  static HWY_INLINE V from_output(V y, V dy, const P& p) {
    return hn::Mul(hn::Mul(dy, Beta(p)), hn::Sub(Alpha(p), hn::Div(hn::Mul(y, y), Alpha(p))));
  }
};

struct AbsFunction {
  static HWY_INLINE V forward(V x, const P&) { return hn::Abs(x); }
  static HWY_INLINE V from_input(V x, V dy, const P&) {
    const V sided = hn::IfThenElse(hn::Lt(x, Zero()), hn::Neg(dy), dy);
    return hn::IfThenZeroElse(hn::Eq(x, Zero()), sided);
  }
};

struct Linear {
  static HWY_INLINE V forward(V x, const P& p) { return hn::Mul(Alpha(p), x); }
  static HWY_INLINE V from_input(V, V dy, const P& p) { return hn::Mul(Alpha(p), dy); }
  static HWY_INLINE V from_output(V, V dy, const P& p) { return hn::Mul(Alpha(p), dy); }
};

struct LinearWithBias : Linear {
  static HWY_INLINE V forward(V x, const P& p) { return hn::MulAdd(Alpha(p), x, Beta(p)); }
};

// dy where low < v < high, else 0.
HWY_INLINE V Between(V v, float low, float high, V dy) {
  return hn::IfThenElseZero(hn::And(hn::Gt(v, Set(low)), hn::Lt(v, Set(high))), dy);
}

struct Clamp {
  static HWY_INLINE V forward(V x, const P& p) {
    const V low = hn::IfThenElse(hn::Lt(x, Alpha(p)), Alpha(p), x);
    return hn::IfThenElse(hn::Gt(low, Beta(p)), Beta(p), low);
  }
  static HWY_INLINE V from_input(V x, V dy, const P& p) { return Between(x, p.alpha, p.beta, dy); }
  static HWY_INLINE V from_output(V y, V dy, const P& p) { return from_input(y, dy, p); }
};

struct Relu6 {
  static HWY_INLINE V forward(V x, const P&) { return Clamp::forward(x, {.alpha = 0, .beta = 6}); }
  static HWY_INLINE V from_input(V x, V dy, const P&) { return Between(x, 0, 6, dy); }
  static HWY_INLINE V from_output(V y, V dy, const P&) { return Between(y, 0, 6, dy); }
};

struct HardSigmoid {
  static HWY_INLINE V inner(V x, const P& p) { return hn::MulAdd(Alpha(p), x, Beta(p)); }
  static HWY_INLINE V forward(V x, const P& p) {
    return Clamp::forward(inner(x, p), {.alpha = 0, .beta = 1});
  }
  static HWY_INLINE V from_input(V x, V dy, const P& p) {
    return Between(inner(x, p), 0, 1, hn::Mul(Alpha(p), dy));
  }
  static HWY_INLINE V from_output(V y, V dy, const P& p) {
    return Between(y, 0, 1, hn::Mul(Alpha(p), dy));
  }
};

// (1 + tanh u) / 2 is computed as s(2u), which is accurate where tanh u is close to -1.
struct GeluApproximation {
  static HWY_INLINE V twice_u(V x, const P& p) {
    const V cubic = hn::MulAdd(hn::Mul(Beta(p), hn::Mul(x, x)), x, x);
    return hn::Mul(Set(2 * p.alpha), cubic);
  }
  static HWY_INLINE V forward(V x, const P& p) { return hn::Mul(x, Sigmoid(D(), twice_u(x, p))); }
  static HWY_INLINE V from_input(V given, V dy, const P& p) {
    const V x = Bounded(given);
    const V u2 = twice_u(x, p);
    const V slope_u2 =
        hn::Mul(Set(2 * p.alpha), hn::MulAdd(Set(3 * p.beta), hn::Mul(x, x), Set(1)));
    return hn::Mul(dy, SigmoidPlusSlope(u2, hn::Mul(x, slope_u2)));
  }
};

struct SoftplusFunction {
  static HWY_INLINE V forward(V x, const P& p) {
    return hn::Mul(Alpha(p), Softplus(D(), hn::Mul(Beta(p), x)));
  }
  static HWY_INLINE V from_input(V x, V dy, const P& p) {
    return hn::Mul(hn::Mul(dy, Set(p.alpha * p.beta)), Sigmoid(D(), hn::Mul(Beta(p), x)));
  }
  static HWY_INLINE V from_output(V y, V dy, const P& p) {
    const V e = Expm1(D(), hn::Neg(hn::Div(y, Alpha(p))));
    return hn::Mul(hn::Mul(dy, Set(-p.alpha * p.beta)), e);
  }
};

struct Softsign {
  static HWY_INLINE V forward(V x, const P&) { return hn::Div(x, hn::Add(Set(1), hn::Abs(x))); }
  static HWY_INLINE V from_input(V x, V dy, const P&) {
    const V r = hn::Div(Set(1), hn::Add(Set(1), hn::Abs(x)));
    return hn::Mul(dy, hn::Mul(r, r));
  }
  static HWY_INLINE V from_output(V y, V dy, const P&) {
    const V r = hn::Sub(Set(1), hn::Abs(y));
    return hn::Mul(dy, hn::Mul(r, r));
  }
};

// y = positive * x for x >= 0, else negative * (e^(x * rate) - 1): ELU, SELU and CELU.
template <class Constants>
struct ExponentialLinear {
  static HWY_INLINE V forward(V x, const P& p) {
    const Constants c(p);
    const V below = hn::Mul(Set(c.negative), Expm1(D(), hn::Mul(Set(c.rate), x)));
    return hn::IfThenElse(hn::Lt(x, Zero()), below, hn::Mul(Set(c.positive), x));
  }
  static HWY_INLINE V from_input(V x, V dy, const P& p) {
    const Constants c(p);
    const V below = hn::Mul(Set(c.negative * c.rate), Exp(D(), hn::Mul(Set(c.rate), x)));
    return hn::Mul(dy, hn::IfThenElse(hn::Lt(x, Zero()), below, Set(c.positive)));
  }
  static HWY_INLINE V from_output(V y, V dy, const P& p) {
    const Constants c(p);
    const V below = hn::Mul(Set(c.rate), hn::Add(y, Set(c.negative)));
    return hn::Mul(dy, hn::IfThenElse(hn::Lt(y, Zero()), below, Set(c.positive)));
  }
};
struct EluConstants {
  explicit EluConstants(const P& p) : negative(p.alpha) {}
  float positive = 1, negative, rate = 1;
};
struct SeluConstants {
  explicit SeluConstants(const P&) {}
  float positive = 1.05070098735548049342f;
  float negative = static_cast<float>(1.05070098735548049342 * 1.67326324235437728482);
  float rate = 1;
};
struct CeluConstants {
  explicit CeluConstants(const P& p) : negative(p.alpha), rate(1 / p.alpha) {}
  float positive = 1, negative, rate;
};
using Elu = ExponentialLinear<EluConstants>;
using Selu = ExponentialLinear<SeluConstants>;
using Celu = ExponentialLinear<CeluConstants>;

struct ClampedLeakyRectifiedLinear {
  static HWY_INLINE V forward(V x, const P& p) {
    const V leaky = LeakyRectifiedLinear::forward(x, p);
    return hn::IfThenElse(hn::Gt(leaky, Beta(p)), Beta(p), leaky);
  }
  static HWY_INLINE V from_input(V x, V dy, const P& p) {
    const V leaky = LeakyRectifiedLinear::forward(x, p);
    return hn::IfThenZeroElse(hn::Ge(leaky, Beta(p)), LeakyRectifiedLinear::from_input(x, dy, p));
  }
  static HWY_INLINE V from_output(V y, V dy, const P& p) {
    return hn::IfThenZeroElse(hn::Ge(y, Beta(p)), LeakyRectifiedLinear::from_output(y, dy, p));
  }
};

struct LogSigmoidFunction {
  static HWY_INLINE V forward(V x, const P&) { return LogSigmoid(D(), x); }
  static HWY_INLINE V from_input(V x, V dy, const P&) {
    return hn::Mul(dy, Sigmoid(D(), hn::Neg(x)));
  }
  static HWY_INLINE V from_output(V y, V dy, const P&) {
    return hn::Mul(dy, hn::Neg(Expm1(D(), y)));
  }
};

struct HardShrink {
  static HWY_INLINE auto inside(V x, const P& p) { return hn::Lt(hn::Abs(x), hn::Abs(Alpha(p))); }
  static HWY_INLINE V forward(V x, const P& p) { return hn::IfThenZeroElse(inside(x, p), x); }
  static HWY_INLINE V from_input(V x, V dy, const P& p) {
    return hn::IfThenZeroElse(inside(x, p), dy);
  }
  static HWY_INLINE V from_output(V y, V dy, const P&) {
    return hn::IfThenZeroElse(hn::Eq(y, Zero()), dy);
  }
};

struct SoftShrink : HardShrink {
  static HWY_INLINE V forward(V x, const P& p) {
    const V moved = hn::Sub(x, hn::CopySign(Alpha(p), x));
    return hn::IfThenZeroElse(inside(x, p), moved);
  }
};

// x - tanh x cancels near 0, where the series is used instead.
struct TanhShrink {
  static HWY_INLINE V forward(V x, const P&) {
    const V x2 = hn::Mul(x, x);
    const V series = hn::Mul(hn::Mul(x, x2),
                             Polynomial(D(), x2, 1.0f / 3, -2.0f / 15, 17.0f / 315, -62.0f / 2835));
    const V direct = hn::Sub(x, Tanh(D(), x));
    return hn::IfThenElse(hn::Lt(hn::Abs(x), Set(0.25f)), series, direct);
  }
  static HWY_INLINE V from_input(V x, V dy, const P&) {
    const V t = Tanh(D(), x);
    return hn::Mul(dy, hn::Mul(t, t));
  }
  // Solves x - tanh x = |y| by Newton's method: three steps from these starting points leave 1e-9.
  static HWY_INLINE V from_output(V y, V dy, const P& p) {
    const V target = AtMost(D(), hn::Abs(y), 1e9f);  // the slope is 1 long before that
    const V root = CubeRoot(hn::Mul(Set(3), target));
    V x = hn::IfThenElse(hn::Lt(target, Set(1)), hn::MulAdd(hn::Mul(Set(0.2f), target), root, root),
                         hn::Add(target, Set(1)));
    for (int step = 0; step < 3; ++step) {
      const V t = Tanh(D(), x);
      const V slope = hn::Mul(t, t);
      const V move = hn::Div(hn::Sub(forward(x, p), target), slope);
      x = hn::IfThenElse(hn::Gt(slope, Zero()), hn::Sub(x, move), x);
    }
    const V t = Tanh(D(), x);
    return hn::Mul(dy, hn::Mul(t, t));
  }
  static HWY_INLINE V CubeRoot(V v) {
    const V safe = hn::Max(v, Set(1e-37f));
    const V guess = Exp(D(), hn::Mul(Set(1.0f / 3), Log(D(), safe)));
    return hn::IfThenElseZero(hn::Ge(v, Set(1e-37f)), guess);
  }
};

struct Threshold {
  static HWY_INLINE V forward(V x, const P& p) {
    return hn::IfThenElse(hn::Le(x, Alpha(p)), Beta(p), x);
  }
  static HWY_INLINE V from_input(V x, V dy, const P& p) {
    return hn::IfThenZeroElse(hn::Le(x, Alpha(p)), dy);
  }
  static HWY_INLINE V from_output(V y, V dy, const P& p) {
    return hn::IfThenZeroElse(hn::Eq(y, Beta(p)), dy);
  }
};

struct HardSwish {
  static HWY_INLINE V forward(V x, const P& p) {
    return hn::Mul(x, hn::Mul(Relu6::forward(hn::Add(x, Set(3)), p), Set(1.0f / 6)));
  }
  static HWY_INLINE V from_input(V x, V dy, const P&) {
    const V middle = hn::Mul(dy, hn::MulAdd(x, Set(1.0f / 3), Set(0.5f)));
    const V high = hn::IfThenElse(hn::Gt(x, Set(3)), dy, middle);
    return hn::IfThenZeroElse(hn::Lt(x, Set(-3)), high);
  }
};

// y = x s(k x): SiLU with k = 1, GELUApproximationSigmoid with k = 1.702.
template <int kThousandths>
struct SigmoidWeighted {
  static constexpr float kRate = kThousandths / 1000.0f;
  static HWY_INLINE V slope(V x) {
    const V kx = hn::Mul(Set(kRate), Bounded(x));
    return SigmoidPlusSlope(kx, kx);
  }
  static HWY_INLINE V forward(V x, const P&) {
    return hn::Mul(x, Sigmoid(D(), hn::Mul(Set(kRate), x)));
  }
  static HWY_INLINE V from_input(V x, V dy, const P&) { return hn::Mul(dy, slope(x)); }
};
using Silu = SigmoidWeighted<1000>;

// The function is not injective for y < 0; the branch right of the minimum is taken.
struct GeluApproximationSigmoid : SigmoidWeighted<1702> {
  static constexpr float kArgmin = -0.75115426f;
  static constexpr float kMinimum = -0.16361019f;
  static constexpr float kTwoOverCurvature = 5.3949724f;  // 2 / curvature at the minimum
  // Solves x s(1.702 x) = y by Newton's method. It starts at a parabola through the minimum, or at
  // y + 0.1, so close that four steps leave 1e-12.
  static HWY_INLINE V from_output(V y, V dy, const P& p) {
    const V target = Bounded(y);
    const V above = hn::Max(hn::Sub(target, Set(kMinimum)), Zero());
    const V parabola = hn::Add(Set(kArgmin), hn::Sqrt(hn::Mul(above, Set(kTwoOverCurvature))));
    V x = hn::IfThenElse(hn::Lt(target, Zero()), parabola, hn::Add(target, Set(0.1f)));
    for (int step = 0; step < 4; ++step) {
      const V move = hn::Div(hn::Sub(forward(x, p), target), hn::Max(slope(x), Set(1e-6f)));
      x = hn::Max(hn::Sub(x, move), Set(kArgmin));
    }
    return hn::IfThenElse(hn::IsNaN(y), y, hn::Mul(dy, slope(x)));
  }
};

struct ErfFunction {
  static HWY_INLINE V forward(V x, const P&) { return Erf(D(), x); }
  static HWY_INLINE V from_input(V x, V dy, const P&) {
    const V e = ExpNonPositive(D(), hn::Neg(hn::Mul(x, x)));
    return hn::Mul(dy, hn::Mul(Set(1.12837916709551257390f), e));  // 2 / sqrt(pi)
  }
};

struct GeluFunction {
  static HWY_INLINE V forward(V x, const P&) { return Gelu(D(), x); }
  static HWY_INLINE V from_input(V x, V dy, const P&) { return hn::Mul(dy, GeluSlope(D(), x)); }
};

// x is uniform in (0, 1) here; the op draws it.
struct Gumbel {
  static HWY_INLINE V forward(V u, const P& p) {
    const V inner = hn::Sub(Beta(p), Log(D(), hn::MulAdd(Alpha(p), u, Beta(p))));
    return hn::Neg(Log(D(), inner));
  }
};

}  // namespace activations
}  // namespace bnns::impl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
