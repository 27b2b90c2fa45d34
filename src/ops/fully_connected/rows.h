// Samples of a batch as rows of a matrix; shared by the files of fully_connected.h.
#pragma once

#include <algorithm>

#include "ops/fully_connected/fully_connected.h"

namespace bnns::impl {

inline bool is_row(const View& view) {
  return view.is_float() && view.is_dense();
}

inline const float* sample(const FullyConnectedOp::Rows& rows, size_t index, size_t stride) {
  return static_cast<const float*>(rows.data) + index * stride;
}

inline size_t step_of(const View& one, size_t stride) {
  return stride == 0 ? one.span : stride;
}

// What floats(samples) is at most for the chunks of a batch: the last may be smaller and is another
// product then.
template <class Floats>
size_t most_floats(size_t batch, size_t chunk, const Floats& floats) {
  const size_t rest = batch % chunk;
  return std::max(floats(chunk), rest == 0 ? 0 : floats(rest));
}

// Samples [first, first + n) of a batch as one view.
inline View samples_of(const View& one, const void* data, size_t stride, size_t first, size_t n) {
  const auto* start =
      static_cast<const char*>(data) + first * step_of(one, stride) * type_bytes(one.type);
  return batched(one, start, n, stride);
}

}  // namespace bnns::impl
