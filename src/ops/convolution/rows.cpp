#include "ops/convolution/rows.h"

namespace bnns::impl {
namespace {

SoftmaxAxes row_axes(size_t n) {
  SoftmaxAxes axes;
  axes.rank = 1;
  axes.extent[0] = n;
  axes.reduced[0] = true;
  for (auto& stride : axes.stride) stride[0] = 1;
  return axes;
}

SoftmaxKind softmax_kind(const RowActivation& f) {
  return f.element.row().function == BNNSActivationFunctionLogSoftmax ? SoftmaxKind::kLogSoftmax
                                                                      : SoftmaxKind::kSoftmax;
}

}  // namespace

const float* RowReader::contiguous(const ImageBatch& images, size_t n, size_t c, size_t y,
                                   float* scratch) const {
  if (images.is_float() && images.one.stride[0] == 1)
    return images.floats() + images.offset(n, c, y);
  read_values(*run_->convert, images.row_view(n, c, y), 0, images.one.extent[0], scratch);
  return scratch;
}

Row RowReader::read(size_t n, size_t c, size_t y, float* scratch) const {
  const size_t width = images_.one.extent[0];
  if (f_ == nullptr && images_.is_float())
    return {images_.floats() + images_.offset(n, c, y), images_.one.stride[0]};
  const float* dy = contiguous(images_, n, c, y, scratch);
  if (f_ == nullptr) return {dy, 1};
  const float* out = contiguous(y_, n, c, y, scratch + width);
  float* g = scratch + 2 * width;
  if (f_->is_axis()) {
    run_softmax_backward(*softmax_, softmax_kind(*f_), row_axes(width), false, out, dy, g, false);
  } else {
    f_->element.from_output(out, dy, g, width);
  }
  return {g, 1};
}

void activate_row(const SoftmaxRun& softmax, const RowActivation& f, float* row, size_t n) {
  if (f.is_axis()) {
    const SoftmaxTensor tensor = {.data = row};
    return run_softmax(softmax, softmax_kind(f), row_axes(n), tensor, tensor);
  }
  f.element.forward(row, row, n);
}

}  // namespace bnns::impl
