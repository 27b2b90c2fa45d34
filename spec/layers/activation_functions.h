// The activation functions: y = f(x), the derivative written with x and, where it exists, with y.
// One row per function in the order of the enumeration; a and b are alpha and beta. Values exactly
// on a kink are nobody's promise, so inequalities at kinks may be strict or not.
#ifndef OPENBNNS_SPEC_ACTIVATION_FUNCTIONS_H
#define OPENBNNS_SPEC_ACTIVATION_FUNCTIONS_H

#include <cmath>
#include <cstring>
#include <vector>

#include "runner/array.h"
#include "runner/case.h"

namespace spec::reference {

template <class T>
struct Formula {
  T (*y)(T x, T a, T b);
  T (*from_x)(T x, T a, T b);
  T (*from_y)(T y, T a, T b);  // null: needs x
};

template <class T>
T sigmoid(T x) {
  using std::exp;
  return T(1) / (T(1) + exp(-x));
}

// Solves x - tanh(x) = y.
template <class T>
T tanh_shrink_inverse(T y) {
  const double bound = std::abs(value_of(y)) + 1;
  return bisect(
      y, -bound, bound, [](double x) { return x - std::tanh(x); },
      [](double x) { return std::tanh(x) * std::tanh(x); });
}

// Solves x * sigmoid(1.702 x) = y on the branch right of the minimum.
template <class T>
T gelu_sigmoid_inverse(T y) {
  constexpr double kMinimum = -0.7511464;
  const auto f = [](double x) { return x * sigmoid(1.702 * x); };
  const auto slope = [](double x) {
    const double s = sigmoid(1.702 * x);
    return s * (1 + 1.702 * x * (1 - s));
  };
  return bisect(y, kMinimum, std::max(value_of(y), 0.0) + 1, f, slope);
}

template <class T>
const Formula<T>& formula(BNNSActivationFunction function) {
  using std::abs, std::copysign, std::erf, std::exp, std::expm1, std::log1p, std::tanh;
  static const T kScale = 1.0507009873554804934,
                 kSelu = 1.0507009873554804934 * 1.6732632423543772848;
  static const T kRootHalf = 0.70710678118654752440, kDensity = 0.39894228040143267794;
  static const T kErfSlope = 1.12837916709551257390;
  static const Formula<T> table[36] = {
      /* Identity */
      {[](T x, T, T) { return x; },   //
       [](T, T, T) { return T(1); },  //
       [](T, T, T) { return T(1); }},
      /* RectifiedLinear */
      {[](T x, T, T) { return maximum(x, T(0)); }, [](T x, T, T) { return x > T(0) ? T(1) : T(0); },
       [](T y, T, T) { return y > T(0) ? T(1) : T(0); }},
      /* LeakyRectifiedLinear */
      {[](T x, T a, T) { return x >= T(0) ? x : a * x; },
       [](T x, T a, T) { return x >= T(0) ? T(1) : a; },
       [](T y, T a, T) { return y >= T(0) ? T(1) : a; }},
      /* Sigmoid */
      {[](T x, T, T) { return sigmoid(x); }, [](T x, T, T) { return sigmoid(x) * sigmoid(-x); },
       [](T y, T, T) { return y * (T(1) - y); }},
      /* Tanh */
      {[](T x, T, T) { return tanh(x); }, [](T x, T, T) { return T(1) - tanh(x) * tanh(x); },
       [](T y, T, T) { return T(1) - y * y; }},
      /* ScaledTanh */
      {[](T x, T a, T b) { return a * tanh(b * x); },
       [](T x, T a, T b) { return a * b * (T(1) - tanh(b * x) * tanh(b * x)); },
       [](T y, T a, T b) { return b * (a - y * y / a); }},
      /* Abs */
      {[](T x, T, T) { return abs(x); }, [](T x, T, T) { return x > T(0) ? T(1) : T(-1); },
       nullptr},
      /* Linear */
      {[](T x, T a, T) { return a * x; }, [](T, T a, T) { return a; }, [](T, T a, T) { return a; }},
      /* Clamp */
      {[](T x, T a, T b) { return minimum(maximum(x, a), b); },
       [](T x, T a, T b) { return a < x && x < b ? T(1) : T(0); },
       [](T y, T a, T b) { return a < y && y < b ? T(1) : T(0); }},
      /* IntegerLinearSaturate, ...PerChannel, Softmax: below */
      {},
      {},
      {},
      /* GELUApproximation */
      {[](T x, T a, T b) { return T(0.5) * x * (T(1) + tanh(a * (x + b * x * x * x))); },
       [](T x, T a, T b) {
         const T t = tanh(a * (x + b * x * x * x));
         return T(0.5) * (T(1) + t) + T(0.5) * x * (T(1) - t * t) * a * (T(1) + T(3) * b * x * x);
       },
       nullptr},
      /* Gumbel, GumbelMax: random, checked by their distribution */
      {},
      {},
      /* HardSigmoid */
      {[](T x, T a, T b) { return maximum(minimum(a * x + b, T(1)), T(0)); },
       [](T x, T a, T b) { return T(0) < a * x + b && a * x + b < T(1) ? a : T(0); },
       [](T y, T a, T) { return T(0) < y && y < T(1) ? a : T(0); }},
      /* Softplus: a log(1 + e^(b x)), written so that it does not overflow */
      {[](T x, T a, T b) { return a * (maximum(b * x, T(0)) + log1p(exp(-abs(b * x)))); },
       [](T x, T a, T b) { return a * b * sigmoid(b * x); },
       [](T y, T a, T b) { return a * b * (T(1) - exp(-y / a)); }},
      /* Softsign */
      {[](T x, T, T) { return x / (T(1) + abs(x)); },
       [](T x, T, T) { return T(1) / ((T(1) + abs(x)) * (T(1) + abs(x))); },
       [](T y, T, T) { return (T(1) - abs(y)) * (T(1) - abs(y)); }},
      /* ELU */
      {[](T x, T a, T) { return x >= T(0) ? x : a * expm1(x); },
       [](T x, T a, T) { return x >= T(0) ? T(1) : a * exp(x); },
       [](T y, T a, T) { return y >= T(0) ? T(1) : y + a; }},
      /* ClampedLeakyRectifiedLinear */
      {[](T x, T a, T b) { return minimum(x >= T(0) ? x : a * x, b); },
       [](T x, T a, T b) { return x < T(0) ? (a * x < b ? a : T(0)) : (x < b ? T(1) : T(0)); },
       [](T y, T a, T b) { return y >= b ? T(0) : (y < T(0) ? a : T(1)); }},
      /* LinearWithBias */
      {[](T x, T a, T b) { return a * x + b; }, [](T, T a, T) { return a; },
       [](T, T a, T) { return a; }},
      /* LogSoftmax: below */
      {},
      /* LogSigmoid: -log(1 + e^-x) */
      {[](T x, T, T) { return minimum(x, T(0)) - log1p(exp(-abs(x))); },
       [](T x, T, T) { return sigmoid(-x); }, [](T y, T, T) { return T(1) - exp(y); }},
      /* SELU */
      {[](T x, T, T) { return x >= T(0) ? kScale * x : kSelu * expm1(x); },
       [](T x, T, T) { return x >= T(0) ? kScale : kSelu * exp(x); },
       [](T y, T, T) { return y >= T(0) ? kScale : y + kSelu; }},
      /* CELU */
      {[](T x, T a, T) { return x >= T(0) ? x : a * expm1(x / a); },
       [](T x, T a, T) { return x >= T(0) ? T(1) : exp(x / a); },
       [](T y, T a, T) { return y >= T(0) ? T(1) : y / a + T(1); }},
      /* HardShrink */
      {[](T x, T a, T) { return step(abs(x), std::abs(value_of(a)), T(0), x); },
       [](T x, T a, T) { return abs(x) < abs(a) ? T(0) : T(1); },
       [](T y, T, T) { return y == T(0) ? T(0) : T(1); }},
      /* SoftShrink */
      {[](T x, T a, T) { return abs(x) < abs(a) ? T(0) : x - copysign(a, x); },
       [](T x, T a, T) { return abs(x) < abs(a) ? T(0) : T(1); },
       [](T y, T, T) { return y == T(0) ? T(0) : T(1); }},
      /* TanhShrink */
      {[](T x, T, T) { return x - tanh(x); }, [](T x, T, T) { return tanh(x) * tanh(x); },
       [](T y, T, T) {
         const T t = tanh(tanh_shrink_inverse(y));
         return t * t;
       }},
      /* Threshold */
      {[](T x, T a, T b) { return step(x, value_of(a), b, x); },
       [](T x, T a, T) { return x > a ? T(1) : T(0); },
       [](T y, T, T b) { return y == b ? T(0) : T(1); }},
      /* PReLUPerChannel: a is the channel's own */
      {[](T x, T a, T) { return x >= T(0) ? x : a * x; },
       [](T x, T a, T) { return x >= T(0) ? T(1) : a; },
       [](T y, T a, T) { return y >= T(0) ? T(1) : a; }},
      /* GELUApproximation2 = HardSwish */
      {[](T x, T, T) { return x * minimum(maximum(x + T(3), T(0)), T(6)) / T(6); },
       [](T x, T, T) { return x < T(-3) ? T(0) : (x > T(3) ? T(1) : (T(2) * x + T(3)) / T(6)); },
       nullptr},
      /* SiLU */
      {[](T x, T, T) { return x * sigmoid(x); },
       [](T x, T, T) { return sigmoid(x) * (T(1) + x * sigmoid(-x)); }, nullptr},
      /* ReLU6 */
      {[](T x, T, T) { return minimum(maximum(x, T(0)), T(6)); },
       [](T x, T, T) { return T(0) < x && x < T(6) ? T(1) : T(0); },
       [](T y, T, T) { return T(0) < y && y < T(6) ? T(1) : T(0); }},
      /* Erf */
      {[](T x, T, T) { return erf(x); }, [](T x, T, T) { return kErfSlope * exp(-(x * x)); },
       nullptr},
      /* GELU */
      {[](T x, T, T) { return T(0.5) * x * (T(1) + erf(x * kRootHalf)); },
       [](T x, T, T) {
         return T(0.5) * (T(1) + erf(x * kRootHalf)) + x * kDensity * exp(-(x * x) * T(0.5));
       },
       nullptr},
      /* GELUApproximationSigmoid */
      {[](T x, T, T) { return x * sigmoid(T(1.702) * x); },
       [](T x, T, T) {
         return sigmoid(T(1.702) * x) * (T(1) + T(1.702) * x * sigmoid(T(-1.702) * x));
       },
       [](T y, T, T) {
         const T x = gelu_sigmoid_inverse(y);
         return sigmoid(T(1.702) * x) * (T(1) + T(1.702) * x * sigmoid(T(-1.702) * x));
       }},
  };
  return table[function];
}

// Softmax over one group of elements (positions in `x`), with the maximum taken off first.
template <class T>
void softmax(const std::vector<T>& x, std::vector<T>& y, const std::vector<size_t>& group,
             bool log_of) {
  using std::exp, std::log;
  T largest = x[group[0]];
  for (size_t i : group) largest = maximum(largest, x[i]);
  Sum<T> sum;
  for (size_t i : group) sum.add(exp(x[i] - largest));
  for (size_t i : group)
    y[i] = log_of ? x[i] - largest - log(sum.get()) : exp(x[i] - largest) / sum.get();
}

// dx_i = y_i (dy_i - sum_j dy_j y_j);  for the logarithm dx_i = dy_i - e^{y_i} sum_j dy_j.
template <class T>
void softmax_backward(const std::vector<T>& y, const std::vector<T>& dy, std::vector<T>& dx,
                      const std::vector<size_t>& group, bool log_of) {
  using std::exp;
  Sum<T> sum;
  for (size_t i : group) log_of ? sum.add(dy[i]) : sum.add(dy[i], y[i]);
  for (size_t i : group)
    dx[i] = log_of ? dy[i] - exp(y[i]) * sum.get() : y[i] * (dy[i] - sum.get());
}

}  // namespace spec::reference

