// Row kernels of normalization.h: moments of a contiguous stretch, the map to normalized values,
// the sums and the map of the gradient. A coefficient is one number for the whole row or one per
// element (Spread).
#pragma once

#include <cmath>
#include <cstddef>
#include <limits>

namespace bnns::impl {

// The same NaN for every NaN. Code that is compiled once for a whole group and once for its pieces
// may leave different ones (see core/parallel.h); what both compute of a group passes through this.
template <class T>
T same_nan(T v) {
  return v != v ? std::numeric_limits<T>::quiet_NaN() : v;
}

// Number, mean and sum of squared deviations of some values.
struct Moments {
  double count = 0, mean = 0, squares = 0;

  bool operator==(const Moments&) const = default;

  void join(const Moments& other) {
    if (other.count == 0) return;
    if (count == 0) {
      *this = other;
      return;
    }
    const double total = count + other.count, apart = other.mean - mean;
    mean += apart * (other.count / total);
    squares += other.squares + apart * apart * (count * other.count / total);
    count = total;
  }
};

inline double inverse_deviation(double variance, float epsilon) {
  return 1 / std::sqrt(variance + double{epsilon});
}

// The statistics of a group in the form that NormalizeRow takes.
struct GroupCoefficients {
  float mean, inverse, low;

  GroupCoefficients(double exact_mean, double exact_inverse)
      : mean(static_cast<float>(exact_mean)),
        inverse(static_cast<float>(exact_inverse)),
        low(same_nan(static_cast<float>((exact_mean - double{mean}) * exact_inverse))) {}
};

enum Spread {
  kNone,    // every coefficient is one number
  kAffine,  // gamma and beta, or the factor of g, differ by element
  kAll,     // every coefficient differs by element
  kSpreads
};

// `next` is the distance to the row that the kernel is called for next, 0 if unknown. The kernel
// prefetches that row at the pace of its own loop, because the hardware prefetcher needs a few
// cache lines of each row to see the stream. Maps with kNone prefetch the tensors they write,
// moments and sums prefetch all of theirs.

// normalized = k = (x - mean) inverse - low, y = gamma k + beta; y may be x. With kAll the
// kernel takes `rows` rows of n elements, `step` apart in x, y and normalized, that share their
// coefficients.
struct NormalizeRow {
  const float* x;
  float* y;
  float* normalized;  // NULL: not wanted
  size_t n;
  const float *mean, *inverse, *low;  // low: rounding error of the float mean, times inverse
  const float *gamma, *beta;
  size_t rows = 1, step = 0;
  ptrdiff_t next = 0;
};

// Contiguous rows of n elements, each of which is a group of its own. The kernel computes their
// statistics and then normalizes them. gamma and beta have `count` elements, a multiple of n, and
// repeat after them.
struct NormalizeGroups {
  const float* x;
  float* y;
  float* normalized;
  size_t n, rows;
  const float *gamma, *beta;
  size_t at, count;  // at: index in gamma and beta of the first row
  float epsilon;
  double *mean, *variance, *inverse;  // by row; written
};

// g = dy; with ReLU, g = dy where y > 0 and 0 elsewhere. `rows` and `step` count only for kernels
// that say so.
struct GradientRow {
  const float *normalized, *dy, *y;
  size_t n;
  size_t rows = 1, step = 0;
  ptrdiff_t next = 0;
};

// dx = or += scale factor g + k_factor normalized + shift. With kAffine, where the sums are not
// NULL, also beta_sum[i] += g and gamma_sum[i] += g normalized. With kAll several rows share their
// coefficients, and scale is not used.
struct GradientMap {
  float* dx;
  const float *scale, *factor, *k_factor, *shift;
  float *beta_sum = nullptr, *gamma_sum = nullptr;
};

// Rows that are groups of their own, with a gamma per element. The kernel computes the two sums of
// each row and then maps it as above. Rows lie `step` apart, their inverses `inverse_step`.
struct GradientGroups {
  const float *normalized, *dy, *y;
  float* dx;
  size_t n, rows, step;
  const float* gamma;
  const double* inverse;
  size_t inverse_step;
  float *beta_sum, *gamma_sum;  // NULL: not wanted
};

struct NormalizationKernels {
  Moments (*moments)(const float* x, size_t n, ptrdiff_t next);
  // Over `rows` rows of n, `step` apart: sum[i] += x[i].
  void (*add)(const float* x, size_t rows, size_t step, float* sum, size_t n);
  // Likewise, with d = x[i] - from[i]: sum[i] += d, squares[i] += d^2.
  void (*deviations)(const float* x, size_t rows, size_t step, const float* from, float* sum,
                     float* squares, size_t n);
  // to[i] += sum[i], sum[i] = 0
  void (*flush)(float* sum, double* to, size_t n);
  // to[i] = sum over all k < count of sums[k * step + i]
  void (*join)(const float* sums, size_t count, size_t step, double* to, size_t n);
  // Indexed by Spread and by whether ReLU is applied.
  void (*normalize[kSpreads][2])(const NormalizeRow& row);
  // Indexed by whether ReLU is applied.
  void (*normalize_groups[2])(const NormalizeGroups& groups);

  // Indexed by ReLU: sums[0] += sum of g, sums[1] += sum of g normalized. g is stored in g_out
  // unless that is NULL.
  void (*sums[2])(const GradientRow& row, float* g_out, double* sums);
  // The same sums of gamma g.
  void (*weighted_sums[2])(const GradientRow& row, const float* gamma, double* sums);
  // Over several rows: beta[i] += g, gamma[i] += g normalized.
  void (*collect[2])(const GradientRow& rows, float* beta, float* gamma);
  // Indexed by Spread, ReLU and whether dx accumulates.
  void (*map[kSpreads][2][2])(const GradientRow& row, const GradientMap& map);
  // Indexed by ReLU and whether dx accumulates.
  void (*map_groups[2][2])(const GradientGroups& groups);
};
const NormalizationKernels* normalization_kernels();

}  // namespace bnns::impl
