// The axes that several tensors have in common: the extent of each, a stride per tensor, and
// whether the axis is kept or reduced. Elements that differ in reduced axes only form a group. A
// tensor that is broadcast along an axis, or that has one value per group, has the stride 0 there;
// one that is stored backwards has a negative stride.
#pragma once

#include <array>
#include <cstddef>

#include "core/view.h"

namespace bnns::impl {

constexpr size_t kMaxAxesTensors = 4;

// One offset per tensor, in values.
using AxesOffsets = std::array<ptrdiff_t, kMaxAxesTensors>;

struct Axis {
  size_t extent;
  bool reduced;
  AxesOffsets stride;  // 0 for tensors that do not exist
};

// The constructor does not clear the array of axes: a call on a small tensor takes only some ten
// nanoseconds, and clearing would be felt.
class Axes {
 public:
  Axes() {}

  size_t rank() const { return rank_; }
  // Number of elements: the product of the extents.
  size_t count() const { return count_; }
  const Axis& operator[](size_t k) const { return axis_[k]; }
  Axis& operator[](size_t k) { return axis_[k]; }

  // Appends an axis; the fastest one comes first.
  void push(const Axis& axis) {
    axis_[rank_++] = axis;
    count_ *= axis.extent;
  }
  // Appends an axis to collapsed ones: drops it if it has one element, and joins it with the last
  // one if both are reduced or both kept, and if one stride can describe both in every tensor.
  void push_collapsed(const Axis& axis);

  // The offset of the index-th element of every tensor, plus `base`; the index runs along the
  // fastest axis first.
  AxesOffsets at(size_t index, AxesOffsets base = {}) const {
    for (size_t k = 0; k < rank_; ++k) {
      const auto i = static_cast<ptrdiff_t>(index % axis_[k].extent);
      index /= axis_[k].extent;
      for (size_t t = 0; t < kMaxAxesTensors; ++t) base[t] += i * axis_[k].stride[t];
    }
    return base;
  }

 private:
  size_t rank_ = 0, count_ = 1;
  Axis axis_[kMaxRank + 1];  // one more for the batch
};

// As few axes as possible that give the same elements in the same order.
Axes collapsed(const Axes& axes);

// The axes of one tensor as a collapsed view without data; its strides must not be negative.
View view_of(const Axes& axes, size_t tensor);

// What describes a tensor besides its strides, which are in Axes.
struct AxesTensor {
  void* data;
  BNNSDataType type = BNNSDataTypeFloat32;
  Scaling scaling = {};
};

inline AxesTensor tensor_of(const View& view) {
  return {.data = view.data, .type = view.type, .scaling = view.scaling};
}

}  // namespace bnns::impl
