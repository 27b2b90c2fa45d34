// Turns the fuzzer's bytes into choices. Every choice costs one byte (numbers: a few) and falls
// back to its first alternative when the bytes run out, so that short inputs are ordinary calls and
// a mutation of one byte changes one choice. Odd values come in on purpose and rarely: an input
// that is wrong everywhere is refused by the first check and tests nothing else.
#ifndef OPENBNNS_FUZZ_PROVIDER_H
#define OPENBNNS_FUZZ_PROVIDER_H

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>

namespace fuzz {

// Around the widths of vectors and blocks.
inline constexpr size_t kExtents[] = {1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65};

// Sizes that must be refused or must not overflow.
inline constexpr size_t kOddSizes[] = {0,
                                       (size_t{1} << 16) + 1,
                                       (size_t{1} << 31) - 1,
                                       size_t{1} << 31,
                                       (size_t{1} << 32) - 1,
                                       size_t{1} << 32,
                                       (size_t{1} << 61) + 1,
                                       size_t{1} << 62,
                                       (size_t{1} << 63) - 1,
                                       size_t{1} << 63,
                                       SIZE_MAX - 7,
                                       SIZE_MAX - 1,
                                       SIZE_MAX};

inline constexpr float kFloats[] = {0.0f,
                                    1.0f,
                                    -1.0f,
                                    0.5f,
                                    -0.25f,
                                    2.0f,
                                    6.0f,
                                    -0.0f,
                                    1e-3f,
                                    -100.0f,
                                    1e-45f,
                                    1e30f,
                                    3.4028235e38f,
                                    -3.4028235e38f,
                                    __builtin_inff(),
                                    -__builtin_inff(),
                                    __builtin_nanf("")};

class Provider {
 public:
  Provider(const uint8_t* data, size_t size) : data_(data), end_(data + size) {}

  bool empty() const { return data_ == end_; }
  uint8_t byte() { return empty() ? 0 : *data_++; }
  // 0 .. n - 1; n at most 256.
  size_t below(size_t n) { return byte() % n; }
  size_t between(size_t low, size_t high) { return low + below(high - low + 1); }
  // True in about one of `n` inputs; false when the bytes are used up.
  bool one_in(size_t n) { return byte() % n == n - 1; }

  template <class T>
  T number() {
    uint8_t bytes[sizeof(T)] = {};
    for (uint8_t& b : bytes) b = byte();
    T value;
    std::memcpy(&value, bytes, sizeof value);
    return value;
  }

  template <class T, size_t N>
  T pick(const T (&values)[N]) {
    return values[below(N)];
  }

  size_t extent() { return pick(kExtents); }
  size_t odd_size() { return one_in(8) ? number<size_t>() : pick(kOddSizes); }
  float scalar() { return one_in(4) ? number<float>() : pick(kFloats); }

  // A constant of an enumeration, or now and then a number that is none.
  template <class Enum, size_t N>
  Enum constant(const Enum (&values)[N], size_t rarity = 40) {
    if (!one_in(rarity)) return pick(values);
    static constexpr uint32_t kStrange[] = {0,       0xFFFFFFFF, 0x7FFFFFFF,   0x80000000,
                                            0x10001, 0x98000,    0x10000 | 64, 36};
    return static_cast<Enum>(one_in(2) ? number<uint32_t>() : pick(kStrange));
  }

 private:
  const uint8_t* data_;
  const uint8_t* end_;
};

// Fills memory from a seed: contents need many values, not many choices.
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed * 0x9E3779B97F4A7C15u + 0x1234567) {}

  uint64_t next() {
    state_ ^= state_ << 13;
    state_ ^= state_ >> 7;
    state_ ^= state_ << 17;
    return state_;
  }
  float ordinary() {
    const auto k = static_cast<int64_t>(next() >> 40);
    return static_cast<float>(k - (1 << 23)) * (1.0f / (1 << 20));
  }

 private:
  uint64_t state_;
};

}  // namespace fuzz
#endif