namespace spec {

// How the cases use a function: parameters, a range of inputs, and where its kinks are.
struct ActivationInfo {
  BNNSActivationFunction function;
  const char* name;
  float alpha = 0, beta = 0;
  Fill fill = {};
};

inline const std::vector<ActivationInfo>& activation_rows() {
  static const std::vector<ActivationInfo> rows = {
      {BNNSActivationFunctionIdentity, "identity"},
      {BNNSActivationFunctionRectifiedLinear, "relu", 0, 0, {.kinks = {0}}},
      {BNNSActivationFunctionLeakyRectifiedLinear, "leaky_relu", 0.3f, 0, {.kinks = {0}}},
      {BNNSActivationFunctionSigmoid, "sigmoid", 0, 0, {-4, 4}},
      {BNNSActivationFunctionTanh, "tanh"},
      {BNNSActivationFunctionScaledTanh, "scaled_tanh", 1.7159f, 0.6667f},
      {BNNSActivationFunctionAbs, "abs", 0, 0, {.kinks = {0}}},
      {BNNSActivationFunctionLinear, "linear", -1.3f},
      {BNNSActivationFunctionClamp, "clamp", -0.75f, 1.25f, {.kinks = {-0.75, 1.25}}},
      {BNNSActivationFunctionSoftmax, "softmax", 0, 0, {-4, 4}},
      {BNNSActivationFunctionGELUApproximation,
       "gelu_approximation",
       0.7978846f,
       0.044715f,
       {-4, 4}},
      {BNNSActivationFunctionHardSigmoid, "hard_sigmoid", 0.3f, 0.45f, {-4, 4, {-1.5, 11.0 / 6}}},
      {BNNSActivationFunctionSoftplus, "softplus", 1.4f, 0.8f, {-4, 4}},
      {BNNSActivationFunctionSoftsign, "softsign", 0, 0, {.kinks = {0}}},
      {BNNSActivationFunctionELU, "elu", 0.9f, 0, {.kinks = {0}}},
      {BNNSActivationFunctionClampedLeakyRectifiedLinear,
       "clamped_leaky_relu",
       0.3f,
       1.125f,
       {.kinks = {0, 1.125}}},
      {BNNSActivationFunctionLinearWithBias, "linear_with_bias", 0.6f, -0.2f},
      {BNNSActivationFunctionLogSoftmax, "log_softmax", 0, 0, {-4, 4}},
      {BNNSActivationFunctionLogSigmoid, "log_sigmoid", 0, 0, {-4, 4}},
      {BNNSActivationFunctionSELU, "selu", 0, 0, {.kinks = {0}}},
      {BNNSActivationFunctionCELU, "celu", 1.3f, 0, {.kinks = {0}}},
      {BNNSActivationFunctionHardShrink, "hard_shrink", 0.5f, 0, {.kinks = {-0.5, 0.5}}},
      {BNNSActivationFunctionSoftShrink, "soft_shrink", 0.5f, 0, {.kinks = {-0.5, 0.5}}},
      {BNNSActivationFunctionTanhShrink, "tanh_shrink", 0, 0, {.kinks = {0}}},
      {BNNSActivationFunctionThreshold, "threshold", 0.3f, -0.25f, {.kinks = {0.3}}},
      {BNNSActivationFunctionPReLUPerChannel, "prelu", 0.25f, 0, {.kinks = {0}}},
      {BNNSActivationFunctionHardSwish, "hard_swish", 0, 0, {-5, 5, {-3, 3}}},
      {BNNSActivationFunctionSiLU, "silu", 0, 0, {-4, 4}},
      {BNNSActivationFunctionReLU6, "relu6", 0, 0, {-4, 9, {0, 6}}},
      {BNNSActivationFunctionErf, "erf"},
      {BNNSActivationFunctionGELU, "gelu", 0, 0, {-4, 4}},
      {BNNSActivationFunctionGELUApproximationSigmoid, "gelu_sigmoid", 0, 0, {-0.6, 3}},
  };
  return rows;
}

inline const ActivationInfo& activation_row(BNNSActivationFunction function) {
  for (const ActivationInfo& row : activation_rows())
    if (row.function == function) return row;
  return activation_rows()[0];
}

inline bool is_softmax(BNNSActivationFunction f) {
  return f == BNNSActivationFunctionSoftmax || f == BNNSActivationFunctionLogSoftmax;
}
inline bool derives_from_y(BNNSActivationFunction f) {
  return is_softmax(f) || reference::formula<double>(f).from_y != nullptr;
}
inline BNNSActivation activation_of(const ActivationInfo& row) {
  return {.function = row.function, .alpha = row.alpha, .beta = row.beta};
}

}  // namespace spec
#endif
