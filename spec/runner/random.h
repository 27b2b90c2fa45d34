// Random numbers that depend on nothing but a name and a counter, so that one case run alone sees
// the same data as in the full run.
#ifndef OPENBNNS_SPEC_RANDOM_H
#define OPENBNNS_SPEC_RANDOM_H

#include <cstdint>
#include <string_view>

namespace spec {

inline uint64_t mix(uint64_t v) {
  v = (v ^ (v >> 30)) * 0xBF58476D1CE4E5B9u;
  v = (v ^ (v >> 27)) * 0x94D049BB133111EBu;
  return v ^ (v >> 31);
}

inline uint64_t hash(std::string_view text) {
  uint64_t h = 0xCBF29CE484222325u;
  for (char c : text) h = (h ^ static_cast<unsigned char>(c)) * 0x100000001B3u;
  return mix(h);
}

class Random {
 public:
  explicit Random(std::string_view name) : key_(hash(name)) {}

  uint64_t next() { return mix(key_ + 0x9E3779B97F4A7C15u * ++counter_); }
  double uniform(double lo, double hi) {
    return lo + (hi - lo) * static_cast<double>(next() >> 11) * 0x1p-53;
  }
  int64_t integer(int64_t lo, int64_t hi) {
    return lo + static_cast<int64_t>(next() % static_cast<uint64_t>(hi - lo + 1));
  }

 private:
  uint64_t key_;
  uint64_t counter_ = 0;
};

}  // namespace spec
#endif
