// Input data: a linear congruential generator with a mixed output, the same numbers on every
// system.
#pragma once

#include <cstddef>
#include <cstdint>

#include "harness/harness.h"

namespace bench {

class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed * 0x9E3779B97F4A7C15u + 1) {}
  void fill(const Buffer& buffer, double low, double high) {
    for (size_t i = 0; i < buffer.size(); ++i)
      buffer.data()[i] = float(low + (high - low) * next());
  }
  double next() {  // in [0, 1)
    state_ = state_ * 6364136223846793005u + 1442695040888963407u;
    const uint64_t mixed = (state_ ^ (state_ >> 29)) * 0xBF58476D1CE4E5B9u;
    return double(mixed >> 11) * 0x1p-53;
  }

 private:
  uint64_t state_;
};

}  // namespace bench
