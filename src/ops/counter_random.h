// Counter-based random numbers: number k of stream s is a function of (s, k), so that any thread
// can draw any number and results do not depend on who does. Mixing by two rounds of SplitMix64.
#pragma once

#include <cstdint>

namespace bnns::impl {

inline uint64_t mix64(uint64_t z) {
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}

inline uint64_t random_bits(uint64_t stream, uint64_t counter) {
  return mix64(mix64(stream + 0x9E3779B97F4A7C15u) + counter * 0x9E3779B97F4A7C15u);
}

// Uniform in the open interval (0, 1).
inline float random_open_unit(uint64_t stream, uint64_t counter) {
  return (static_cast<float>(random_bits(stream, counter) >> 41) + 0.5f) * 0x1p-23f;
}

}  // namespace bnns::impl
