// A batch with its axes in the order a formula speaks of, whatever the layout, and its values as
// dense floats, whatever type and strides.
#pragma once

#include <cstddef>

#include "core/batch.h"
#include "core/descriptor.h"
#include "ops/convert/convert.h"

namespace bnns::impl {

// place[i] is where the i-th coordinate, counted from the last, goes: 0 is the fastest axis of the
// view. Coordinates of the same place stay in the order of memory; samples come last.
View by_coordinates(const Batch& batch, const LayoutInfo& layout, const size_t (&place)[kMaxRank]);

// From the last coordinate to the first: rows of matrices one after the other.
inline constexpr size_t kLastFirst[kMaxRank] = {0, 1, 2, 3, 4, 5, 6, 7};

// Values of a collapsed view from `first` on as dense floats: where they lie, or `copy`.
inline float* dense_or(float* copy, const View& view, size_t first) {
  const bool dense = view.is_float() && view.rank == 1 && view.stride[0] == 1;
  return dense ? static_cast<float*>(view.data) + first : copy;
}
// The same for n values that are read: into `copy`, if they are not used where they lie.
inline const float* read_dense(const ConvertKernels& kernels, const View& view, size_t first,
                               size_t n, float* copy) {
  const float* values = dense_or(copy, view, first);
  if (values == copy) read_values(kernels, view, first, n, copy);
  return values;
}

}  // namespace bnns::impl
