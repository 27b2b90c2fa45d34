// What the passes of the pooling op share: the tensors of a call.
#pragma once

#include <cmath>
#include <cstddef>

#include "ops/pooling/pooling.h"

namespace bnns::impl {

struct PoolingOp::ForwardCall {
  Planes in, out;
  Batch indices;
  const float* bias;  // by channel, NULL: none
};

struct PoolingOp::BackwardCall {
  Planes in, out, dy, dx;
  bool wants_dx, accumulate;
  Batch indices;  // without data: found again from in
  // Of all planes. offsets NULL: they have none.
  PoolingIndexRange* ranges;
  uint16_t* offsets;
  PoolingOrigins origins;
};

}  // namespace bnns::impl
