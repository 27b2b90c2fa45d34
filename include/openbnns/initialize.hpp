// The spread of initial weights. A weight tensor is a matrix (of a fully connected layer) or has
// the layout of convolution weights; what enters and leaves one unit follows from its shape.
#ifndef OPENBNNS_INITIALIZE_HPP
#define OPENBNNS_INITIALIZE_HPP

#include <cmath>
#include <cstddef>

#include "shape.hpp"

namespace bnns::detail {

struct Fans {
  float in, out;
};

inline Fans fans_of(const Shape& shape, const char* operation) {
  const auto size = [&](std::size_t k) { return static_cast<float>(shape.size()[k]); };
  switch (shape.layout()) {
    case DataLayout::matrix_row_major:
      return {size(0), size(1)};
    case DataLayout::matrix_column_major:
      return {size(1), size(0)};
    case DataLayout::convolution_weights_oihw:
      return {size(0) * size(1) * size(2), size(0) * size(1) * size(3)};
    default:
      fail(Error::Code::invalid_argument, operation,
           "shape is neither a matrix nor convolution weights; what enters a unit is not known");
  }
}

// Variance 2 / fan_in: keeps the variance of values through ReLU layers.
inline float he_deviation(const Shape& shape, const char* operation) {
  return std::sqrt(2 / fans_of(shape, operation).in);
}

// Variance 2 / (fan_in + fan_out): a compromise between forward and backward pass.
inline float glorot_deviation(const Shape& shape, const char* operation) {
  const Fans fans = fans_of(shape, operation);
  return std::sqrt(2 / (fans.in + fans.out));
}

// Half the width of the uniform distribution with that standard deviation.
inline float uniform_bound(float deviation) {
  return std::sqrt(3.0f) * deviation;
}

}  // namespace bnns::detail

#endif
