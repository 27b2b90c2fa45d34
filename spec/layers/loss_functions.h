// The formulas of the losses: l(x, t) and dl/dx by element, and per sample over groups of elements.
// Per-sample formulas have the weights inside; labels come smoothed.
#ifndef OPENBNNS_SPEC_LOSS_FUNCTIONS_H
#define OPENBNNS_SPEC_LOSS_FUNCTIONS_H

#include <cmath>
#include <vector>

#include "layers/activation.h"
#include "runner/array.h"

namespace spec::reference {

struct LossConstants {
  double smooth = 0;
  double delta = 1;  // of Huber
};

template <class T>
struct LossPair {
  T loss, gradient;
};

template <class T>
struct ElementLoss {
  BNNSLossFunction function;
  LossPair<T> (*at)(T x, T t, T delta);
};

template <class T>
const ElementLoss<T>* element_loss(BNNSLossFunction function) {
  using std::abs, std::copysign, std::exp, std::log, std::log1p;
  using Pair = LossPair<T>;
  static const ElementLoss<T> table[] = {
      {BNNSLossFunctionSigmoidCrossEntropy,
       [](T x, T t, T) -> Pair {
         return {maximum(x, T(0)) - x * t + log1p(exp(-abs(x))), sigmoid(x) - t};
       }},
      {BNNSLossFunctionMeanSquareError,
       [](T x, T t, T) -> Pair {
         return {(x - t) * (x - t), T(2) * (x - t)};
       }},
      {BNNSLossFunctionHuber,
       [](T x, T t, T delta) -> Pair {
         const T e = x - t;
         if (abs(e) <= delta) return {T(0.5) * e * e, e};
         return {delta * (abs(e) - T(0.5) * delta), copysign(delta, e)};
       }},
      {BNNSLossFunctionLog,
       [](T x, T t, T) -> Pair {
         const T epsilon = 1e-7, p = x + epsilon, q = T(1) - x + epsilon;
         return {-t * log(p) - (T(1) - t) * log(q),
                 (x - t + epsilon * (T(1) - T(2) * t)) / (p * q)};
       }},
      {BNNSLossFunctionHinge,
       [](T x, T t, T) -> Pair {
         const T sign = T(2) * t - T(1), v = sign * x;
         // -v < -1 leaves the tie with the slope.
         return {maximum(T(1) - v, T(0)), step(-v, -1, T(0), -sign)};
       }},
      {BNNSLossFunctionMeanAbsoluteError,
       [](T x, T t, T) -> Pair {
         return {abs(x - t), x >= t ? T(1) : T(-1)};
       }},
  };
  for (const ElementLoss<T>& row : table)
    if (row.function == function) return &row;
  return nullptr;
}

inline bool is_element_loss(BNNSLossFunction function) {
  return element_loss<double>(function) != nullptr;
}

// t (1 - s) + s / n over the n classes of a softmax, or over the two of a sigmoid.
template <class T>
T smoothed(T t, double smooth, size_t classes) {
  return t * (T(1) - T(smooth)) + T(smooth) / T(static_cast<double>(classes));
}

// One row of a per-sample loss; returns its loss and writes the gradient.
template <class T>
using RowLoss = T (*)(const std::vector<T>& x, const std::vector<T>& t, const std::vector<T>& w,
                      std::vector<T>& gradient);

template <class T>
std::vector<T> softmax_of(const std::vector<T>& x, bool log_of) {
  std::vector<size_t> all(x.size());
  for (size_t i = 0; i < x.size(); ++i) all[i] = i;
  std::vector<T> y(x.size());
  softmax(x, y, all, log_of);
  return y;
}

template <class T>
T softmax_row(const std::vector<T>& x, const std::vector<T>& t, const std::vector<T>& w,
              std::vector<T>& gradient) {
  const std::vector<T> p = softmax_of(x, false), log_p = softmax_of(x, true);
  Sum<T> loss, labels;
  for (size_t i = 0; i < x.size(); ++i) {
    loss.add(-(w[i] * t[i]), log_p[i]);
    labels.add(w[i], t[i]);
  }
  for (size_t i = 0; i < x.size(); ++i) gradient[i] = p[i] * labels.get() - w[i] * t[i];
  return loss.get();
}

template <class T>
T categorical_row(const std::vector<T>& x, const std::vector<T>& t, const std::vector<T>& w,
                  std::vector<T>& gradient) {
  const std::vector<T> p = softmax_of(x, false), log_p = softmax_of(x, true);
  double m = 0;
  for (const T& label : t) m += label == T(0) ? 0 : 1;
  if (m == 0) {
    gradient.assign(x.size(), T(0));
    return T(0);
  }
  const T share = T(1) / T(m);
  Sum<T> loss;
  for (size_t i = 0; i < x.size(); ++i) {
    const bool there = !(t[i] == T(0));
    if (there) loss.add(-(w[i] * t[i]), log_p[i]);
    gradient[i] = w[i] * (p[i] - (there ? share : T(0)));
  }
  return loss.get() * share;
}

template <class T>
T cosine_row(const std::vector<T>& x, const std::vector<T>& t, const std::vector<T>& w,
             std::vector<T>& gradient) {
  Sum<T> cosine;
  for (size_t i = 0; i < x.size(); ++i) cosine.add(w[i] * t[i], x[i]);
  for (size_t i = 0; i < x.size(); ++i) gradient[i] = w[i] * (cosine.get() * x[i] - t[i]);
  return T(1) - cosine.get();
}

template <class T>
RowLoss<T> row_loss(BNNSLossFunction function) {
  if (function == BNNSLossFunctionSoftmaxCrossEntropy) return softmax_row<T>;
  if (function == BNNSLossFunctionCategoricalCrossEntropy) return categorical_row<T>;
  return cosine_row<T>;
}

}  // namespace spec::reference
#endif
