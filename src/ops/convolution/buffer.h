// What the products of a job read: the source rows in a buffer, padded with zeros, or the source
// itself (see plan.h).
#pragma once

#include <cstddef>

#include "ops/convolution/kernels.h"
#include "ops/convolution/plan.h"
#include "ops/convolution/rows.h"

namespace bnns::impl {

// Whether the source can serve as the matrix of the product without a copy: there is one tap,
// stride 1 and no padding.
bool is_source_itself(const ConvolutionJob& job, const RowReader& source);

// Whether the depthwise kernels can read the source in place.
bool is_depthwise_source(const ConvolutionKernels& kernels, const ConvolutionJob& job,
                         const RowReader& source);
// What the depthwise kernels read for the output rows from i0 on: the source in place.
ConvolutionDepthwise depthwise_of_source(const ConvolutionJob& job, const RowReader& source,
                                         size_t n, size_t channel, size_t i0);
// What they read if the source rows were copied into a buffer of `floats` values.
ConvolutionDepthwise depthwise_of_buffer(const ConvolutionJob& job, const float* buffer,
                                         size_t floats);

// Copies the source rows that the output rows [i0, i0 + rows) of a job read into the buffer `to`.
void fill_buffer(const ConvolutionKernels& kernels, const ConvolutionJob& job,
                 const RowReader& source, size_t n, size_t c0, size_t channels, size_t i0,
                 size_t rows, float* to, float* row_scratch);

}  // namespace bnns::impl
