#include "core/view.h"

#include "core/batch.h"

namespace bnns::impl {
namespace {

// Appends an axis to a collapsed view; it is joined with the last one if one stride describes both.
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

View batched(const View& sample, const void* data, size_t size, size_t step) {
  View result = sample;
  result.data = const_cast<void*>(data);
  result.rank = 0;
  // With interleaved samples the batch is the fastest axis in memory; the order of elements stays
  // sample by sample all the same.
  for (size_t k = 0; k < sample.rank; ++k) push_axis(result, sample.extent[k], sample.stride[k]);
  push_axis(result, size, step);
  if (result.rank == 0) {
    result.rank = 1;
    result.extent[0] = 1;
    result.stride[0] = 1;
  }
  result.count = sample.count * size;
  result.span = sample.span + (size - 1) * step;
  result.step = std::max(sample.step, size * step);
  return result;
}

View whole(const Batch& batch) {
  return batched(*batch.sample, batch.data, batch.size, batch.step);
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
