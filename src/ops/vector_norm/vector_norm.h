// Euclidean norms of a tensor or of its slices (all elements that differ in the reduced axes only),
// and what is made of them:
//   norm:      n = sqrt(sum of x^2)                       gradient: dx = dn x / n, 0 where n = 0
//   clipping:  y = x min(1, max_norm / n)
// Squares and sums are doubles, so that no square of a float overflows; a sum has 16 fixed lanes
// per stretch and stretches are joined in order: its bits depend on the tensor alone. Slices are
// the grains; one that is large is cut into parts with a partial sum each. Slices whose elements
// lie apart are done side by side, a row of neighbouring slices at a time.
#pragma once

#include <cstddef>

#include "core/view.h"
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

// ---- Slices ----

// One value per slice. Strides may be negative.
struct SliceValues {
  void* data = nullptr;  // of the slice at the origin of x
  BNNSDataType type = BNNSDataTypeFloat32;
};

struct SliceAxes {
  struct Axis {
    size_t extent;
    size_t stride[2];        // of the two tensors that have all axes
    ptrdiff_t value_stride;  // of the values; 0 if reduced
    bool reduced;
  };
  size_t rank = 0;
  Axis axis[kMaxRank] = {};  // fastest of the first tensor first
};

struct SliceTensor {
  void* data;
  BNNSDataType type = BNNSDataTypeFloat32;
};

// y = x, each slice clipped. Tensors of the axes: x, y.
void run_clip_slices(const NormRun& run, const SliceAxes& axes, double max_norm,
                     const SliceTensor& x, const SliceTensor& y);

// Tensors of the axes: x.
void run_norms(const NormRun& run, const SliceAxes& axes, const SliceTensor& x,
               const SliceValues& norms);

// dx = or += norm_delta x / norm. Tensors of the axes: x, dx.
void run_norms_backward(const NormRun& run, const SliceAxes& axes, const SliceTensor& x,
                        const SliceValues& norms, const SliceValues& norm_deltas,
                        const SliceTensor& dx, bool accumulate);

}  // namespace bnns::impl
