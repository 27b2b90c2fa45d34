// Moments by channel of what an op has stored, for the normalization that follows it. Partial
// moments are those of pieces that follow from the problem alone, and are joined in order: the
// bits do not depend on the number of threads.
#pragma once

#include <cstddef>

#include "ops/normalization/kernels.h"

namespace bnns::impl {

// Joins the moments of the columns of a matrix, which are channels, to those in `to`. Rows are
// `step` values apart.
void join_column_moments(const NormalizationKernels& kernels, size_t threads, const float* x,
                         size_t rows, size_t step, size_t columns, Moments* to);

// to[channel] = the moments parts[part * channels + channel] of all parts, joined.
void join_parts(size_t threads, const Moments* parts, size_t count, size_t channels, Moments* to);

}  // namespace bnns::impl
