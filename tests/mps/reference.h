// The losses of images in double, element by element, as docs/mps.md writes them.
#pragma once

#include <cmath>
#include <vector>

#include "support.h"

namespace mps_test {

struct Formula {
  Type type;
  double smoothing, classes, epsilon, delta;

  double label(double t) const {
    if (type == Type::SoftMaxCrossEntropy) return t * (1 - smoothing) + smoothing / classes;
    if (type == Type::SigmoidCrossEntropy) return t * (1 - smoothing) + smoothing / 2;
    return t;
  }
  // y is log(softmax) for the soft-max loss.
  double loss(double y, double t) const;
  double by_y(double y, double t) const;
  double by_t(double y, double t) const;
};

inline double times(double factor, double value) {
  return factor == 0 ? 0 : factor * value;
}
inline double sign_of(double v) {
  return v > 0 ? 1 : v < 0 ? -1 : 0;
}

inline double Formula::loss(double y, double t) const {
  const double d = std::fabs(y - t);
  switch (type) {
    case Type::MeanAbsoluteError:
      return d;
    case Type::MeanSquaredError:
      return d * d;
    case Type::SoftMaxCrossEntropy:
      return -times(label(t), y);
    case Type::SigmoidCrossEntropy:
      return std::fmax(y, 0) - y * label(t) + std::log1p(std::exp(-std::fabs(y)));
    case Type::CategoricalCrossEntropy:
      return -times(t, std::log(y));
    case Type::Hinge:
      return std::fmax(1 - (2 * t - 1) * y, 0);
    case Type::Huber:
      return d <= delta ? d * d / 2 : delta * delta / 2 + delta * (d - delta);
    case Type::CosineDistance:
      return -y * t;
    case Type::Log:
      return -times(t, std::log(y + epsilon)) - times(1 - t, std::log(1 - y + epsilon));
    default:
      return times(t, std::log(t) - y);
  }
}

inline double Formula::by_y(double y, double t) const {
  const double d = y - t;
  switch (type) {
    case Type::MeanAbsoluteError:
      return sign_of(d);
    case Type::MeanSquaredError:
      return 2 * d;
    case Type::SoftMaxCrossEntropy:
      return std::exp(y) - label(t);
    case Type::SigmoidCrossEntropy:
      return 1 / (1 + std::exp(-y)) - label(t);
    case Type::CategoricalCrossEntropy:
      return -times(t, 1 / y);
    case Type::Hinge:
      return 1 - (2 * t - 1) * y > 0 ? 1 - 2 * t : 0;
    case Type::Huber:
      return std::fabs(d) <= delta ? d : delta * sign_of(d);
    case Type::Log:
      return -times(t, 1 / (y + epsilon)) + times(1 - t, 1 / (1 - y + epsilon));
    default:  // cosine distance, Kullback-Leibler
      return -t;
  }
}

inline double Formula::by_t(double y, double t) const {
  switch (type) {
    case Type::SoftMaxCrossEntropy:
    case Type::SigmoidCrossEntropy:
      return -(1 - smoothing) * y;
    case Type::CategoricalCrossEntropy:
      return -std::log(y);
    case Type::Hinge:
      return 1 - (2 * t - 1) * y > 0 ? -2 * y : 0;
    case Type::CosineDistance:
      return -y;
    case Type::Log:
      return std::log(1 - y + epsilon) - std::log(y + epsilon);
    case Type::KullbackLeiblerDivergence:
      return std::log(t) - y + 1;
    default:
      return -by_y(y, t);
  }
}

// log(softmax) over each pixel's channels.
inline std::vector<double> log_softmax(const std::vector<double>& y, std::size_t channels) {
  std::vector<double> result(y.size());
  for (std::size_t p = 0; p < y.size(); p += channels) {
    double max = y[p], sum = 0;
    for (std::size_t c = 1; c < channels; ++c) max = std::fmax(max, y[p + c]);
    for (std::size_t c = 0; c < channels; ++c) sum += std::exp(y[p + c] - max);
    for (std::size_t c = 0; c < channels; ++c) result[p + c] = y[p + c] - max - std::log(sum);
  }
  return result;
}

}  // namespace mps_test
