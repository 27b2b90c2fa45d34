// Products of many floats as a mantissa and an exponent. Four floats cannot overflow or vanish in a
// double, nor can their product with a mantissa, which is then brought back to [0.5, 1).
#pragma once

#include <cstddef>

#include "ops/reduction/reduction.h"

namespace bnns::impl {

ReduceState product_of_row(const float* x, size_t n, float);
void products_of_columns(const float* x, size_t stride, size_t rows, size_t n, float, float* a,
                         float* b);

}  // namespace bnns::impl
