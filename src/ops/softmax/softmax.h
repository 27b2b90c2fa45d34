// Softmax, log-softmax and their gradients over any set of axes, and the maximum of Gumbel noise or
// its place.
//   softmax:     y = e^(x - max) / sum,       dx = y (dy - sum(dy y))
//   log-softmax: y = x - max - log(sum),      dx = dy - e^y sum(dy)
// A grain is a number of rows (one row: the elements of one normalisation); no row is split, so
// that the order of its sums is fixed. If the fastest axis belongs to the row, vectors run along
// the row, otherwise across neighbouring rows.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/axes.h"
#include "ops/activation/activation.h"
#include "ops/convert/convert.h"

namespace bnns::impl {

struct SoftmaxKernels {
  // Along a row of n contiguous values.
  float (*max)(const float* x, size_t n);
  float (*sum_exp)(const float* x, size_t n, float max);
  float (*dot)(const float* x, const float* y, size_t n);
  float (*sum)(const float* x, size_t n);
  // y = e^(x - shift) * factor
  void (*exp_scaled)(const float* x, float* y, size_t n, float shift, float factor);
  // y = (x - max) - log_sum: max may be large
  void (*subtract)(const float* x, float* y, size_t n, float max, float log_sum);
  // dx (+)= y (dy - dot)
  void (*softmax_gradient)(const float* y, const float* dy, float* dx, size_t n, float dot,
                           bool accumulate);
  // dx (+)= dy - e^y sum
  void (*log_softmax_gradient)(const float* y, const float* dy, float* dx, size_t n, float sum,
                               bool accumulate);
  // The same across n neighbouring rows: lane i belongs to row i, which has its own maximum and
  // sum.
  void (*max_into)(const float* x, float* max, size_t n);
  void (*sum_exp_into)(const float* x, const float* max, float* sum, size_t n);
  void (*dot_into)(const float* x, const float* y, float* dot, size_t n);
  void (*sum_into)(const float* x, float* sum, size_t n);
  void (*exp_scaled_each)(const float* x, float* y, size_t n, const float* shift,
                          const float* factor);
  void (*subtract_each)(const float* x, float* y, size_t n, const float* max, const float* log_sum);
  void (*softmax_gradient_each)(const float* y, const float* dy, float* dx, size_t n,
                                const float* dot, bool accumulate);
  void (*log_softmax_gradient_each)(const float* y, const float* dy, float* dx, size_t n,
                                    const float* sum, bool accumulate);
};
const SoftmaxKernels* softmax_kernels();

enum class SoftmaxKind { kSoftmax, kLogSoftmax };

// The kernels of the target that is chosen when this object is made, and the threads to use.
struct SoftmaxRun {
  explicit SoftmaxRun(size_t thread_count) : threads(thread_count) {}

  const SoftmaxKernels* kernels = softmax_kernels();
  const ConvertKernels* convert = convert_kernels();
  ForwardKernel gumbel = forward_kernels()[BNNSActivationFunctionGumbel];
  size_t threads;
};

// The reduced axes form a row. Axes should be collapsed, because one kernel call covers the fastest
// axis only.

// The tensors of `axes` are x, y.
void run_softmax(const SoftmaxRun& run, SoftmaxKind kind, const Axes& axes, const AxesTensor& x,
                 const AxesTensor& y);

// The tensors of `axes` are known, dy, dx, all Float32; `known` is y, or x if `from_input`.
void run_softmax_backward(const SoftmaxRun& run, SoftmaxKind kind, const Axes& axes,
                          bool from_input, const float* known, const float* dy, float* dx,
                          bool accumulate);

// y = max over the row of x + Gumbel noise (alpha, beta), written to every element of the row.
void run_gumbel_max(const SoftmaxRun& run, const Axes& axes, float alpha, float beta,
                    uint64_t stream, const AxesTensor& x, const AxesTensor& y);

// y = the index of that maximum in the row, whose elements are counted along the fastest axis
// first; of the first NaN, if there is one. y has one element per row: its strides along the row
// are 0. With alpha 1 and beta near 0 the index is i with probability softmax(x)_i.
void run_gumbel_index(const SoftmaxRun& run, const Axes& axes, float alpha, float beta,
                      uint64_t stream, const AxesTensor& x, const AxesTensor& y);

}  // namespace bnns::impl
