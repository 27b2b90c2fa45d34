// The axes of a contraction: an extent, and a stride in each of the three tensors A, B and C. A
// tensor that does not have an axis, or is broadcast along it, has the stride 0 there.
#pragma once

#include <cstddef>

#include "core/view.h"

namespace bnns::impl {

enum ContractionTensor : size_t { kLeft, kRight, kResult };
constexpr size_t kContractionTensors = 3;

struct ContractionAxis {
  size_t extent;
  size_t stride[kContractionTensors];  // in values

  bool in(ContractionTensor t) const { return stride[t] != 0; }
};

// A list with room for the axes of two tensors of the greatest rank and the batch. The constructor
// does not clear it: a plan has many lists, and a small product takes some ten nanoseconds.
class ContractionAxes {
 public:
  static constexpr size_t kMost = 2 * kMaxRank + 2;

  ContractionAxes() {}
  ContractionAxes(const ContractionAxes& other) { *this = other; }
  ContractionAxes& operator=(const ContractionAxes& other) {
    size_ = 0;
    for (const ContractionAxis& axis : other) push(axis);
    return *this;
  }

  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  const ContractionAxis* begin() const { return axis_; }
  const ContractionAxis* end() const { return axis_ + size_; }
  ContractionAxis* begin() { return axis_; }
  ContractionAxis* end() { return axis_ + size_; }
  const ContractionAxis& operator[](size_t i) const { return axis_[i]; }
  ContractionAxis& operator[](size_t i) { return axis_[i]; }

  void push(const ContractionAxis& axis) { axis_[size_++] = axis; }
  ContractionAxis take(size_t i) {
    const ContractionAxis axis = axis_[i];
    for (--size_; i < size_; ++i) axis_[i] = axis_[i + 1];
    return axis;
  }

  size_t count() const {
    size_t n = 1;
    for (const ContractionAxis& axis : *this) n *= axis.extent;
    return n;
  }

 private:
  size_t size_ = 0;
  ContractionAxis axis_[kMost];
};

// One offset per tensor, in values.
struct ContractionOffsets {
  size_t of[kContractionTensors] = {};

  void move(const ContractionAxis& axis, size_t steps) {
    for (size_t t = 0; t < kContractionTensors; ++t) of[t] += steps * axis.stride[t];
  }
  void move_back(const ContractionAxis& axis, size_t steps) {
    for (size_t t = 0; t < kContractionTensors; ++t) of[t] -= steps * axis.stride[t];
  }
};

// The places of consecutive elements, the first axis running fastest.
class ContractionWalker {
 public:
  ContractionWalker(const ContractionAxes& axes, size_t first, ContractionOffsets base = {})
      : axes_(axes), at_(base) {
    for (size_t k = 0; k < axes.size(); ++k) {
      index_[k] = first % axes[k].extent;
      first /= axes[k].extent;
      at_.move(axes[k], index_[k]);
    }
  }

  const ContractionOffsets& at() const { return at_; }
  // Elements up to the end of the first axis.
  size_t run() const { return axes_.empty() ? 1 : axes_[0].extent - index_[0]; }
  // n must not exceed run().
  void advance(size_t n) {
    if (axes_.empty()) return;
    index_[0] += n;
    at_.move(axes_[0], n);
    for (size_t k = 0; k + 1 < axes_.size() && index_[k] == axes_[k].extent; ++k) {
      at_.move_back(axes_[k], index_[k]);
      index_[k] = 0;
      ++index_[k + 1];
      at_.move(axes_[k + 1], 1);
    }
  }

 private:
  const ContractionAxes& axes_;
  ContractionOffsets at_;
  size_t index_[ContractionAxes::kMost];
};

}  // namespace bnns::impl
