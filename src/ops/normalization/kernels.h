// Row kernels of normalization.h: moments of a stretch, the map to normalized values, the sums and
// the map of the gradient. A coefficient is one number for the row or one per element (Spread).
#pragma once

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

enum Spread {
  kNone,    // every coefficient is one number
  kAffine,  // gamma and beta, or the factor of g, differ by element
  kAll,     // every coefficient differs by element
  kSpreads
};

// kept = (x - mean) inverse - low, y = gamma kept + beta; y may be x.
struct NormalizeRow {
  const float* x;
  float* y;
  float* kept;  // NULL: not wanted
  size_t n;
  const float *mean, *inverse, *low;  // low: what the float mean misses, times inverse
  const float *gamma, *beta;
};

// With g = dy, or dy where y > 0 for the rectifier.
struct GradientRow {
  const float *kept, *dy, *y;
  size_t n;
};

// dx = or += scale factor g + slope kept + shift; and, with kAffine, where the sums are not NULL,
// beta_sum[i] += g, gamma_sum[i] += g kept.
struct GradientMap {
  float* dx;
  float scale;
  const float *factor, *slope, *shift;
  float *beta_sum = nullptr, *gamma_sum = nullptr;
};

struct NormalizationKernels {
  Moments (*moments)(const float* x, size_t n);
  // sum[i] += x[i]
  void (*add)(const float* x, float* sum, size_t n);
  // With d = x[i] - from[i]: sum[i] += d, squares[i] += d^2.
  void (*deviations)(const float* x, const float* from, float* sum, float* squares, size_t n);
  // By spread and rectifier.
  void (*normalize[kSpreads][2])(const NormalizeRow& row);

  // By rectifier: sums[0] += sum of g, sums[1] += sum of g kept.
  void (*sums[2])(const GradientRow& row, double* sums);
  // The same of gamma g.
  void (*weighted_sums[2])(const GradientRow& row, const float* gamma, double* sums);
  // beta[i] += g, gamma[i] += g kept.
  void (*collect[2])(const GradientRow& row, float* beta, float* gamma);
  // By spread, rectifier and whether to accumulate.
  void (*map[kSpreads][2][2])(const GradientRow& row, const GradientMap& map);
};
const NormalizationKernels* normalization_kernels();

}  // namespace bnns::impl
