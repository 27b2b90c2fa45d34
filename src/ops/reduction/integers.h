// Reductions of Boolean and Int32: exact, in a type that holds every sum of them.
#pragma once

#include "ops/reduction/reduction.h"

namespace bnns::impl {

inline bool is_integer_reduction(const ReduceProblem& problem) {
  const BNNSDataType x = problem.tensor[kReduceX].type;
  return x == BNNSDataTypeBoolean || x == BNNSDataTypeInt32;
}

void run_reduce_integers(const ReduceRun& run, const ReduceProblem& problem);

// Writes one index, number or truth value in the type of y.
void write_reduced(const ReduceProblem& problem, ptrdiff_t at, double value);

}  // namespace bnns::impl
