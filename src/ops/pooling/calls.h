// What the passes of the pooling op share: the tensors of a call, and softmax along the rows of a
// plane.
#pragma once

#include <cmath>
#include <cstddef>

#include "ops/pooling/pooling.h"

namespace bnns::impl {

struct PoolingOp::ForwardCall {
  Planes in, out;
  PoolingIndices indices;
  const float* bias;  // by channel, NULL: none
};

struct PoolingOp::BackwardCall {
  Planes in, out, dy, dx;
  bool wants_dx, accumulate;
  PoolingIndices indices;  // data NULL: found again from in
  // Of all planes. offsets NULL: they have none.
  PoolingIndexRange* ranges;
  uint16_t* offsets;
  PoolingOrigins origins;
};

inline bool along_rows(const ActivationRow& row) {
  return row.function == BNNSActivationFunctionSoftmax ||
         row.function == BNNSActivationFunctionLogSoftmax;
}

inline SoftmaxKind softmax_kind(const ActivationRow& row) {
  return row.function == BNNSActivationFunctionLogSoftmax ? SoftmaxKind::kLogSoftmax
                                                          : SoftmaxKind::kSoftmax;
}

// The rows of planes whose rows are `a`, `b` and `c` values apart.
inline SoftmaxAxes row_axes(size_t width, size_t height, size_t a, size_t b, size_t c) {
  SoftmaxAxes axes;
  axes.rank = 2;
  axes.extent[0] = width;
  axes.extent[1] = height;
  axes.reduced[0] = true;
  const size_t steps[SoftmaxAxes::kTensors] = {a, b, c};
  for (size_t k = 0; k < SoftmaxAxes::kTensors; ++k) {
    axes.stride[k][0] = 1;
    axes.stride[k][1] = steps[k];
  }
  return axes;
}

}  // namespace bnns::impl
