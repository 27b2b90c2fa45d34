// A small layer with its data, ready to be created, applied and trained: what the tests of memory,
// threads and quietness run. A Workload owns everything its parameters point to; Results owns what
// the calls write, allocated in advance, so that running a workload allocates nothing by itself.
// Each family of layers has a header of its own; small_workloads.h lists them all.
#pragma once

#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "openbnns/openbnns.h"

namespace test {

inline size_t bytes_of(BNNSDataType type) {
  return (static_cast<uint32_t>(type) & 0x7FFF) / 8;
}

inline BNNSNDArrayDescriptor array(BNNSDataLayout layout, std::initializer_list<size_t> sizes,
                                   void* data = nullptr, BNNSDataType type = BNNSDataTypeFloat32) {
  BNNSNDArrayDescriptor d = {};
  d.layout = layout;
  size_t k = 0;
  for (size_t size : sizes) d.size[k++] = size;
  d.data = data;
  d.data_type = type;
  d.data_scale = 1;
  return d;
}

inline BNNSNDArrayDescriptor vector(size_t size, void* data = nullptr,
                                    BNNSDataType type = BNNSDataTypeFloat32) {
  return array(BNNSDataLayoutVector, {size}, data, type);
}

// Fixed noise: a multiplicative generator is enough, the values only have to differ.
class Noise {
 public:
  explicit Noise(uint32_t seed) : state_(seed * 2654435761u + 1) {}
  uint32_t bits() {
    state_ = state_ * 6364136223846793005u + 1442695040888963407u;
    return static_cast<uint32_t>(state_ >> 32);
  }
  float number() { return static_cast<float>(bits() >> 8) / 4194304.0f - 2.0f; }  // [-2, 2)

 private:
  uint64_t state_;
};

// `count` values of a type; halves lie in +-[0.5, 1) so that no conversion is needed to make them.
inline std::vector<char> noise(size_t count, BNNSDataType type, uint32_t seed) {
  Noise source(seed);
  std::vector<char> data(count * bytes_of(type));
  for (size_t i = 0; i < count; ++i) {
    uint32_t bits = source.bits();
    if (type == BNNSDataTypeFloat32) {
      const float value = source.number();
      std::memcpy(&bits, &value, sizeof bits);
    } else if (type == BNNSDataTypeFloat16) {
      bits = (bits & 0x83FF) | 0x3800;
    }
    std::memcpy(&data[i * bytes_of(type)], &bits, bytes_of(type));
  }
  return data;
}

struct Results {
  std::vector<char> out;
  std::vector<float> in_delta, weights_delta, bias_delta;

  bool operator==(const Results& other) const {
    const auto same = [](const auto& a, const auto& b) {
      return a.size() == b.size() &&
             (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof a[0]) == 0);
    };
    return same(out, other.out) && same(in_delta, other.in_delta) &&
           same(weights_delta, other.weights_delta) && same(bias_delta, other.bias_delta);
  }
  void fill(unsigned char byte) {
    const auto set = [&](auto& v) {
      if (!v.empty()) std::memset(v.data(), byte, v.size() * sizeof v[0]);
    };
    set(out), set(in_delta), set(weights_delta), set(bias_delta);
  }
};

class Workload {
 public:
  virtual ~Workload() = default;

  BNNSFilter create(size_t threads, BNNSAlloc alloc = nullptr, BNNSFree release = nullptr) const {
    return make({flags_, threads, alloc, release});
  }
  BNNSFilter create_with_flags(uint32_t flags) const { return make({flags, 1, nullptr, nullptr}); }
  virtual Results make_results() const = 0;
  virtual int forward(BNNSFilter filter, Results& results) const = 0;
  // Needs the output of a forward call in `results`.
  virtual int backward(BNNSFilter filter, Results& results) const = 0;

  const std::string& name() const { return name_; }
  size_t batch() const { return batch_; }
  bool trainable() const { return trainable_; }
  // Remembers the forward call for the backward one, under a lock of its own.
  bool guarded() const { return guarded_; }

 protected:
  Workload(std::string name, size_t batch) : name_(std::move(name)), batch_(batch) {}

  static size_t count(const BNNSNDArrayDescriptor& d) {
    size_t n = 1;
    for (size_t k = 0; k < static_cast<uint32_t>(d.layout) >> 16; ++k) n *= d.size[k];
    return n;
  }
  static std::vector<float> floats(size_t count, uint32_t seed) {
    const std::vector<char> bytes = noise(count, BNNSDataTypeFloat32, seed);
    std::vector<float> values(count);
    std::memcpy(values.data(), bytes.data(), bytes.size());
    return values;
  }

  virtual BNNSFilter make(const BNNSFilterParameters& parameters) const = 0;

  uint32_t flags_ = 0;
  bool trainable_ = false;
  bool guarded_ = false;

 private:
  std::string name_;
  size_t batch_;
};

using Workloads = std::vector<std::unique_ptr<Workload>>;

}  // namespace test
