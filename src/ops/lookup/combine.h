// What happens to one slice of the table in a scatter: the last of the rows that fall on it
// replaces it; or these rows are added, in the order of their places, and their sum is stored or
// added.
//   floating point  sums in double
//   integers        exact sums, saturated once
//   Boolean         no sums
#pragma once

#include <cstddef>
#include <cstdint>

#include "ops/lookup/lookup.h"

namespace bnns::impl {

enum class ScatterOp : uint8_t { kReplace, kSum };
constexpr size_t kScatterOps = 2;

struct CombineCall {
  const LookupAxes& slice;
  void* table;             // the first element of the slice
  const void* rows;        // of all places
  const int64_t* offsets;  // in the rows, of the places that fall on the slice; at least one
  size_t count;
  bool accumulate;  // the old values of the table take part
  bool mean;        // the sum is divided by `count`; floating-point values only
};
using Combine = void (*)(const CombineCall& call);

// nullptr if the operation is not defined for the type.
Combine find_combine(ScatterOp op, BNNSDataType type);

struct SumKernels {
  // Sum of contiguous Float32 slices of n values, in double:
  //   table = [table +] (sum of rows[offsets[k] + i] over k) / divisor
  void (*sum)(const float* rows, const int64_t* offsets, size_t count, size_t n, double divisor,
              bool accumulate, float* table);
  // Writes n zeros past the caches, for tables that are larger than these.
  void (*clear)(float* table, size_t n);
};
const SumKernels* sum_kernels();

}  // namespace bnns::impl
