// The element-wise activation functions as plain formulas in double: y and dy/dx from x. They are
// the textbook forms, overflow and all; where such a form is 0 * Inf or Inf - Inf, `at_minus_inf`
// and `at_plus_inf` say what y tends to there.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "openbnns/bnns.h"

namespace bnns::test {

struct Function {
  BNNSActivationFunction function;
  const char* name;
  double a, b;  // alpha and beta of the test
  double (*y)(double x, double a, double b);
  double (*slope)(double x, double a, double b);
  bool from_output;  // the slope can be had from y
  bool smooth;       // the slope depends on x everywhere, so that a NaN must show in it
  double at_minus_inf = std::numeric_limits<double>::quiet_NaN();
  double slope_at_minus_inf = std::numeric_limits<double>::quiet_NaN();
  double slope_at_plus_inf = std::numeric_limits<double>::quiet_NaN();
};

inline double sigmoid(double x) {
  return 1 / (1 + std::exp(-x));
}
inline double square(double x) {
  return x * x;
}
inline double log1pexp(double x) {
  return x > 40 ? x : std::log1p(std::exp(x));
}
inline double normal_cdf(double x) {
  return 0.5 * std::erfc(-x / std::sqrt(2.0));
}

inline const std::vector<Function>& element_functions() {
  using D = double;
  constexpr double kScale = 1.0507009873554805, kSeluA = 1.6732632423543773;
  constexpr double kPi = 3.14159265358979323846;
  static const std::vector<Function> all = {
      {BNNSActivationFunctionIdentity, "Identity", 0, 0, [](D x, D, D) { return x; },
       [](D, D, D) { return 1.0; }, true, false},
      {BNNSActivationFunctionRectifiedLinear, "RectifiedLinear", 0, 0,
       [](D x, D, D) { return x < 0 ? 0 : x; }, [](D x, D, D) { return x > 0 ? 1.0 : 0.0; }, true,
       false},
      {BNNSActivationFunctionLeakyRectifiedLinear, "LeakyRectifiedLinear", 0.25, 0,
       [](D x, D a, D) { return x < 0 ? a * x : x; }, [](D x, D a, D) { return x < 0 ? a : 1; },
       true, false},
      {BNNSActivationFunctionSigmoid, "Sigmoid", 0, 0, [](D x, D, D) { return sigmoid(x); },
       [](D x, D, D) { return sigmoid(x) * sigmoid(-x); }, true, true},
      {BNNSActivationFunctionTanh, "Tanh", 0, 0, [](D x, D, D) { return std::tanh(x); },
       [](D x, D, D) { return 1 / square(std::cosh(x)); }, true, true},
      {BNNSActivationFunctionScaledTanh, "ScaledTanh", 1.5, 0.5,
       [](D x, D a, D b) { return a * std::tanh(b * x); },
       [](D x, D a, D b) { return a * b / square(std::cosh(b * x)); }, true, true},
      {BNNSActivationFunctionAbs, "Abs", 0, 0, [](D x, D, D) { return std::fabs(x); },
       [](D x, D, D) { return x < 0 ? -1.0 : 1.0; }, false, false},
      {BNNSActivationFunctionLinear, "Linear", 0.5, 0, [](D x, D a, D) { return a * x; },
       [](D, D a, D) { return a; }, true, false},
      {BNNSActivationFunctionClamp, "Clamp", -1, 2,
       [](D x, D a, D b) { return x < a   ? a
                                  : x > b ? b
                                          : x; },
       [](D x, D a, D b) { return x > a && x < b ? 1.0 : 0.0; }, true, false},
      {BNNSActivationFunctionGELUApproximation, "GELUApproximation", 0.7978846, 0.044715,
       [](D x, D a, D b) { return x * sigmoid(2 * a * (x + b * x * x * x)); },
       [](D x, D a, D b) {
         const D u = 2 * a * (x + b * x * x * x), s = sigmoid(u);
         return s + x * s * sigmoid(-u) * 2 * a * (1 + 3 * b * x * x);
       },
       false, true, 0, 0, 1},
      {BNNSActivationFunctionHardSigmoid, "HardSigmoid", 0.25, 0.5,
       [](D x, D a, D b) {
         const D v = a * x + b;
         return v < 0 ? 0 : v > 1 ? 1 : v;
       },
       [](D x, D a, D b) { return a * x + b > 0 && a * x + b < 1 ? a : 0; }, true, false},
      {BNNSActivationFunctionSoftplus, "Softplus", 2, 0.5,
       [](D x, D a, D b) { return a * log1pexp(b * x); },
       [](D x, D a, D b) { return a * b * sigmoid(b * x); }, true, true},
      {BNNSActivationFunctionSoftsign, "Softsign", 0, 0,
       [](D x, D, D) { return x / (1 + std::fabs(x)); },
       [](D x, D, D) { return 1 / square(1 + std::fabs(x)); }, true, true, -1},
      {BNNSActivationFunctionELU, "ELU", 1.5, 0,
       [](D x, D a, D) { return x < 0 ? a * std::expm1(x) : x; },
       [](D x, D a, D) { return x < 0 ? a * std::exp(x) : 1; }, true, false},
      {BNNSActivationFunctionClampedLeakyRectifiedLinear, "ClampedLeakyRectifiedLinear", 0.25, 2,
       [](D x, D a, D b) {
         const D v = x < 0 ? a * x : x;
         return v > b ? b : v;
       },
       [](D x, D a, D b) { return x > b   ? 0
                                  : x < 0 ? a
                                          : 1; }, true, false},
      {BNNSActivationFunctionLinearWithBias, "LinearWithBias", 0.5, 0.25,
       [](D x, D a, D b) { return a * x + b; }, [](D, D a, D) { return a; }, true, false},
      {BNNSActivationFunctionLogSigmoid, "LogSigmoid", 0, 0,
       [](D x, D, D) { return -log1pexp(-x); }, [](D x, D, D) { return sigmoid(-x); }, true, true},
      {BNNSActivationFunctionSELU, "SELU", 0, 0,
       [](D x, D, D) { return kScale * (x < 0 ? kSeluA * std::expm1(x) : x); },
       [](D x, D, D) { return kScale * (x < 0 ? kSeluA * std::exp(x) : 1); }, true, false},
      {BNNSActivationFunctionCELU, "CELU", 0.5, 0,
       [](D x, D a, D) { return x < 0 ? a * std::expm1(x / a) : x; },
       [](D x, D a, D) { return x < 0 ? std::exp(x / a) : 1; }, true, false},
      {BNNSActivationFunctionHardShrink, "HardShrink", 0.5, 0,
       [](D x, D a, D) { return std::fabs(x) < a ? 0 : x; },
       [](D x, D a, D) { return std::fabs(x) < a ? 0.0 : 1.0; }, true, false},
      {BNNSActivationFunctionSoftShrink, "SoftShrink", 0.5, 0,
       [](D x, D a, D) { return std::fabs(x) < a ? 0 : x - std::copysign(a, x); },
       [](D x, D a, D) { return std::fabs(x) < a ? 0.0 : 1.0; }, true, false},
      {BNNSActivationFunctionTanhShrink, "TanhShrink", 0, 0,
       [](D x, D, D) { return std::fabs(x) < 1e-3 ? x * x * x / 3 : x - std::tanh(x); },
       [](D x, D, D) { return square(std::tanh(x)); }, true, true},
      {BNNSActivationFunctionThreshold, "Threshold", 0.5, -1,
       [](D x, D a, D b) { return x <= a ? b : x; }, [](D x, D a, D) { return x <= a ? 0.0 : 1.0; },
       true, false},
      {BNNSActivationFunctionHardSwish, "HardSwish", 0, 0,
       [](D x, D, D) {
         return x * (x < -3 ? 0 : x > 3 ? 6 : x + 3) / 6;
       },
       [](D x, D, D) { return x < -3  ? 0
                              : x > 3 ? 1
                                      : (2 * x + 3) / 6; }, false, true, 0},
      {BNNSActivationFunctionSiLU, "SiLU", 0, 0, [](D x, D, D) { return x * sigmoid(x); },
       [](D x, D, D) { return sigmoid(x) * (1 + x * sigmoid(-x)); }, false, true, 0, 0, 1},
      {BNNSActivationFunctionReLU6, "ReLU6", 0, 0,
       [](D x, D, D) { return x < 0   ? 0
                              : x > 6 ? 6
                                      : x; },
       [](D x, D, D) { return x > 0 && x < 6 ? 1.0 : 0.0; }, true, false},
      {BNNSActivationFunctionErf, "Erf", 0, 0, [](D x, D, D) { return std::erf(x); },
       [](D x, D, D) { return 2 / std::sqrt(kPi) * std::exp(-x * x); }, false, true},
      {BNNSActivationFunctionGELU, "GELU", 0, 0, [](D x, D, D) { return x * normal_cdf(x); },
       [](D x, D, D) { return normal_cdf(x) + x / std::sqrt(2 * kPi) * std::exp(-x * x / 2); },
       false, true, 0, 0, 1},
      {BNNSActivationFunctionGELUApproximationSigmoid, "GELUApproximationSigmoid", 0, 0,
       [](D x, D, D) { return x * sigmoid(1.702 * x); },
       [](D x, D, D) { return sigmoid(1.702 * x) * (1 + 1.702 * x * sigmoid(-1.702 * x)); }, true,
       true, 0, 0, 1},
  };
  return all;
}

}  // namespace bnns::test
