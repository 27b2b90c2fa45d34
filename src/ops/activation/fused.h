// The activation that is fused into another layer: y = act(z) in place on what the layer has just
// computed, and g = dy act'(y) with the slope computed from the output. Functions along axes
// (softmax and its relatives) run along chosen axes of one output sample; random ones (Gumbel) draw
// the numbers of one stream in the order of elements.
//   The functions on rows are for a grain that has just computed these rows; the calling thread
//   does the work. They take element-wise functions, and functions along axis 0 of the sample if a
//   row is that axis.
//   The functions on views take whole tensors with the axes of a sample and the samples as one more
//   axis, any activation, any readable type and strides. They use several threads; the bits do not
//   depend on how many.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/batch.h"
#include "ops/activation/activation.h"
#include "ops/softmax/softmax.h"

namespace bnns::impl {

// Rows of contiguous values; the next row begins `step` values further.
struct ActivationRows {
  float* data;
  size_t step;
};

class FusedActivation {
 public:
  FusedActivation() = default;
  // Bit k of `axes` says whether functions along axes run along axis k of one sample's view.
  FusedActivation(const ActivationInfo& info, const ActivationCoefficients& p, uint32_t axes = 1)
      : element_(info, p), axes_(axes) {}

  const ActivationInfo& info() const { return element_.info(); }
  const ActivationCoefficients& coefficients() const { return element_.coefficients(); }

  bool is_identity() const { return element_.is_identity(); }
  // ReLU is cheap enough for kernels to apply it to a tile before they store it.
  bool is_rectifier() const { return info().function == BNNSActivationFunctionRectifiedLinear; }
  // Element-wise functions, including the identity.
  bool is_element() const { return info().kind == ActivationClass::kElement; }
  // Softmax or log-softmax.
  bool is_along_axes() const { return info().kind == ActivationClass::kAxis && !is_random(); }
  // Functions that draw random numbers: forward() needs a stream, and there is no gradient.
  bool is_random() const { return impl::is_random(info()); }
  // The output is noise alone, so that the layer need not compute anything.
  bool ignores_input() const { return info().kind == ActivationClass::kRandom; }
  bool is_integer() const { return info().kind == ActivationClass::kInteger; }
  // Whether y determines the slope, which training with a fused activation requires.
  bool slope_known() const {
    return info().from_output && slope_from_output(info(), coefficients());
  }
  // Rough cost of an element; decides how many threads are used.
  double nanoseconds() const { return is_identity() ? 0 : double{info().nanoseconds}; }

  // ---- Rows ----

  // One row, for element-wise functions; forward works in place.
  void forward(float* row, size_t n) const { element_.forward(row, row, n); }
  void multiply_by_slope(const float* y, const float* dy, float* g, size_t n) const {
    element_.from_output(y, dy, g, n);
  }
  // Not for random functions; the identity does nothing.
  void forward(const ActivationRows& rows, size_t count, size_t n) const;
  // g may be dy.
  void multiply_by_slope(const ActivationRows& y, const ActivationRows& dy, const ActivationRows& g,
                         size_t count, size_t n) const;

  // ---- Views ----

  // In place. `stream` is used by random functions only.
  void forward(size_t threads, const View& y, uint64_t stream) const;
  // All Float32, with the axes of y; g may be dy.
  void multiply_by_slope(size_t threads, const View& y, const View& dy, const View& g) const;

 private:
  SoftmaxKind kind() const {
    return info().function == BNNSActivationFunctionLogSoftmax ? SoftmaxKind::kLogSoftmax
                                                               : SoftmaxKind::kSoftmax;
  }
  Axes axes_of(const View& a, const View& b, const View& c) const;

  ElementActivation element_;
  uint32_t axes_ = 1;
  ElementRun run_ = ElementRun(1);
  SoftmaxRun softmax_ = SoftmaxRun(1);
};

// A view of n samples that are `step` values apart: the axes of one sample, then the samples.
View with_samples(const View& one, const void* data, size_t n, size_t step);
inline View with_samples(const Batch& batch) {
  return with_samples(*batch.sample, batch.data, batch.size, batch.step);
}
// The view of a packed Float32 sample with the extents of `one`.
View packed(const View& one);

}  // namespace bnns::impl
