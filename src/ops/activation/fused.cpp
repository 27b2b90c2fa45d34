#include "ops/activation/fused.h"

#include <algorithm>

namespace bnns::impl {
namespace {

AxesOffsets signed_strides(size_t a, size_t b, size_t c) {
  return {static_cast<ptrdiff_t>(a), static_cast<ptrdiff_t>(b), static_cast<ptrdiff_t>(c)};
}

// `count` rows of n contiguous values as axes for the softmax op; a, b, c are the row strides of
// its three tensors.
Axes row_axes(size_t n, size_t count, size_t a, size_t b, size_t c) {
  Axes axes;
  axes.push({.extent = n, .reduced = true, .stride = {1, 1, 1}});
  axes.push({.extent = count, .reduced = false, .stride = signed_strides(a, b, c)});
  return axes;
}

ElementRun with_threads(ElementRun run, size_t threads) {
  run.threads = threads;
  return run;
}

SoftmaxRun with_threads(SoftmaxRun run, size_t threads) {
  run.threads = threads;
  return run;
}

}  // namespace

View with_samples(const View& one, const void* data, size_t n, size_t step) {
  View view = one;
  view.data = const_cast<void*>(data);
  view.extent[view.rank] = n;
  view.stride[view.rank] = step;
  ++view.rank;
  view.count = one.count * n;
  view.span = (n - 1) * step + one.span;
  view.step = std::max(one.step, n * step);
  return view;
}

View packed(const View& one) {
  View view = one;
  view.type = BNNSDataTypeFloat32;
  view.scaling = {};
  view.overlaps = false;
  view.span = 1;
  for (size_t k = 0; k < view.rank; ++k) {
    view.stride[k] = view.span;
    view.span *= view.extent[k];
  }
  view.count = view.step = view.span;
  return view;
}

void FusedActivation::forward(const ActivationRows& rows, size_t count, size_t n) const {
  if (is_identity()) return;
  if (!is_element()) {
    const AxesTensor tensor = {.data = rows.data};
    return run_softmax(softmax_, kind(), row_axes(n, count, rows.step, rows.step, rows.step),
                       tensor, tensor);
  }
  if (rows.step == n) return forward(rows.data, count * n);
  for (size_t i = 0; i < count; ++i) forward(rows.data + i * rows.step, n);
}

void FusedActivation::multiply_by_slope(const ActivationRows& y, const ActivationRows& dy,
                                        const ActivationRows& g, size_t count, size_t n) const {
  if (!is_element()) {
    return run_softmax_backward(softmax_, kind(), row_axes(n, count, y.step, dy.step, g.step),
                                false, y.data, dy.data, g.data, false);
  }
  if (y.step == n && dy.step == n && g.step == n)
    return multiply_by_slope(y.data, dy.data, g.data, count * n);
  for (size_t i = 0; i < count; ++i)
    multiply_by_slope(y.data + i * y.step, dy.data + i * dy.step, g.data + i * g.step, n);
}

// The axes that three tensors of equal extents have in common.
Axes FusedActivation::axes_of(const View& a, const View& b, const View& c) const {
  Axes axes;
  for (size_t k = 0; k < a.rank; ++k) {
    axes.push_collapsed({.extent = a.extent[k],
                         .reduced = (axes_ >> k & 1) != 0,
                         .stride = signed_strides(a.stride[k], b.stride[k], c.stride[k])});
  }
  return axes;
}

void FusedActivation::forward(size_t threads, const View& y, uint64_t stream) const {
  if (is_identity()) return;
  const ElementRun run = with_threads(run_, threads);
  if (ignores_input()) return run_gumbel(run, element_, stream, collapsed(y));
  if (is_element()) return run_forward(run, element_, collapsed(y), collapsed(y));
  const SoftmaxRun softmax = with_threads(softmax_, threads);
  const Axes axes = axes_of(y, y, y);
  const AxesTensor tensor = tensor_of(y);
  if (!is_random()) return run_softmax(softmax, kind(), axes, tensor, tensor);
  run_gumbel_max(softmax, axes, coefficients().alpha, coefficients().beta, stream, tensor, tensor);
}

void FusedActivation::multiply_by_slope(size_t threads, const View& y, const View& dy,
                                        const View& g) const {
  if (is_element()) {
    return run_backward(with_threads(run_, threads), element_, Slope::kFromOutput, collapsed(y),
                        collapsed(dy), collapsed(g), false);
  }
  run_softmax_backward(with_threads(softmax_, threads), kind(), axes_of(y, dy, g), false,
                       static_cast<const float*>(y.data), static_cast<const float*>(dy.data),
                       static_cast<float*>(g.data), false);
}

}  // namespace bnns::impl
