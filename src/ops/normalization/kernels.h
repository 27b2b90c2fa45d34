// Row kernels of normalization.h: moments of a stretch, the map to normalized values, the sums and
// the map of the gradient. A coefficient is one number for the row or one per element (Spread).
#pragma once

#include <cmath>
#include <cstddef>

namespace bnns::impl {

// Number, mean and sum of squared deviations of some values.
struct Moments {
  double count = 0, mean = 0, squares = 0;

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

// What NormalizeRow takes of the statistics of a set.
struct SetCoefficients {
  float mean, inverse, low;

  SetCoefficients(double exact_mean, double exact_inverse)
      : mean(static_cast<float>(exact_mean)),
        inverse(static_cast<float>(exact_inverse)),
        low(static_cast<float>((exact_mean - double{mean}) * exact_inverse)) {}
};

enum Spread {
  kNone,    // every coefficient is one number
  kAffine,  // gamma and beta, or the factor of g, differ by element
  kAll,     // every coefficient differs by element
  kSpreads
};

// `next` is the distance to the row that will be read, or with kNone written, after this one: what
// is there is fetched in step with the loop, since a processor notices a row only after some lines.
// 0: not known.

// kept = (x - mean) inverse - low, y = gamma kept + beta; y may be x. With kAll, of `rows` rows of
// n, `step` apart in x, y and kept, that share their coefficients.
struct NormalizeRow {
  const float* x;
  float* y;
  float* kept;  // NULL: not wanted
  size_t n;
  const float *mean, *inverse, *low;  // low: what the float mean misses, times inverse
  const float *gamma, *beta;
  size_t rows = 1, step = 0;
  ptrdiff_t next = 0;
};

// Rows of n, one behind the other, that are sets of their own: their statistics, then the above.
// gamma and beta lie `count` elements, some rows, after which they are used again.
struct NormalizeSets {
  const float* x;
  float* y;
  float* kept;
  size_t n, rows;
  const float *gamma, *beta;
  size_t at, count;  // at: of the first row in gamma and beta
  float epsilon;
  double *mean, *variance, *inverse;  // by row; written
};

// With g = dy, or dy where y > 0 for the rectifier. Several rows where it says so below.
struct GradientRow {
  const float *kept, *dy, *y;
  size_t n;
  size_t rows = 1, step = 0;
  ptrdiff_t next = 0;
};

// dx = or += scale factor g + slope kept + shift; and, with kAffine, where the sums are not NULL,
// beta_sum[i] += g, gamma_sum[i] += g kept. Several rows with kAll, which share their coefficients
// and take no scale.
struct GradientMap {
  float* dx;
  const float *scale, *factor, *slope, *shift;
  float *beta_sum = nullptr, *gamma_sum = nullptr;
};

// Rows that are sets of their own, with a gamma per element: their sums, then the above. Rows and
// their inverses lie some steps apart.
struct GradientSets {
  const float *kept, *dy, *y;
  float* dx;
  size_t n, rows, step;
  const float* gamma;
  const double* inverse;
  size_t inverse_step;
  float *beta_sum, *gamma_sum;  // NULL: not wanted
};

struct NormalizationKernels {
  Moments (*moments)(const float* x, size_t n, ptrdiff_t next);
  // Over some rows of n, `step` apart: sum[i] += x[i].
  void (*add)(const float* x, size_t rows, size_t step, float* sum, size_t n);
  // Likewise, with d = x[i] - from[i]: sum[i] += d, squares[i] += d^2.
  void (*deviations)(const float* x, size_t rows, size_t step, const float* from, float* sum,
                     float* squares, size_t n);
  // to[i] += sum[i], sum[i] = 0
  void (*flush)(float* sum, double* to, size_t n);
  // to[i] = sum over all k < count of sums[k * step + i]
  void (*join)(const float* sums, size_t count, size_t step, double* to, size_t n);
  // By spread and rectifier.
  void (*normalize[kSpreads][2])(const NormalizeRow& row);
  // By rectifier.
  void (*normalize_sets[2])(const NormalizeSets& sets);

  // By rectifier: sums[0] += sum of g, sums[1] += sum of g kept; g to `slope`, unless that is NULL.
  void (*sums[2])(const GradientRow& row, float* slope, double* sums);
  // The same of gamma g.
  void (*weighted_sums[2])(const GradientRow& row, const float* gamma, double* sums);
  // Of some rows: beta[i] += g, gamma[i] += g kept.
  void (*collect[2])(const GradientRow& rows, float* beta, float* gamma);
  // By spread, rectifier and whether to accumulate.
  void (*map[kSpreads][2][2])(const GradientRow& row, const GradientMap& map);
  // By rectifier and whether to accumulate.
  void (*map_sets[2][2])(const GradientSets& sets);
};
const NormalizationKernels* normalization_kernels();

}  // namespace bnns::impl
