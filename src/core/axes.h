// The axes that several tensors have in common: the extent of each, a stride per tensor, and
// whether the axis is kept or reduced. Elements that differ in reduced axes only form a group. A
// tensor that is broadcast along an axis, or that has one value per group, has the stride 0 there;
// one that is stored backwards has a negative stride.
#pragma once

#include <array>
#include <cstddef>

#include "core/view.h"

namespace bnns::impl {

// One offset per tensor, in values.
template <size_t kTensors>
using OffsetsOf = std::array<ptrdiff_t, kTensors>;

template <size_t kTensors>
struct AxisOf {
  size_t extent;
  bool reduced;
  OffsetsOf<kTensors> stride;  // 0 for tensors that do not exist
};

// The constructor does not clear the array of axes: a call on a small tensor takes only some ten
// nanoseconds, and clearing would be felt.
template <size_t kTensors>
class AxesOf {
 public:
  using Axis = AxisOf<kTensors>;
  using Offsets = OffsetsOf<kTensors>;

  AxesOf() {}

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
  Offsets at(size_t index, Offsets base = {}) const {
    for (size_t k = 0; k < rank_; ++k) {
      const auto i = static_cast<ptrdiff_t>(index % axis_[k].extent);
      index /= axis_[k].extent;
      for (size_t t = 0; t < kTensors; ++t) base[t] += i * axis_[k].stride[t];
    }
    return base;
  }

 private:
  size_t rank_ = 0, count_ = 1;
  Axis axis_[kMaxRank + 1];  // one more for the batch
};

template <size_t kTensors>
void AxesOf<kTensors>::push_collapsed(const Axis& axis) {
  if (axis.extent == 1) return;
  if (rank_ > 0) {
    Axis& last = axis_[rank_ - 1];
    bool line = axis.reduced == last.reduced;
    for (size_t t = 0; t < kTensors; ++t)
      line &= axis.stride[t] == last.stride[t] * static_cast<ptrdiff_t>(last.extent);
    if (line) {
      last.extent *= axis.extent;
      count_ *= axis.extent;
      return;
    }
  }
  push(axis);
}

// As few axes as possible that give the same elements in the same order.
template <size_t kTensors>
AxesOf<kTensors> collapsed(const AxesOf<kTensors>& axes) {
  AxesOf<kTensors> result;
  for (size_t k = 0; k < axes.rank(); ++k) result.push_collapsed(axes[k]);
  return result;
}

// The axes of one tensor as a collapsed view without data; its strides must not be negative.
template <size_t kTensors>
View view_of(const AxesOf<kTensors>& axes, size_t tensor) {
  View view;
  view.rank = axes.rank();
  view.count = axes.count();
  for (size_t k = 0; k < view.rank; ++k) {
    view.extent[k] = axes[k].extent;
    view.stride[k] = static_cast<size_t>(axes[k].stride[tensor]);
  }
  return collapsed(view);
}

// Iterates over axes in runs: consecutive elements of the fastest axis, of all tensors at once.
template <size_t kTensors>
class AxesWalker {
 public:
  AxesWalker(const AxesOf<kTensors>& axes, size_t first) : axes_(axes) {
    for (size_t k = 0; k < axes.rank(); ++k) {
      index_[k] = first % axes[k].extent;
      first /= axes[k].extent;
      move(k, static_cast<ptrdiff_t>(index_[k]));
    }
  }

  const OffsetsOf<kTensors>& offsets() const { return offsets_; }  // of the current element
  size_t run() const { return axes_.rank() == 0 ? 1 : axes_[0].extent - index_[0]; }
  // n must not exceed run().
  void advance(size_t n) {
    if (axes_.rank() == 0) return;
    index_[0] += n;
    move(0, static_cast<ptrdiff_t>(n));
    for (size_t k = 0; k + 1 < axes_.rank() && index_[k] == axes_[k].extent; ++k) {
      move(k, -static_cast<ptrdiff_t>(index_[k]));
      index_[k] = 0;
      ++index_[k + 1];
      move(k + 1, 1);
    }
  }

 private:
  void move(size_t axis, ptrdiff_t steps) {
    for (size_t t = 0; t < kTensors; ++t) offsets_[t] += steps * axes_[axis].stride[t];
  }

  const AxesOf<kTensors>& axes_;
  size_t index_[kMaxRank + 1];
  OffsetsOf<kTensors> offsets_ = {};
};

// Up to four tensors are enough for most operations.
constexpr size_t kMaxAxesTensors = 4;
using AxesOffsets = OffsetsOf<kMaxAxesTensors>;
using Axis = AxisOf<kMaxAxesTensors>;
using Axes = AxesOf<kMaxAxesTensors>;

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
