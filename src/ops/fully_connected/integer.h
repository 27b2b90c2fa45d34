// y = saturate((scale (b + W x) + offset) >> shift) on stored integers: the product that feeds the
// fused IntegerLinearSaturate. Sums are exact in 64 bits for operands of at most 16 bits.
#pragma once

#include <cstddef>

#include "core/view.h"
#include "ops/activation/integer.h"

namespace bnns::impl {

struct IntegerFullyConnected {
  size_t in_size, out_size;
  View weights;  // two axes: in, out
  View bias;     // data NULL: none
};

// Collapsed views of the batch.
void run_integer_fully_connected(const IntegerFullyConnected& problem, const IntegerLinear& f,
                                 size_t threads, size_t batch, const View& in, const View& out);

}  // namespace bnns::impl
