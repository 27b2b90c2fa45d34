// Rows of images as the convolution reads and writes them: Float32 in place, other types through a
// small buffer.
#pragma once

#include <cstddef>

#include "core/view.h"
#include "ops/activation/fused.h"
#include "ops/convert/convert.h"

namespace bnns::impl {

// A batch of images; `one` has the axes x, y, channel.
struct ImageBatch {
  View one;
  const void* data = nullptr;
  size_t stride = 0;  // of samples; 0: packed

  size_t step() const { return stride == 0 ? one.span : stride; }
  // Of the first value of a row, in values.
  size_t offset(size_t n, size_t c, size_t y) const {
    return n * step() + c * one.stride[2] + y * one.stride[1];
  }
  bool is_float() const { return one.is_float(); }
  float* floats() const { return static_cast<float*>(const_cast<void*>(data)); }
  // The same images from sample n on; none if there is no data.
  ImageBatch from(size_t n) const {
    ImageBatch rest = *this;
    if (data == nullptr) return rest;
    rest.data = static_cast<const char*>(data) + n * step() * type_bytes(one.type);
    return rest;
  }
  View row_view(size_t n, size_t c, size_t y) const {
    View row = one;
    const size_t bytes = offset(n, c, y) * type_bytes(one.type);
    row.data = static_cast<char*>(const_cast<void*>(data)) + bytes;
    row.rank = 1;
    row.count = one.extent[0];
    row.span = 1 + (row.count - 1) * one.stride[0];
    return row;
  }
};

struct Row {
  const float* data;
  size_t step;
};

class RowReader {
 public:
  // Floats of scratch for rows of `width` values.
  static size_t scratch(size_t width) { return width; }

  RowReader(const ElementRun& run, const ImageBatch& images) : run_(&run), images_(images) {}

  // Rows can be read where they lie, as images(): read() then needs no scratch.
  bool is_direct() const { return images_.is_float(); }
  const ImageBatch& images() const { return images_; }
  Row read(size_t n, size_t c, size_t y, float* scratch) const;
  const View& one() const { return images_.one; }

 private:
  const ElementRun* run_;
  ImageBatch images_;
};

}  // namespace bnns::impl
