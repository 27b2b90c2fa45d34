// IntegerLinearSaturate: y = saturate((scale * x + offset) >> shift) on stored integers, in 64-bit
// arithmetic with an arithmetic shift; one set of constants, or one per channel.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/view.h"

namespace bnns::impl {

struct IntegerLinear {
  const int32_t* scale;  // these three have `channels` entries each
  const int32_t* offset;
  const int32_t* shift;  // 0 to 63
  size_t channels;
  size_t plane;  // consecutive elements that share a channel
};

inline int64_t integer_linear(const IntegerLinear& f, size_t channel, int64_t x) {
  // Unsigned arithmetic wraps, where signed products of values beyond 32 bits could overflow.
  const auto product = static_cast<uint64_t>(int64_t{f.scale[channel]}) * static_cast<uint64_t>(x);
  const auto sum = product + static_cast<uint64_t>(int64_t{f.offset[channel]});
  return static_cast<int64_t>(sum) >> f.shift[channel];
}

// Views of equal count and integer types.
void run_integer_linear(const IntegerLinear& f, size_t threads, const View& x, const View& y);

}  // namespace bnns::impl
