// The element losses: l, its derivative by the prediction y and by the label t, in double.
// kSoftMaxCrossEntropy takes log(softmax(y)) in place of y. A term whose label factor is 0 counts
// as 0; NaN goes through, also where a comparison decides.
#pragma once

#include <cmath>

#include "mps/work.h"

namespace bnns::impl::mps {

// The constants of the formulas: labels become keep * t + added.
struct ElementConstants {
  double keep = 1, added = 0;
  double epsilon = 0, delta = 1;
  bool as_printed = false;
};

// factor * value, and 0 for a factor of 0 whatever the value is.
inline double term(double factor, double value) {
  return factor == 0 ? 0 : factor * value;
}
inline double positive_part(double v) {
  return v <= 0 ? 0 : v;  // NaN stays
}
inline double sign(double v) {
  return v > 0 ? 1 : v < 0 ? -1 : v == 0 ? 0 : v;  // NaN stays
}

struct MeanAbsoluteError {
  static double loss(double y, double t, const ElementConstants&) { return std::fabs(y - t); }
  static double by_y(double y, double t, const ElementConstants&) { return sign(y - t); }
  static double by_t(double y, double t, const ElementConstants&) { return -sign(y - t); }
};

struct MeanSquaredError {
  static double loss(double y, double t, const ElementConstants&) { return (y - t) * (y - t); }
  static double by_y(double y, double t, const ElementConstants&) { return 2 * (y - t); }
  static double by_t(double y, double t, const ElementConstants&) { return -2 * (y - t); }
};

struct SoftMaxCrossEntropy {
  static double loss(double log_softmax, double t, const ElementConstants& k) {
    return -term(t * k.keep + k.added, log_softmax);
  }
  static double by_y(double log_softmax, double t, const ElementConstants& k) {
    return std::exp(log_softmax) - (t * k.keep + k.added);
  }
  static double by_t(double log_softmax, double, const ElementConstants& k) {
    return -k.keep * log_softmax;
  }
};

struct SigmoidCrossEntropy {
  static double loss(double y, double t, const ElementConstants& k) {
    return positive_part(y) - y * (t * k.keep + k.added) + std::log1p(std::exp(-std::fabs(y)));
  }
  static double sigmoid(double y) {
    if (y >= 0) return 1 / (1 + std::exp(-y));
    const double e = std::exp(y);
    return e / (1 + e);
  }
  static double by_y(double y, double t, const ElementConstants& k) {
    return sigmoid(y) - (t * k.keep + k.added);
  }
  static double by_t(double y, double, const ElementConstants& k) { return -k.keep * y; }
};

struct CategoricalCrossEntropy {
  static double loss(double y, double t, const ElementConstants&) { return -term(t, std::log(y)); }
  static double by_y(double y, double t, const ElementConstants&) { return -term(t, 1 / y); }
  static double by_t(double y, double, const ElementConstants&) { return -std::log(y); }
};

struct Hinge {
  static double margin(double y, double t) { return 1 - (2 * t - 1) * y; }
  static double loss(double y, double t, const ElementConstants&) {
    return positive_part(margin(y, t));
  }
  static double by_y(double y, double t, const ElementConstants&) {
    const double m = margin(y, t);
    return m > 0 ? 1 - 2 * t : m <= 0 ? 0 : m;
  }
  static double by_t(double y, double t, const ElementConstants&) {
    const double m = margin(y, t);
    return m > 0 ? -2 * y : m <= 0 ? 0 : m;
  }
};

struct Huber {
  static double loss(double y, double t, const ElementConstants& k) {
    const double d = std::fabs(y - t);
    return d <= k.delta ? 0.5 * d * d : 0.5 * k.delta * k.delta + k.delta * (d - k.delta);
  }
  static double slope(double d, double delta) {
    return std::fabs(d) <= delta ? d : delta * sign(d);
  }
  static double by_y(double y, double t, const ElementConstants& k) {
    const double s = slope(y - t, k.delta);
    return k.as_printed && s == -k.delta && y - t < -k.delta ? k.delta : s;
  }
  static double by_t(double y, double t, const ElementConstants& k) {
    return -slope(y - t, k.delta);
  }
};

// The loss of the image is 1 plus the sum of these.
struct CosineDistance {
  static double loss(double y, double t, const ElementConstants&) { return -y * t; }
  static double by_y(double, double t, const ElementConstants&) { return -t; }
  static double by_t(double y, double, const ElementConstants&) { return -y; }
};

struct LogLoss {
  static double loss(double y, double t, const ElementConstants& k) {
    return -term(t, std::log(y + k.epsilon)) - term(1 - t, std::log((1 - y) + k.epsilon));
  }
  static double by_y(double y, double t, const ElementConstants& k) {
    return -term(t, 1 / (y + k.epsilon)) + term(1 - t, 1 / ((1 - y) + k.epsilon));
  }
  static double by_t(double y, double, const ElementConstants& k) {
    return std::log((1 - y) + k.epsilon) - std::log(y + k.epsilon);
  }
};

struct KullbackLeibler {
  static double loss(double y, double t, const ElementConstants&) {
    return term(t, std::log(t) - y);
  }
  static double by_y(double y, double t, const ElementConstants& k) {
    return k.as_printed ? -term(t, 1 / y) : -t;
  }
  static double by_t(double y, double t, const ElementConstants&) { return std::log(t) - y + 1; }
};

// The formulas of a loss as functions over n elements. A weight of 0 makes an element 0, whatever
// its loss is. `weights` may be nullptr, which stands for 1.
struct ElementTable {
  using Function = void (*)(const double* y, const double* t, const double* weights, size_t n,
                            const ElementConstants& constants, double* results);
  Function loss, by_y, by_t;
};
const ElementTable& element_table(MPS::CNNLossType type);

ElementConstants constants_of(const LossFormula& formula, const LossValues& values);

}  // namespace bnns::impl::mps
