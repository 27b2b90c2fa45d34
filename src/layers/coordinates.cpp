#include "layers/coordinates.h"

namespace bnns::impl {

View by_coordinates(const Batch& batch, const LayoutInfo& layout, const size_t (&place)[kMaxRank]) {
  View sample = *batch.sample;
  sample.rank = 0;
  for (size_t p = 0; p < kMaxRank; ++p) {
    for (size_t axis = 0; axis < layout.rank; ++axis) {
      size_t from_last = 0;
      while (layout.tuple[layout.rank - 1 - from_last] != layout.pair[axis]) ++from_last;
      if (place[from_last] != p) continue;
      sample.extent[sample.rank] = batch.sample->extent[axis];
      sample.stride[sample.rank++] = batch.sample->stride[axis];
    }
  }
  return batched(sample, batch.data, batch.size, batch.step);
}

}  // namespace bnns::impl
