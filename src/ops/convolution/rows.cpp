#include "ops/convolution/rows.h"

namespace bnns::impl {

View row_view(const Batch& images, size_t n, size_t c, size_t y) {
  const View& one = *images.sample;
  View row = one;
  row.data = images.at<char>(0) + row_offset(images, n, c, y) * type_bytes(one.type);
  row.rank = 1;
  row.count = one.extent[0];
  row.span = 1 + (row.count - 1) * one.stride[0];
  return row;
}

Row RowReader::read(size_t n, size_t c, size_t y, float* scratch) const {
  if (is_direct()) return {row_of(images_, n, c, y), one().stride[0]};
  read_values(*run_->convert, row_view(images_, n, c, y), 0, one().extent[0], scratch);
  return {scratch, 1};
}

}  // namespace bnns::impl
