// The arithmetic functions: y = f(a, b, c), and the derivative by each input, written with the
// inputs and, where the library may compute it so, with y. One row per function in the order of the
// enumeration. Derivatives that are 0 everywhere, and that of Select by its condition, are 0.
#ifndef OPENBNNS_SPEC_ARITHMETIC_FUNCTIONS_H
#define OPENBNNS_SPEC_ARITHMETIC_FUNCTIONS_H

#include <cmath>
#include <vector>

#include "runner/array.h"
#include "runner/case.h"

namespace spec::reference {

template <class T>
struct ArithmeticFormula {
  T (*y)(T a, T b, T c);
  T (*slope[3])(T a, T b, T c);
  T (*from_y)(T y);  // null: needs the inputs
};

template <class T>
T sign_of(T x) {
  return x > T(0) ? T(1) : x < T(0) ? T(-1) : x;
}
template <class T>
T remainder_of(T a, T b) {
  return T(std::fmod(value_of(a), value_of(b)));
}

template <class T>
const ArithmeticFormula<T>& arithmetic_formula(BNNSArithmeticFunction function) {
  using std::abs, std::acos, std::acosh, std::asin, std::asinh, std::atan, std::atanh, std::ceil,
      std::cos, std::cosh, std::erf, std::exp, std::exp2, std::floor, std::log, std::log2, std::pow,
      std::rint, std::sin, std::sinh, std::sqrt, std::tan, std::tanh, std::trunc;
  static const T kLn2 = 0.69314718055994530942, kErfSlope = 1.12837916709551257390;
  constexpr auto zero = [](T, T, T) { return T(0); };
  constexpr auto one = [](T, T, T) { return T(1); };
  constexpr auto first = [](T a, T, T) { return a; };
  constexpr auto second = [](T, T b, T) { return b; };
  static const ArithmeticFormula<T> table[41] = {
      /* Add */ {[](T a, T b, T) { return a + b; }, {one, one}, nullptr},
      /* Subtract */ {[](T a, T b, T) { return a - b; }, {one, [](T, T, T) { return T(-1); }}},
      /* Multiply */ {[](T a, T b, T) { return a * b; }, {second, first}},
      /* Divide */
      {[](T a, T b, T) { return a / b; },
       {[](T, T b, T) { return T(1) / b; }, [](T a, T b, T) { return -(a / b) / b; }}},
      /* SquareRoot */
      {[](T a, T, T) { return sqrt(a); },
       {[](T a, T, T) { return T(0.5) / sqrt(a); }},
       [](T y) { return T(0.5) / y; }},
      /* ReciprocalSquareRoot */
      {[](T a, T, T) { return T(1) / sqrt(a); },
       {[](T a, T, T) { return T(-0.5) / (a * sqrt(a)); }},
       [](T y) { return T(-0.5) * y * y * y; }},
      /* Ceil */ {[](T a, T, T) { return ceil(a); }, {zero}},
      /* Floor */ {[](T a, T, T) { return floor(a); }, {zero}},
      /* Round */ {[](T a, T, T) { return rint(a); }, {zero}},
      /* Sin */ {[](T a, T, T) { return sin(a); }, {[](T a, T, T) { return cos(a); }}},
      /* Cos */ {[](T a, T, T) { return cos(a); }, {[](T a, T, T) { return -sin(a); }}},
      /* Tan */
      {[](T a, T, T) { return tan(a); }, {[](T a, T, T) { return T(1) + tan(a) * tan(a); }}},
      /* Asin */
      {[](T a, T, T) { return asin(a); },
       {[](T a, T, T) { return T(1) / sqrt((T(1) - a) * (T(1) + a)); }}},
      /* Acos */
      {[](T a, T, T) { return acos(a); },
       {[](T a, T, T) { return T(-1) / sqrt((T(1) - a) * (T(1) + a)); }}},
      /* Atan */
      {[](T a, T, T) { return atan(a); }, {[](T a, T, T) { return T(1) / (T(1) + a * a); }}},
      /* Sinh */ {[](T a, T, T) { return sinh(a); }, {[](T a, T, T) { return cosh(a); }}},
      /* Cosh */ {[](T a, T, T) { return cosh(a); }, {[](T a, T, T) { return sinh(a); }}},
      /* Tanh */
      {[](T a, T, T) { return tanh(a); },
       {[](T a, T, T) { return (T(1) - tanh(a)) * (T(1) + tanh(a)); }},
       [](T y) { return (T(1) - y) * (T(1) + y); }},
      /* Asinh */
      {[](T a, T, T) { return asinh(a); }, {[](T a, T, T) { return T(1) / sqrt(a * a + T(1)); }}},
      /* Acosh */
      {[](T a, T, T) { return acosh(a); },
       {[](T a, T, T) { return T(1) / (sqrt(a - T(1)) * sqrt(a + T(1))); }}},
      /* Atanh */
      {[](T a, T, T) { return atanh(a); },
       {[](T a, T, T) { return T(1) / ((T(1) - a) * (T(1) + a)); }}},
      /* Pow */
      {[](T a, T b, T) { return pow(a, b); },
       {[](T a, T b, T) { return b * pow(a, b - T(1)); },
        [](T a, T b, T) { return pow(a, b) * log(a); }}},
      /* Exp */
      {[](T a, T, T) { return exp(a); }, {[](T a, T, T) { return exp(a); }}, [](T y) { return y; }},
      /* Exp2 */
      {[](T a, T, T) { return exp2(a); },
       {[](T a, T, T) { return exp2(a) * kLn2; }},
       [](T y) { return y * kLn2; }},
      /* Log */ {[](T a, T, T) { return log(a); }, {[](T a, T, T) { return T(1) / a; }}},
      /* Log2 */
      {[](T a, T, T) { return log2(a); }, {[](T a, T, T) { return T(1) / (a * kLn2); }}},
      /* MultiplyNoNaN */
      {[](T a, T b, T) { return b == T(0) ? T(0) : a * b; },
       {second, [](T a, T b, T) { return b == T(0) ? T(0) : a; }}},
      /* DivideNoNaN */
      {[](T a, T b, T) { return b == T(0) ? T(0) : a / b; },
       {[](T, T b, T) { return b == T(0) ? T(0) : T(1) / b; },
        [](T a, T b, T) { return b == T(0) ? T(0) : -(a / b) / b; }}},
      /* MultiplyAdd */ {[](T a, T b, T c) { return a * b + c; }, {second, first, one}},
      /* Minimum */
      {[](T a, T b, T) { return minimum(a, b); },
       {[](T a, T b, T) { return a <= b ? T(1) : T(0); },
        [](T a, T b, T) { return a <= b ? T(0) : T(1); }}},
      /* Maximum */
      {[](T a, T b, T) { return maximum(a, b); },
       {[](T a, T b, T) { return a >= b ? T(1) : T(0); },
        [](T a, T b, T) { return a >= b ? T(0) : T(1); }}},
      /* Select */
      {[](T a, T b, T c) { return a == T(0) ? c : b; },
       {zero, [](T a, T, T) { return a == T(0) ? T(0) : T(1); },
        [](T a, T, T) { return a == T(0) ? T(1) : T(0); }}},
      /* Abs */ {[](T a, T, T) { return abs(a); }, {[](T a, T, T) { return sign_of(a); }}},
      /* Sign */ {[](T a, T, T) { return sign_of(a); }, {zero}},
      /* Negate */ {[](T a, T, T) { return -a; }, {[](T, T, T) { return T(-1); }}},
      /* Reciprocal */
      {[](T a, T, T) { return T(1) / a; },
       {[](T a, T, T) { return T(-1) / a / a; }},
       [](T y) { return -(y * y); }},
      /* Square */ {[](T a, T, T) { return a * a; }, {[](T a, T, T) { return a + a; }}},
      /* FloorDivide */
      {[](T a, T b, T) { return T(std::floor(value_of(a) / value_of(b))); }, {zero, zero}},
      /* TruncDivide */
      {[](T a, T b, T) { return T(std::trunc(value_of(a) / value_of(b))); }, {zero, zero}},
      /* TruncRemainder */
      {[](T a, T b, T) { return remainder_of(a, b); },
       {one, [](T a, T b, T) { return T(-std::trunc(value_of(a) / value_of(b))); }}},
      /* Erf */
      {[](T a, T, T) { return erf(a); }, {[](T a, T, T) { return kErfSlope * exp(-(a * a)); }}},
  };
  return table[function];
}

}  // namespace spec::reference

