// Euclidean norms of a tensor or of its groups (see core/axes.h), and what is computed from them:
//   norm:      n = sqrt(sum of x^2)                       gradient: dx = dn x / n, 0 where n = 0
//   clipping:  y = x min(1, max_norm / n)
// Squares and sums are doubles, so that no square of a float overflows. A block of elements is
// summed in 16 lanes on every target, and the sums of blocks are added in order: the bits of a sum
// depend on the tensor alone. A grain is one group or several; a few large groups are cut into
// parts with a partial sum each. If the fastest axis counts groups, vectors run across neighbouring
// groups.
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

// Elements [first, first + n) of a view, computed by the calling thread.
double sum_squares_of_part(const NormRun& run, const View& x, size_t first, size_t n);
void scale_part(const NormRun& run, double factor, const View& x, const View& y, size_t first,
                size_t n, bool accumulate);

// The factor that brings a norm down to max_norm; 1 if the norm is not larger. A norm of NaN gives
// NaN.
double clip_factor(double norm, double max_norm);

// y = factor * x; y may be x, and is then not touched if the factor is 1.
void run_scale(const NormRun& run, double factor, const View& x, const View& y);

// ---- Groups ----

// The tensors of `axes`: x; y, or the gradient of x; and tensors with one value per group. The data
// pointer of the latter is the value of the group that contains the first element of x; their
// strides may be negative. The fastest axis of x comes first.
enum : size_t { kNormX, kNormY, kNormValues };

// y = x, with the norm of each group clipped.
void run_clip_groups(const NormRun& run, const Axes& axes, double max_norm, const AxesTensor& x,
                     const AxesTensor& y);

void run_norms(const NormRun& run, const Axes& axes, const AxesTensor& x, const AxesTensor& norms);

// dx = or += norm_delta x / norm.
void run_norms_backward(const NormRun& run, const Axes& axes, const AxesTensor& x,
                        const AxesTensor& norms, const AxesTensor& norm_deltas,
                        const AxesTensor& dx, bool accumulate);

}  // namespace bnns::impl
