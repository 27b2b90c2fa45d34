// The k best of a stream of values, and the kernels that feed it. A value and its index are packed
// into one number, the better the larger, so that the order is total and the result does not depend
// on how the stream is cut or who reads it: the value comes first, then the lower index. -0 equals
// 0, all NaN are equal and count as larger than infinity. A stream whose first piece is long is
// looked at twice: the k-th best of the maxima of some groups of values is a floor that few values
// pass, and values below it cannot be among the k best.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

namespace bnns::impl {

// Indices are below this, so that they fit into half of a packed number, and no packed number is 0.
constexpr size_t kMostValues = UINT32_MAX;

namespace packing {

constexpr uint32_t kSign = 0x80000000;

// Keeps the order of floats; NaN is the largest.
inline uint32_t ordered(float value) {
  if (value != value) return UINT32_MAX;
  const auto bits = std::bit_cast<uint32_t>(value == 0 ? 0.0f : value);
  return (bits & kSign) != 0 ? ~bits : bits | kSign;
}
// Some value with this place in the order.
inline float unordered(uint32_t key) {
  return std::bit_cast<float>((key & kSign) != 0 ? key & ~kSign : ~key);
}

}  // namespace packing

// Larger values are better.
struct Largest {
  static uint64_t pack(float value, size_t index) {
    return uint64_t{packing::ordered(value)} << 32 | static_cast<uint32_t>(~index);
  }
  // Of a floor, some value below the values that pass: there is none between -0 and 0.
  static float value(uint64_t packed) {
    const auto key = static_cast<uint32_t>(packed >> 32);
    return packing::unordered(key == packing::kSign - 1 ? key - 1 : key);
  }
};

// Smaller values are better; NaN comes last.
struct Smallest {
  static uint64_t pack(float value, size_t index) {
    return ~(uint64_t{packing::ordered(value)} << 32 | index);
  }
  static float value(uint64_t packed) {
    return packing::unordered(static_cast<uint32_t>(~packed >> 32));
  }
};

// Of either order.
inline size_t index_of(uint64_t packed) {
  return static_cast<uint32_t>(~packed);
}

// A short list is kept sorted: a random stream of n values changes it only about k (1 + log(n / k))
// times. A long one collects candidates, and drops all but the k best when its memory is full.
class Selection {
 public:
  static constexpr size_t kMostSorted = 32;

  static bool is_sorted(size_t k) { return k <= kMostSorted; }
  // Packed numbers that a selection of k needs room for.
  static size_t capacity(size_t k) { return is_sorted(k) ? k : 2 * k; }

  Selection() = default;
  Selection(size_t k, uint64_t* memory) : k_(k), best_(memory) {}

  // Every candidate not above this one can be left out; 0 as long as none can.
  uint64_t worst() const { return worst_; }
  size_t wanted() const { return k_; }
  bool is_empty() const { return size_ == 0; }

  // At least k values of the stream have a key, the upper half of a packed number, of `key` or
  // more.
  void set_floor(uint32_t key) {
    if (key > 0) worst_ = (uint64_t{key} << 32) - 1;
  }

  void add(uint64_t packed) {
    if (!is_sorted(k_)) {
      best_[size_++] = packed;
      if (size_ == capacity(k_)) drop();
      return;
    }
    size_t place = size_ < k_ ? size_++ : k_ - 1;
    for (; place > 0 && best_[place - 1] < packed; --place) best_[place] = best_[place - 1];
    best_[place] = packed;
    if (size_ == k_) worst_ = best_[k_ - 1];
  }

  // The k best, or all if there are fewer, in order.
  const uint64_t* finish();
  size_t size() const { return size_ < k_ ? size_ : k_; }

 private:
  void drop();

  size_t k_ = 0, size_ = 0;
  uint64_t worst_ = 0;
  uint64_t* best_ = nullptr;
};

// Reorders the values.
int32_t kth_largest(int32_t* values, size_t n, size_t k);

// Neighbouring rows whose values are read together.
constexpr size_t kRowsAcross = 16;

struct SelectionKernels {
  // Offer values x[0] ... x[n - 1] with indices from `first` on, which ascend from call to call.
  void (*largest)(const float* x, size_t n, size_t first, Selection& selection);
  void (*smallest)(const float* x, size_t n, size_t first, Selection& selection);
  // The same for the largest values of kRowsAcross rows with sorted selections: x[i * stride + r]
  // belongs to row r. Only the first `rows` are offered, but all are read.
  void (*largest_across)(const float* x, size_t stride, size_t n, size_t first, size_t rows,
                         Selection* selections);
  // The number of values above `bound`, a number; NaN counts.
  size_t (*count_above)(const float* x, size_t n, float bound);
};
const SelectionKernels* selection_kernels();

}  // namespace bnns::impl
