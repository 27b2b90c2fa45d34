// The error of a float function in ulp, for the tests of src/math.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <limits>

namespace bnns::impl::test {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

struct Special {
  double in, out;  // compared as floats, sign of zero included
};

// |y - exact| in units of the float spacing at `exact`; values beyond the largest float count as
// the infinity they round to.
inline double ulp_error(float y, double exact) {
  if (std::isnan(exact) || std::isnan(y)) return std::isnan(exact) && std::isnan(y) ? 0 : kInf;
  if (std::isinf(exact)) return y == exact ? 0 : kInf;
  constexpr double kLimit = 0x1p128;
  const double value = std::isinf(y) ? std::copysign(kLimit, y) : y;
  if (std::isinf(y) && std::abs(exact) >= kLimit) return (y > 0) == (exact > 0) ? 0 : kInf;
  const double magnitude = std::max(std::abs(exact), 0x1p-126);
  return std::abs(value - exact) / std::ldexp(1.0, std::min(std::ilogb(magnitude), 127) - 23);
}

struct Worst {
  double error = 0;
  float at = 0;
};

// OPENBNNS_MATH_STRIDE, or every 1021st bit pattern.
inline uint64_t pattern_stride() {
  const char* text = std::getenv("OPENBNNS_MATH_STRIDE");
  const uint64_t value = text != nullptr ? std::strtoull(text, nullptr, 10) : 0;
  return value > 0 ? value : 1021;
}

}  // namespace bnns::impl::test