namespace spec {

struct ArithmeticInfo {
  BNNSArithmeticFunction function;
  const char* name;
  size_t inputs;
  std::vector<Fill> fill = {};  // of the first inputs; the others have the usual numbers
  bool exact = false;           // integers give integers
  bool needs_nothing = false;   // gradients need neither inputs nor the result
};

inline const std::vector<ArithmeticInfo>& arithmetic_rows() {
  static const Fill kPositive = {.lo = 0.25, .hi = 4}, kUnit = {.lo = -0.9, .hi = 0.9},
                    kApart = {.lo = -3,
                              .hi = 3,
                              .kinks = {-0.3, -0.25, -0.2, -0.15, -0.1, -0.05, 0, 0.05, 0.1, 0.15,
                                        0.2, 0.25, 0.3}},
                    kSteps = {.lo = -3, .hi = 3, .kinks = {-3, -2, -1, 0, 1, 2, 3}},
                    kHalves = {.lo = -3, .hi = 3, .kinks = {-2.5, -1.5, -0.5, 0.5, 1.5, 2.5}},
                    kKink = {.kinks = {0}}, kAny = {}, kTurn = {.lo = -6, .hi = 6},
                    kSteep = {.lo = -1.2, .hi = 1.2}, kFour = {.lo = -4, .hi = 4},
                    kAboveOne = {.lo = 1.125, .hi = 4}, kTruth = {.choices = {0, 1, -2}};
  static const std::vector<ArithmeticInfo> rows = {
      {BNNSArithmeticAdd, "add", 2, {}, true, true},
      {BNNSArithmeticSubtract, "subtract", 2, {}, true, true},
      {BNNSArithmeticMultiply, "multiply", 2, {}, true},
      {BNNSArithmeticDivide, "divide", 2, {kAny, kApart}},
      {BNNSArithmeticSquareRoot, "square_root", 1, {kPositive}},
      {BNNSArithmeticReciprocalSquareRoot, "reciprocal_square_root", 1, {kPositive}},
      {BNNSArithmeticCeil, "ceil", 1, {kSteps}, true, true},
      {BNNSArithmeticFloor, "floor", 1, {kSteps}, true, true},
      {BNNSArithmeticRound, "round", 1, {kHalves}, true, true},
      {BNNSArithmeticSin, "sin", 1, {kTurn}},
      {BNNSArithmeticCos, "cos", 1, {kTurn}},
      {BNNSArithmeticTan, "tan", 1, {kSteep}},
      {BNNSArithmeticAsin, "asin", 1, {kUnit}},
      {BNNSArithmeticAcos, "acos", 1, {kUnit}},
      {BNNSArithmeticAtan, "atan", 1, {kFour}},
      {BNNSArithmeticSinh, "sinh", 1},
      {BNNSArithmeticCosh, "cosh", 1},
      {BNNSArithmeticTanh, "tanh", 1},
      {BNNSArithmeticAsinh, "asinh", 1, {kFour}},
      {BNNSArithmeticAcosh, "acosh", 1, {kAboveOne}},
      {BNNSArithmeticAtanh, "atanh", 1, {kUnit}},
      {BNNSArithmeticPow, "pow", 2, {kPositive}},
      {BNNSArithmeticExp, "exp", 1},
      {BNNSArithmeticExp2, "exp2", 1},
      {BNNSArithmeticLog, "log", 1, {kPositive}},
      {BNNSArithmeticLog2, "log2", 1, {kPositive}},
      {BNNSArithmeticMultiplyNoNaN, "multiply_no_nan", 2, {}, true},
      {BNNSArithmeticDivideNoNaN, "divide_no_nan", 2, {kAny, kApart}},
      {BNNSArithmeticMultiplyAdd, "multiply_add", 3, {}, true},
      {BNNSArithmeticMinimum, "minimum", 2, {}, true},
      {BNNSArithmeticMaximum, "maximum", 2, {}, true},
      {BNNSArithmeticSelect, "select", 3, {kTruth}, true},
      {BNNSArithmeticAbs, "abs", 1, {kKink}, true},
      {BNNSArithmeticSign, "sign", 1, {kKink}, true, true},
      {BNNSArithmeticNegate, "negate", 1, {}, true, true},
      {BNNSArithmeticReciprocal, "reciprocal", 1, {kApart}},
      {BNNSArithmeticSquare, "square", 1, {}, true},
      {BNNSArithmeticFloorDivide, "floor_divide", 2, {kAny, kApart}, false, true},
      {BNNSArithmeticTruncDivide, "trunc_divide", 2, {kAny, kApart}, false, true},
      {BNNSArithmeticTruncRemainder, "trunc_remainder", 2, {kAny, kApart}},
      {BNNSArithmeticErf, "erf", 1},
  };
  return rows;
}

}  // namespace spec
#endif
