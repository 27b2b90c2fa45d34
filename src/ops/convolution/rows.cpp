#include "ops/convolution/rows.h"

namespace bnns::impl {

Row RowReader::read(size_t n, size_t c, size_t y, float* scratch) const {
  if (is_direct()) return {images_.floats() + images_.offset(n, c, y), images_.one.stride[0]};
  read_values(*run_->convert, images_.row_view(n, c, y), 0, images_.one.extent[0], scratch);
  return {scratch, 1};
}

}  // namespace bnns::impl
