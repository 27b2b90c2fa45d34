// Moments of the columns of a matrix. Deviations are taken from the mean of the first kFlush rows,
// summed in float over kFlush rows, and these sums in double.
#pragma once

#include <algorithm>
#include <cstddef>

#include "ops/normalization/kernels.h"

namespace bnns::impl::normalization {

// Number of rows whose float sums are added up before they go into double sums.
constexpr size_t kFlush = 32;
// Largest number of columns of a call of column_moments.
constexpr size_t kColumnBlock = 256;

// Calls to(column, moments) for n columns. visit(first row, end row, body) calls
// body(x, rows, step, columns, offset) for parts of these rows.
template <class Visit, class To>
void column_moments(const NormalizationKernels& kernels, size_t rows, size_t n, const Visit& visit,
                    const To& to) {
  alignas(64) float from[kColumnBlock] = {}, sum[kColumnBlock] = {}, squares[kColumnBlock] = {};
  double sums[kColumnBlock] = {}, all_squares[kColumnBlock] = {};
  const size_t head = std::min(rows, kFlush);
  visit(0, head, [&](const float* x, size_t count, size_t step, size_t m, size_t at) {
    kernels.add(x, count, step, from + at, m);
  });
  const float share = 1 / static_cast<float>(head);
  for (size_t j = 0; j < n; ++j) from[j] *= share;
  for (size_t s = 0; s < rows; s += kFlush) {
    visit(s, std::min(rows, s + kFlush),
          [&](const float* x, size_t count, size_t step, size_t m, size_t at) {
            kernels.deviations(x, count, step, from + at, sum + at, squares + at, m);
          });
    kernels.flush(sum, sums, n);
    kernels.flush(squares, all_squares, n);
  }
  const double size = static_cast<double>(rows), each = 1 / size;
  for (size_t j = 0; j < n; ++j) {
    const double rest = sums[j] * each, deviations = all_squares[j] - rest * rest * size;
    to(j, Moments{.count = size,
                  .mean = double{from[j]} + rest,
                  .squares = deviations < 0 ? 0 : deviations});
  }
}

}  // namespace bnns::impl::normalization
