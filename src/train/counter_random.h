// Random numbers without a state: the i-th number of a key is a function of both. What is drawn for
// a sample depends on seed, epoch, step, layer and sample alone, never on who draws it or when.
#ifndef OPENBNNS_TRAIN_COUNTER_RANDOM_H
#define OPENBNNS_TRAIN_COUNTER_RANDOM_H

#include <cstdint>
#include <initializer_list>

namespace bnns::train {

class CounterRandom {
 public:
  explicit CounterRandom(std::initializer_list<std::uint64_t> key) {
    for (const std::uint64_t part : key) key_ = mix(key_ + kGolden + mix(part));
  }

  std::uint64_t bits(std::uint64_t i) const { return mix(key_ + (i + 1) * kGolden); }
  // In [0, 1), with 24 random bits.
  float uniform(std::uint64_t i) const { return static_cast<float>(bits(i) >> 40) * 0x1p-24f; }
  // In [0, bound), bound at most 2^32; the bias is below bound / 2^32.
  std::uint64_t below(std::uint64_t bound, std::uint64_t i) const {
    return (bits(i) >> 32) * bound >> 32;
  }

 private:
  static constexpr std::uint64_t kGolden = 0x9E3779B97F4A7C15;

  // Every bit of the result depends on every bit of x (the finaliser of SplitMix64).
  static std::uint64_t mix(std::uint64_t x) {
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EB;
    return x ^ (x >> 31);
  }

  std::uint64_t key_ = 0;
};

}  // namespace bnns::train

#endif
