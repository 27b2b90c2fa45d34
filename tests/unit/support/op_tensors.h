// Tensors of small integers for tests of ops, where every kernel must give the exact result, and
// the moments that follow from them.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "ops/convolution/weights.h"
#include "ops/activation/fused.h"
#include "ops/normalization/kernels.h"

namespace bnns::impl {

inline View tensor(std::vector<size_t> extents, size_t inner = 1, size_t gap = 0) {
  View view;
  view.rank = extents.size();
  view.span = view.count = 1;
  size_t step = inner;
  for (size_t k = 0; k < view.rank; ++k) {
    view.extent[k] = extents[k];
    view.stride[k] = step;
    view.span += (extents[k] - 1) * step;
    view.count *= extents[k];
    step = step * extents[k] + (k == 0 ? gap : 0);
  }
  view.step = step;
  return view;
}

inline std::vector<float> integers(size_t n, unsigned seed) {
  std::mt19937 engine(seed);
  std::vector<float> values(n);
  for (float& v : values) v = static_cast<float>(engine() % 7) - 3;
  return values;
}

inline std::vector<float> factors(size_t n) {
  std::vector<float> values(n);
  for (size_t i = 0; i < n; ++i)
    values[i] = (i % 2 == 0 ? 0.5f : -2.0f) * (i % 3 == 0 ? 4.0f : 1.0f);
  return values;
}

inline FusedActivation activation_of(BNNSActivationFunction function) {
  return FusedActivation(*find_activation(function), {});
}

inline double activated(BNNSActivationFunction function, double z) {
  if (function == BNNSActivationFunctionRectifiedLinear) return std::max(z, 0.0);
  return function == BNNSActivationFunctionAbs ? std::abs(z) : z;
}

// Sums in double over values in the order they come; the data are integers.
struct Exact {
  double count = 0, sum = 0, squares = 0;
  void add(double v) {
    ++count;
    sum += v;
    squares += v * v;
  }
};

// Blocks of 2048 deviations are summed in float, in four chains at least: 512 roundings.
constexpr double kBound = 512 * 0x1p-24;

inline void expect_moments(const Moments& got, const Exact& right, const std::string& what) {
  const double mean = right.sum / right.count, variance = right.squares / right.count - mean * mean;
  EXPECT_EQ(got.count, right.count) << what;
  EXPECT_NEAR(got.mean, mean, kBound * std::sqrt(variance)) << what;
  EXPECT_NEAR(got.squares / got.count, variance, kBound * variance) << what;
}

// Weights as (k, c, r, s).
inline ConvolutionWeights canonical(const ConvolutionGeometry& g, const View& view) {
  return {.view = view,
          .origin = 0,
          .column = 1,
          .row = static_cast<ptrdiff_t>(g.x.taps),
          .in = g.taps(),
          .out = g.taps() * g.large_channels,
          .block = SIZE_MAX,
          .next_block = 0,
          .transposed = false};
}

}  // namespace bnns::impl
