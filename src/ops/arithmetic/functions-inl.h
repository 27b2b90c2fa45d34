// The arithmetic functions: forward of one, two or three inputs, and the gradients by each input
// with g, the gradient of the result. Unary functions whose slope follows from the result have
// from_result. Gradients that are 0 are not a product with g, so that an infinite g makes no NaN.

#if defined(OPENBNNS_OPS_ARITHMETIC_FUNCTIONS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef OPENBNNS_OPS_ARITHMETIC_FUNCTIONS_INL_H_
#undef OPENBNNS_OPS_ARITHMETIC_FUNCTIONS_INL_H_
#else
#define OPENBNNS_OPS_ARITHMETIC_FUNCTIONS_INL_H_
#endif

#include "hwy/highway.h"
#include "math/erf-inl.h"
#include "math/exp-inl.h"
#include "math/hyperbolic-inl.h"
#include "math/log-inl.h"
#include "math/power-inl.h"
#include "math/sigmoid-inl.h"
#include "math/trigonometric-inl.h"

HWY_BEFORE_NAMESPACE();
namespace bnns::impl::HWY_NAMESPACE {
namespace arithmetic {

namespace hn = hwy::HWY_NAMESPACE;
using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;

HWY_INLINE V Value(float value) {
  return hn::Set(D(), value);
}
HWY_INLINE V One() {
  return Value(1.0f);
}
HWY_INLINE V None() {
  return hn::Zero(D());
}

// ---- One input ----

struct NoSlope {
  static HWY_INLINE V from_input(V, V) { return None(); }
};

// A function with from_result; from the input it computes the result first.
template <class F>
struct ByResult : F {
  static HWY_INLINE V from_input(V x, V g) { return F::from_result(F::forward(x), g); }
};

struct SquareRootOf {
  static HWY_INLINE V forward(V x) { return hn::Sqrt(x); }
  static HWY_INLINE V from_result(V y, V g) { return hn::Div(hn::Mul(Value(0.5f), g), y); }
};
struct ReciprocalSquareRootOf {
  static HWY_INLINE V forward(V x) { return hn::Div(One(), hn::Sqrt(x)); }
  static HWY_INLINE V from_result(V y, V g) {
    return hn::Mul(hn::Mul(Value(-0.5f), g), hn::Mul(y, hn::Mul(y, y)));
  }
};
struct TanhOf {
  static HWY_INLINE V forward(V x) { return Tanh(D(), x); }
  static HWY_INLINE V from_result(V y, V g) {
    return hn::Mul(g, hn::Mul(hn::Sub(One(), y), hn::Add(One(), y)));
  }
};
struct ExpOf {
  static HWY_INLINE V forward(V x) { return Exp(D(), x); }
  static HWY_INLINE V from_result(V y, V g) { return hn::Mul(g, y); }
};
struct Exp2Of {
  static HWY_INLINE V forward(V x) { return Exp2(D(), x); }
  static HWY_INLINE V from_result(V y, V g) { return hn::Mul(g, hn::Mul(y, Value(0.693147181f))); }
};
struct ReciprocalOf {
  static HWY_INLINE V forward(V x) { return hn::Div(One(), x); }
  static HWY_INLINE V from_result(V y, V g) { return hn::Mul(hn::Neg(g), hn::Mul(y, y)); }
};
using SquareRoot = ByResult<SquareRootOf>;
using ReciprocalSquareRoot = ByResult<ReciprocalSquareRootOf>;
using TanhFunction = ByResult<TanhOf>;
using ExpFunction = ByResult<ExpOf>;
using Exp2Function = ByResult<Exp2Of>;
using Reciprocal = ByResult<ReciprocalOf>;

// The sign is set because Highway's scalar target rounds to +0 where -0 is right.
struct Ceil : NoSlope {
  static HWY_INLINE V forward(V x) { return hn::CopySign(hn::Ceil(x), x); }
};
struct Floor : NoSlope {
  static HWY_INLINE V forward(V x) { return hn::CopySign(hn::Floor(x), x); }
};
struct Round : NoSlope {  // ties to even
  static HWY_INLINE V forward(V x) { return hn::CopySign(hn::Round(x), x); }
};
struct Sign : NoSlope {  // zeros and NaN are kept
  static HWY_INLINE V forward(V x) {
    const auto other = hn::Gt(hn::Abs(x), None());
    return hn::IfThenElse(other, hn::CopySign(One(), x), x);
  }
};

struct SinFunction {
  static HWY_INLINE V forward(V x) { return Sin(D(), x); }
  static HWY_INLINE V from_input(V x, V g) { return hn::Mul(g, Cos(D(), x)); }
};
struct CosFunction {
  static HWY_INLINE V forward(V x) { return Cos(D(), x); }
  static HWY_INLINE V from_input(V x, V g) { return hn::Mul(hn::Neg(g), Sin(D(), x)); }
};
struct TanFunction {
  static HWY_INLINE V forward(V x) { return Tan(D(), x); }
  static HWY_INLINE V from_input(V x, V g) {
    const V t = forward(x);
    return hn::Mul(g, hn::MulAdd(t, t, One()));
  }
};
// (1 - x)(1 + x), without the cancellation in 1 - x^2
HWY_INLINE V OneMinusSquare(V x) {
  return hn::Mul(hn::Sub(One(), x), hn::Add(One(), x));
}
struct AsinFunction {
  static HWY_INLINE V forward(V x) { return Asin(D(), x); }
  static HWY_INLINE V from_input(V x, V g) { return hn::Div(g, hn::Sqrt(OneMinusSquare(x))); }
};
struct AcosFunction {
  static HWY_INLINE V forward(V x) { return Acos(D(), x); }
  static HWY_INLINE V from_input(V x, V g) { return hn::Neg(AsinFunction::from_input(x, g)); }
};
struct AtanFunction {
  static HWY_INLINE V forward(V x) { return Atan(D(), x); }
  // Beyond 2^20 the 1 does not count, and the square might overflow.
  static HWY_INLINE V from_input(V x, V g) {
    const V far = hn::Div(hn::Div(g, x), x);
    return hn::IfThenElse(hn::Gt(hn::Abs(x), Value(0x1p20f)), far,
                          hn::Div(g, hn::MulAdd(x, x, One())));
  }
};
struct SinhFunction {
  static HWY_INLINE V forward(V x) { return Sinh(D(), x); }
  static HWY_INLINE V from_input(V x, V g) { return hn::Mul(g, Cosh(D(), x)); }
};
struct CoshFunction {
  static HWY_INLINE V forward(V x) { return Cosh(D(), x); }
  static HWY_INLINE V from_input(V x, V g) { return hn::Mul(g, Sinh(D(), x)); }
};
struct AsinhFunction {
  static HWY_INLINE V forward(V x) { return Asinh(D(), x); }
  // Beyond 2^20 the root is |x|, of which the square might overflow.
  static HWY_INLINE V from_input(V x, V g) {
    const V a = hn::Abs(x);
    const V root = hn::Sqrt(hn::MulAdd(a, a, One()));
    return hn::Div(g, hn::IfThenElse(hn::Gt(a, Value(0x1p20f)), a, root));
  }
};
struct AcoshFunction {
  static HWY_INLINE V forward(V x) { return Acosh(D(), x); }
  static HWY_INLINE V from_input(V x, V g) {
    const V root = hn::Mul(hn::Sqrt(hn::Sub(x, One())), hn::Sqrt(hn::Add(x, One())));
    return hn::Div(g, root);
  }
};
struct AtanhFunction {
  static HWY_INLINE V forward(V x) { return Atanh(D(), x); }
  static HWY_INLINE V from_input(V x, V g) { return hn::Div(g, OneMinusSquare(x)); }
};
struct LogFunction {
  static HWY_INLINE V forward(V x) { return Log(D(), x); }
  static HWY_INLINE V from_input(V x, V g) { return hn::Div(g, x); }
};
struct Log2Function {
  static HWY_INLINE V forward(V x) { return Log2(D(), x); }
  static HWY_INLINE V from_input(V x, V g) { return hn::Div(hn::Mul(g, Value(1.44269504f)), x); }
};
struct AbsFunction {
  static HWY_INLINE V forward(V x) { return hn::Abs(x); }
  static HWY_INLINE V from_input(V x, V g) {
    const V turned = hn::IfThenElse(hn::Lt(x, None()), hn::Neg(g), g);
    return hn::IfThenZeroElse(hn::Eq(x, None()), turned);
  }
};
struct Negate {
  static HWY_INLINE V forward(V x) { return hn::Neg(x); }
  static HWY_INLINE V from_input(V, V g) { return hn::Neg(g); }
};
struct Square {
  static HWY_INLINE V forward(V x) { return hn::Mul(x, x); }
  static HWY_INLINE V from_input(V x, V g) { return hn::Mul(hn::Add(g, g), x); }
};
struct ErfFunction {
  static HWY_INLINE V forward(V x) { return Erf(D(), x); }
  static HWY_INLINE V from_input(V x, V g) {
    const V e = ExpNonPositive(D(), hn::Neg(hn::Mul(x, x)));
    return hn::Mul(g, hn::Mul(Value(1.12837916709551257390f), e));  // 2 / sqrt(pi)
  }
};

// ---- Two inputs ----

struct Add {
  static HWY_INLINE V forward(V a, V b) { return hn::Add(a, b); }
};
struct Subtract {
  static HWY_INLINE V forward(V a, V b) { return hn::Sub(a, b); }
  static HWY_INLINE V second(V, V, V g) { return hn::Neg(g); }
};
struct Multiply {
  static HWY_INLINE V forward(V a, V b) { return hn::Mul(a, b); }
  static HWY_INLINE V first(V, V b, V g) { return hn::Mul(g, b); }
  static HWY_INLINE V second(V a, V, V g) { return hn::Mul(g, a); }
};
struct Divide {
  static HWY_INLINE V forward(V a, V b) { return hn::Div(a, b); }
  static HWY_INLINE V first(V, V b, V g) { return hn::Div(g, b); }
  static HWY_INLINE V second(V a, V b, V g) {
    return hn::Mul(hn::Neg(hn::Div(g, b)), hn::Div(a, b));
  }
};
// F where b is not 0, else 0.
template <class F>
struct ZeroWhereSecondIsZero {
  static HWY_INLINE V unless_zero(V b, V value) {
    return hn::IfThenZeroElse(hn::Eq(b, None()), value);
  }
  static HWY_INLINE V forward(V a, V b) { return unless_zero(b, F::forward(a, b)); }
  static HWY_INLINE V first(V a, V b, V g) { return unless_zero(b, F::first(a, b, g)); }
  static HWY_INLINE V second(V a, V b, V g) { return unless_zero(b, F::second(a, b, g)); }
};
using MultiplyNoNaN = ZeroWhereSecondIsZero<Multiply>;
using DivideNoNaN = ZeroWhereSecondIsZero<Divide>;

struct PowFunction {
  static HWY_INLINE V forward(V a, V b) { return Pow(D(), a, b); }
  static HWY_INLINE V first(V a, V b, V g) { return PowGradientOfBase(D(), a, b, g); }
  static HWY_INLINE V second(V a, V b, V g) { return PowGradientOfExponent(D(), a, b, g); }
};
// NaN wins; ties go to the first input.
struct Minimum {
  static HWY_INLINE auto takes_first(V a, V b) { return hn::Or(hn::Le(a, b), hn::IsNaN(a)); }
  static HWY_INLINE V forward(V a, V b) { return hn::IfThenElse(takes_first(a, b), a, b); }
  static HWY_INLINE V first(V a, V b, V g) { return hn::IfThenElseZero(takes_first(a, b), g); }
  static HWY_INLINE V second(V a, V b, V g) { return hn::IfThenZeroElse(takes_first(a, b), g); }
};
struct Maximum {
  static HWY_INLINE auto takes_first(V a, V b) { return hn::Or(hn::Ge(a, b), hn::IsNaN(a)); }
  static HWY_INLINE V forward(V a, V b) { return hn::IfThenElse(takes_first(a, b), a, b); }
  static HWY_INLINE V first(V a, V b, V g) { return hn::IfThenElseZero(takes_first(a, b), g); }
  static HWY_INLINE V second(V a, V b, V g) { return hn::IfThenZeroElse(takes_first(a, b), g); }
};
struct FloorDivide {
  static HWY_INLINE V forward(V a, V b) { return FloorQuotient(D(), a, b); }
};
struct TruncDivide {
  static HWY_INLINE V forward(V a, V b) { return TruncQuotient(D(), a, b); }
};
struct TruncRemainder {
  static HWY_INLINE V forward(V a, V b) { return Remainder(D(), a, b); }
  static HWY_INLINE V second(V a, V b, V g) {
    return hn::Mul(hn::Neg(g), TruncQuotient(D(), a, b));
  }
};

// ---- Three inputs ----

struct MultiplyAddFunction {
  static HWY_INLINE V forward(V a, V b, V c) { return hn::MulAdd(a, b, c); }
};
struct Select {
  static HWY_INLINE V forward(V a, V b, V c) { return hn::IfThenElse(hn::Eq(a, None()), c, b); }
  static HWY_INLINE V of_true(V a, V g) { return hn::IfThenZeroElse(hn::Eq(a, None()), g); }
  static HWY_INLINE V of_false(V a, V g) { return hn::IfThenElseZero(hn::Eq(a, None()), g); }
};

}  // namespace arithmetic
}  // namespace bnns::impl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
