// One pass of resize.h, forward or backward: the axes of a call, and the loop over the rows of its
// target. A row is computed in blocks whose sources fit buffers in the first-level cache.
#pragma once

#include <cstddef>

#include "core/batch.h"
#include "ops/convert/convert.h"
#include "ops/resize/axis_map.h"
#include "ops/resize/kernels.h"

namespace bnns::impl {

struct ResizeAxis {
  size_t targets, sources;
  size_t to_stride, from_stride;  // in values
  const AxisMap* map;             // nullptr: target t is source t
};

struct ResizePass {
  const ResizeKernels* kernels;
  const ConvertKernels* convert;
  const void* from;
  void* to;
  BNNSDataType from_type, to_type;
  bool accumulate;
  size_t rank = 0;
  ResizeAxis axis[kMaxRank + 1];  // axis 0 is that of the rows

  // Appends an axis, the fastest one of the target first. Axes without a map are joined where one
  // stride describes both.
  void push(const ResizeAxis& next);
  void run(size_t threads) const;
};

}  // namespace bnns::impl
