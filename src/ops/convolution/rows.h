// Rows of images as the convolution reads and writes them: Float32 in place, other types through a
// small buffer. The view of a sample has the axes x, y, channel.
#pragma once

#include <cstddef>

#include "core/batch.h"
#include "ops/activation/fused.h"
#include "ops/convert/convert.h"

namespace bnns::impl {

// Offset of the first value of a row, in values.
inline size_t row_offset(const Batch& images, size_t n, size_t c, size_t y) {
  const View& one = *images.sample;
  return n * images.step + c * one.stride[2] + y * one.stride[1];
}
// Address of a row of Float32 images.
inline float* row_of(const Batch& images, size_t n, size_t c, size_t y) {
  return images.at<float>(0) + row_offset(images, n, c, y);
}
View row_view(const Batch& images, size_t n, size_t c, size_t y);

struct Row {
  const float* data;
  size_t step;
};

class RowReader {
 public:
  // Floats of scratch for rows of `width` values.
  static size_t scratch(size_t width) { return width; }

  RowReader(const ElementRun& run, const Batch& images) : run_(&run), images_(images) {}

  // Whether rows are read in place, from images(): read() then needs no scratch.
  bool is_direct() const { return one().is_float(); }
  const Batch& images() const { return images_; }
  Row read(size_t n, size_t c, size_t y, float* scratch) const;
  const View& one() const { return *images_.sample; }

 private:
  const ElementRun* run_;
  Batch images_;
};

}  // namespace bnns::impl
