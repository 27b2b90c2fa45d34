// Resizing a tensor along any of its axes: y is the product of the maps of axis_map.h along the
// axes whose sizes differ, applied to x; dx is the product of their transposes, applied to dy.
// Each row of the result is computed by one thread: the rows that it depends on are summed with the
// products of their weights, in an order that the problem fixes, then the sum is mapped along the
// row. Sums are kept in float, whatever the types.
#pragma once

#include <cstddef>

#include "core/batch.h"
#include "ops/convert/convert.h"
#include "ops/resize/axis_map.h"
#include "ops/resize/kernels.h"

namespace bnns::impl {

struct ResizeProblem {
  ResizeRule rule;
  size_t rank = 0;
  size_t in[kMaxRank] = {};        // extents in the order of the input's memory
  size_t out[kMaxRank] = {};       // extents in the order of the output's memory
  uint8_t in_axis[kMaxRank] = {};  // by axis of the output: the axis of the input
};

class ResizeOp {
 public:
  ResizeOp(const Memory& memory, size_t threads, const ResizeProblem& problem);

  // Samples have the extents of the problem, in any type and with any strides.
  void forward(const Batch& x, const Batch& y) const;
  void backward(const Batch& dy, const Gradient& dx) const;

 private:
  struct Axis {
    uint8_t in;                 // the axis of the input
    AxisMap forward, backward;  // empty where the sizes are equal
  };

  size_t threads_;
  size_t rank_;
  Axis axis_[kMaxRank];  // in the order of the output's memory
  const ResizeKernels* kernels_;
  const ConvertKernels* convert_;
};

}  // namespace bnns::impl
