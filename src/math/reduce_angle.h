// x = q pi/2 + r for floats so large that k pi/2 does not fit into a few doubles. x = m 2^e with an
// integer m, and only the bits of 2/pi that matter modulo 4 after the multiplication by 2^e are
// used: two bits before and 94 behind the binary point.
#pragma once

#include <bit>
#include <cstdint>

namespace bnns::impl {

struct ReducedAngle {
  float r;      // |r| <= pi/4
  int quarter;  // q modulo 4
};

// |x| must be at least 2^20 and finite.
inline ReducedAngle reduce_large_angle(float x) {
  // 32 zero bits, then 2/pi after the binary point.
  static constexpr uint32_t kTwoOverPi[] = {0,          0xA2F9836E, 0x4E441529,
                                            0xFC2757D1, 0xF534DDC0, 0xDB629599,
                                            0x3C439041, 0xFE5163AB, 0xDEBBC561};
  const auto bits = std::bit_cast<uint32_t>(x);
  const uint64_t m = (bits & 0x7FFFFFu) | 0x800000u;
  const int e = static_cast<int>(bits >> 23 & 0xFF) - 150;  // x = m 2^e, e >= -3
  const auto position = static_cast<uint32_t>(e + 30);      // of the first bit that matters
  const auto word = [&](uint32_t at) {
    const uint32_t i = at / 32, shift = at % 32;
    const uint64_t pair = uint64_t{kTwoOverPi[i]} << 32 | kTwoOverPi[i + 1];
    return static_cast<uint32_t>(pair << shift >> 32);
  };
  const uint64_t high = uint64_t{word(position)} << 32 | word(position + 32);
  const uint64_t low = word(position + 64);
  const uint64_t product = m * high + (m * low >> 32);  // modulo 4 in units of 2^-62
  const uint64_t quarter = (product + (uint64_t{1} << 61)) >> 62;
  const auto fraction = static_cast<int64_t>(product - (quarter << 62));
  const double r = static_cast<double>(fraction) * (0x1p-62 * 1.57079632679489661923);
  const bool negative = bits >> 31 != 0;
  return {.r = static_cast<float>(negative ? -r : r),
          .quarter = static_cast<int>(negative ? (4 - quarter) % 4 : quarter % 4)};
}

}  // namespace bnns::impl
