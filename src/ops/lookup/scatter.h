// Scatter: places are sorted by the slice of the table that they fall on, each slice of the table
// is then combined by one thread, in the order of the places (see combine.h). So the bits do not
// depend on the number of threads, and duplicates have a defined order. Working memory: two words
// for each place.
#pragma once

#include <cstddef>
#include <cstdint>

#include "ops/lookup/combine.h"
#include "ops/lookup/lookup.h"

namespace bnns::impl {

struct ScatterSettings {
  ScatterOp op = ScatterOp::kReplace;
  const SumKernels* kernels = sum_kernels();
  bool accumulate = true;  // false: the table is written as a whole, 0 where no place falls on it
  bool mean = false;       // the sum is divided by the number of places
  size_t skipped = SIZE_MAX;  // with a single coordinate: places that have this one do not count
};

// Words of working memory. Throws if the problem is too large to be sorted.
size_t scatter_scratch(const LookupProblem& problem);

// The coordinates must have been checked. A table that is not accumulated to has one coordinate,
// and places do not run along its axes.
void run_scatter(const LookupProblem& problem, const ScatterSettings& settings, size_t threads,
                 const LookupData& data, uint64_t* scratch);

}  // namespace bnns::impl
