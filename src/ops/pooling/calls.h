// What the passes of the pooling op share: the tensors of a call.
#pragma once

#include <cmath>
#include <cstddef>

#include "ops/pooling/pooling.h"

namespace bnns::impl {

struct PoolingOp::ForwardCall {
  Planes in, out;
  Batch indices;
  const float* bias;  // one per channel; NULL: none
};

struct PoolingOp::BackwardCall {
  Planes in, out, dy, dx;
  bool wants_dx, accumulate;
  Batch indices;  // without data: Max computes them again from `in`
  // Max: one range per plane, one offset per window of all planes. offsets NULL: not used.
  PoolingIndexRange* ranges;
  uint16_t* offsets;
  PoolingOrigins origins;
};

}  // namespace bnns::impl
