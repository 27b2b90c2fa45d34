// Row kernels of the arithmetic functions: n contiguous floats per row.
#pragma once

#include <cstddef>

#include "core/types.h"

namespace bnns::impl {

constexpr size_t kMaxArithmeticInputs = 3;
constexpr size_t kArithmeticFunctions = BNNSArithmeticErf + 1;

// out may be one of the inputs.
using ArithmeticForward = void (*)(const float* const* in, float* out, size_t n);
struct ForwardArithmetic {
  ArithmeticForward rows;
  // Functions of two inputs: one of them is a single value for the whole row.
  ArithmeticForward first_is_value = nullptr, second_is_value = nullptr;
};

// d = g df/din_k from the values of the first two inputs; d may be g.
using ArithmeticBackward = void (*)(const float* in1, const float* in2, const float* g, float* d,
                                    size_t n);
struct BackwardArithmetic {
  // By input. nullptr: the gradient is g itself.
  ArithmeticBackward input[kMaxArithmeticInputs] = {};
  // The same for functions of one input from their result, which stands in the place of in1.
  ArithmeticBackward from_result = nullptr;
};

struct ArithmeticSums {
  void (*add)(const float* g, float* d, size_t n);       // d += g
  float (*sum)(const float* g, size_t n);                // in a fixed order
  void (*flush)(float* sums, double* totals, size_t n);  // totals += sums, sums = 0
};

struct ArithmeticKernels {
  ForwardArithmetic forward;
  BackwardArithmetic backward;
  ArithmeticSums sums;
};

// The kernels of one function for the target that is chosen now.
ForwardArithmetic forward_arithmetic(BNNSArithmeticFunction function);
BackwardArithmetic backward_arithmetic(BNNSArithmeticFunction function);
ArithmeticSums arithmetic_sums();

}  // namespace bnns::impl
