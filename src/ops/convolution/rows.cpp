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

Row RowReader::read(size_t n, size_t c, size_t y, float* scratch) const {
  if (is_direct()) return {images_.floats() + images_.offset(n, c, y), images_.one.stride[0]};
  read_values(*run_->convert, images_.row_view(n, c, y), 0, images_.one.extent[0], scratch);
  return {scratch, 1};
}

void activate_row(const SoftmaxRun& softmax, const RowActivation& f, float* row, size_t n) {
  if (f.is_axis()) {
    const SoftmaxTensor tensor = {.data = row};
    return run_softmax(softmax, softmax_kind(f), row_axes(n), tensor, tensor);
  }
  f.element.forward(row, row, n);
}

void multiply_by_slope(const ElementRun& run, const SoftmaxRun& softmax, const RowActivation& f,
                       size_t samples, const ImageBatch& y, const ImageBatch& dy,
                       const ImageBatch& g) {
  const ImageBatch* tensors[] = {&y, &dy, &g};
  if (!f.is_axis()) {
    View views[3];
    for (size_t k = 0; k < 3; ++k)
      views[k] = batched(tensors[k]->one, tensors[k]->data, samples, tensors[k]->step());
    return run_backward(run, f.element, Slope::kFromOutput, views[0], views[1], views[2], false);
  }
  SoftmaxAxes axes;
  axes.rank = 4;
  for (size_t k = 0; k < 4; ++k) {
    axes.extent[k] = k < 3 ? g.one.extent[k] : samples;
    axes.reduced[k] = k == 0;
    for (size_t t = 0; t < 3; ++t)
      axes.stride[t][k] = k < 3 ? tensors[t]->one.stride[k] : tensors[t]->step();
  }
  collapse(axes);
  run_softmax_backward(softmax, softmax_kind(f), axes, false, y.floats(), dy.floats(), g.floats(),
                       false);
}

}  // namespace bnns::impl
