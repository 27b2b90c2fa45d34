// y = saturate((scale (b + W * x) + offset) >> shift) on stored integers: the convolution that
// feeds the fused IntegerLinearSaturate. Sums are exact in 64 bits for operands of at most 16 bits.
#pragma once

#include <cstddef>

#include "ops/activation/integer.h"
#include "ops/convolution/geometry.h"
#include "ops/convolution/rows.h"
#include "ops/convolution/weights.h"

namespace bnns::impl {

struct IntegerConvolution {
  ConvolutionGeometry geometry;
  ConvolutionWeights weights;  // never transposed
  View bias;                   // collapsed; data NULL: none
};

void run_integer_convolution(const IntegerConvolution& problem, const IntegerLinear& f,
                             size_t threads, const Batch& in, const Batch& out);

}  // namespace bnns::impl
