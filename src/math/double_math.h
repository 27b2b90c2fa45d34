// log, exp and cos in double for random numbers. Their bits are the same on every system, which
// those of the C library are not: only additions, multiplications, divisions and integer arithmetic
// are used, in a fixed order and without fused multiply-add (contraction is off). They are power
// series with exact coefficients; errors are about 1e-16 relative to the result, for cos relative
// to 1.
#pragma once

#include <bit>
#include <cstdint>

namespace bnns::impl {

constexpr double kLn2Double = 0.69314718055994530942;

// u in (0, 1], normal. u = m 2^e with m in [sqrt(1/2), sqrt(2)), and log m = 2 atanh(s) with
// s = (m - 1) / (m + 1), whose series converges as 0.0295^k.
inline double portable_log(double u) {
  const auto bits = std::bit_cast<uint64_t>(u);
  // Subtracting the bits of sqrt(1/2) makes the exponent field change at that value.
  constexpr uint64_t kRootHalf = 0x3FE6A09E667F3BCD;
  const auto exponent = static_cast<int64_t>(bits - kRootHalf) >> 52;
  const double m = std::bit_cast<double>(bits - (static_cast<uint64_t>(exponent) << 52));
  const double s = (m - 1) / (m + 1), s2 = s * s;
  double series = 0;
  for (int k = 23; k >= 3; k -= 2) series = (series + 1.0 / k) * s2;
  return static_cast<double>(exponent) * kLn2Double + (2 * s + 2 * s * series);
}

// x <= 0; below -700 the result is 0. e^x = 2^n e^r with |r| <= ln 2 / 2.
inline double portable_exp(double x) {
  if (!(x >= -700)) return 0;
  // The upper 32 bits of ln 2, so that the product with n is exact, and the rest.
  constexpr double kHigh = 0x1.62E42FEEp-1, kLow = 0x1.A39EF35793C76p-33;
  const auto n = static_cast<int64_t>(x * 1.4426950408889634074 - 0.5);
  const double r = (x - static_cast<double>(n) * kHigh) - static_cast<double>(n) * kLow;
  double series = 1;
  for (int k = 14; k >= 1; --k) series = 1 + series * (r * (1.0 / k));
  return series * std::bit_cast<double>(static_cast<uint64_t>(n + 1023) << 52);
}

// cos(2 pi v) for v = turn / 2^64. The angle is brought into [0, pi / 4] by integer arithmetic.
inline double portable_cos_turn(uint64_t turn) {
  constexpr double kTwoPi = 6.28318530717958647692;
  const uint64_t octant = turn >> 61;
  constexpr uint64_t kEighth = uint64_t{1} << 61;
  const uint64_t rest = turn & (kEighth - 1);
  // Odd octants are measured from their upper end. In octants 1, 2, 5 and 6 the result is a sine.
  const uint64_t part = octant % 2 == 0 ? rest : kEighth - rest;
  const double x = static_cast<double>(static_cast<int64_t>(part >> 9)) * 0x1p-55 * kTwoPi,
               x2 = x * x;
  const bool sine = (octant + 1) / 2 % 2 == 1;
  // Both series have the same form; the factors are selected, so that there is no branch.
  double series = 1;
  for (int j = 9; j >= 1; --j) {
    const double factor = sine ? 1.0 / (2 * j * (2 * j + 1)) : 1.0 / (2 * j * (2 * j - 1));
    series = 1 - series * (x2 * factor);
  }
  const double magnitude = sine ? x * series : series;
  return octant >= 2 && octant <= 5 ? -magnitude : magnitude;
}

}  // namespace bnns::impl
