// Euclidean norms of a tensor or of its groups (see core/axes.h), and what is made of them:
//   norm:      n = sqrt(sum of x^2)                       gradient: dx = dn x / n, 0 where n = 0
//   clipping:  y = x min(1, max_norm / n)
// Squares and sums are doubles, so that no square of a float overflows; a sum has 16 fixed lanes
// per stretch and stretches are joined in order: its bits depend on the tensor alone. Groups are
// the grains; one that is large is cut into parts with a partial sum each. Groups whose elements
// lie apart are done side by side, a row of neighbouring groups at a time.
#pragma once

#include <cstddef>

#include "core/axes.h"
#include "ops/convert/convert.h"

namespace bnns::impl {

struct NormKernels {
  double (*sum_squares)(const float* x, size_t n);
  void (*add_squares)(const float* x, double* sums, size_t n);  // sums[i] += x[i]^2
  // y = or += factor * x, rounded to float once; y may be x.
  void (*scale)(const float* x, float* y, size_t n, double factor, bool accumulate);
  void (*scale_each)(const float* x, float* y, size_t n, const double* factors, bool accumulate);
};
const NormKernels* norm_kernels();

struct NormRun {
  explicit NormRun(size_t thread_count) : threads(thread_count) {}

  const NormKernels* kernels = norm_kernels();
  const ConvertKernels* convert = convert_kernels();
  size_t threads;
};

// ---- Whole tensors; views are collapsed ----

double run_sum_squares(const NormRun& run, const View& x);

// Elements [first, first + n) of a view, on this thread.
double sum_squares_of_part(const NormRun& run, const View& x, size_t first, size_t n);
void scale_part(const NormRun& run, double factor, const View& x, const View& y, size_t first,
                size_t n, bool accumulate);

// What brings a norm of sqrt(sum) down to max_norm; 1 if it is not above. NaN stays NaN.
double clip_factor(double norm, double max_norm);

// y = factor * x, a plain copy for the factor 1; y may be x.
void run_scale(const NormRun& run, double factor, const View& x, const View& y);

// ---- Groups ----

// The tensors of the axes: x; y, or the gradient of x; and tensors of one value per group, whose
// data is that of the group of the first x, and whose strides may be negative. The fastest axis of
// x comes first.
enum : size_t { kNormX, kNormY, kNormValues };

// y = x, each group clipped.
void run_clip_groups(const NormRun& run, const Axes& axes, double max_norm, const AxesTensor& x,
                     const AxesTensor& y);

void run_norms(const NormRun& run, const Axes& axes, const AxesTensor& x, const AxesTensor& norms);

// dx = or += norm_delta x / norm.
void run_norms_backward(const NormRun& run, const Axes& axes, const AxesTensor& x,
                        const AxesTensor& norms, const AxesTensor& norm_deltas,
                        const AxesTensor& dx, bool accumulate);

}  // namespace bnns::impl
