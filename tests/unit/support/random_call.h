// What tests of random generators share: a generator that destroys itself, and an array of any type
// that can be read as numbers.
#pragma once

#include <cstddef>
#include <cstring>
#include <span>
#include <vector>

#include "support/call_builder.h"

namespace bnns::test {

inline constexpr BNNSDataType kFloats[] = {BNNSDataTypeFloat32, BNNSDataTypeFloat16,
                                           BNNSDataTypeBFloat16};
inline constexpr BNNSDataType kIntegers[] = {
    BNNSDataTypeInt8,  BNNSDataTypeInt16,  BNNSDataTypeInt32,  BNNSDataTypeInt64,
    BNNSDataTypeUInt8, BNNSDataTypeUInt16, BNNSDataTypeUInt32, BNNSDataTypeUInt64};

class Generator {
 public:
  Generator() : handle_(BNNSCreateRandomGenerator(BNNSRandomGeneratorMethodAES_CTR, nullptr)) {}
  explicit Generator(uint64_t seed, const BNNSFilterParameters* options = nullptr)
      : handle_(
            BNNSCreateRandomGeneratorWithSeed(BNNSRandomGeneratorMethodAES_CTR, seed, options)) {}
  Generator(const Generator&) = delete;
  Generator& operator=(const Generator&) = delete;
  ~Generator() { BNNSDestroyRandomGenerator(handle_); }

  BNNSRandomGenerator get() const { return handle_; }

 private:
  BNNSRandomGenerator handle_;
};

// A dense vector; numbers go in and out through BNNSCopy, 64-bit integers as they are.
class Stored {
 public:
  Stored(size_t n, BNNSDataType type)
      : n_(n), words_((n * bytes_of(type) + 7) / 8), desc_(vector_of(n, words_.data(), type)) {}
  Stored(const Stored&) = delete;
  Stored& operator=(const Stored&) = delete;

  BNNSNDArrayDescriptor* desc() { return &desc_; }
  std::span<const std::byte> bytes() const {
    return {reinterpret_cast<const std::byte*>(words_.data()), n_ * bytes_of(desc_.data_type)};
  }

  void set(const std::vector<double>& numbers) {
    std::vector<float> floats(numbers.begin(), numbers.end());
    const BNNSNDArrayDescriptor from = vector_of(n_, floats.data());
    BNNSCopy(&desc_, &from, nullptr);
  }
  std::vector<double> values() const {
    std::vector<double> numbers(n_);
    for (size_t i = 0; i < n_; ++i) {
      if (desc_.data_type == BNNSDataTypeInt64)
        numbers[i] = static_cast<double>(static_cast<int64_t>(words_[i]));
      if (desc_.data_type == BNNSDataTypeUInt64) numbers[i] = static_cast<double>(words_[i]);
    }
    if (bytes_of(desc_.data_type) == 8) return numbers;
    std::vector<float> floats(n_);
    BNNSNDArrayDescriptor to = vector_of(n_, floats.data());
    BNNSCopy(&to, &desc_, nullptr);
    return {floats.begin(), floats.end()};
  }

 private:
  static size_t bytes_of(BNNSDataType type) { return (static_cast<uint32_t>(type) & 0x7FFF) / 8; }

  size_t n_;
  std::vector<uint64_t> words_;
  BNNSNDArrayDescriptor desc_;
};

}  // namespace bnns::test
