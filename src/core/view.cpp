#include "core/view.h"

namespace bnns::impl {
namespace {

// Appends an axis to a collapsed view, joining it with the last one where they form one line.
void push_axis(View& view, size_t extent, size_t stride) {
  if (extent == 1) return;
  if (view.rank > 0) {
    const size_t last = view.rank - 1;
    if (stride == view.stride[last] * view.extent[last]) {
      view.extent[last] *= extent;
      return;
    }
  }
  view.extent[view.rank] = extent;
  view.stride[view.rank] = stride;
  ++view.rank;
}

}  // namespace

View collapsed(const View& view) {
  View result = view;
  result.rank = 0;
  for (size_t k = 0; k < view.rank; ++k) push_axis(result, view.extent[k], view.stride[k]);
  if (result.rank == 0) {
    result.rank = 1;
    result.extent[0] = 1;
    result.stride[0] = 1;
  }
  return result;
}

View batched(const View& view, const void* data, size_t batch, size_t batch_stride) {
  View result = view;
  result.data = const_cast<void*>(data);
  result.rank = 0;
  const size_t step = batch_stride == 0 ? view.span : batch_stride;
  // A batch stride below the inner stride makes the batch the fastest axis in memory; the order of
  // elements stays sample by sample.
  for (size_t k = 0; k < view.rank; ++k) push_axis(result, view.extent[k], view.stride[k]);
  push_axis(result, batch, step);
  if (result.rank == 0) {
    result.rank = 1;
    result.extent[0] = 1;
    result.stride[0] = 1;
  }
  result.count = view.count * batch;
  result.span = view.span + (batch - 1) * step;
  return result;
}

Walker::Walker(const View& view, size_t first) : view_(view) {
  for (size_t k = 0; k < view.rank && first != 0; ++k) {
    index_[k] = first % view.extent[k];
    offset_ += index_[k] * view.stride[k];
    first /= view.extent[k];
  }
}

void Walker::carry() {
  for (size_t k = 0; k + 1 < view_.rank && index_[k] == view_.extent[k]; ++k) {
    offset_ -= index_[k] * view_.stride[k];
    index_[k] = 0;
    ++index_[k + 1];
    offset_ += view_.stride[k + 1];
  }
}

}  // namespace bnns::impl
