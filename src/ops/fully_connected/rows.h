// Samples of a batch as rows of a matrix; shared by the files of fully_connected.h.
#pragma once

#include <algorithm>

#include "ops/fully_connected/fully_connected.h"

namespace bnns::impl {

inline bool is_row(const View& view) {
  return view.is_float() && view.is_dense();
}

// What floats(samples) is at most for the chunks of a batch: the last may be smaller and is another
// product then.
template <class Floats>
size_t most_floats(size_t batch, size_t chunk, const Floats& floats) {
  const size_t rest = batch % chunk;
  return std::max(floats(chunk), rest == 0 ? 0 : floats(rest));
}

}  // namespace bnns::impl
