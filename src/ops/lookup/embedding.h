// Embedding: items of a dictionary that indices choose, a gather whose items may be changed:
//   the padding item reads as zeros
//   an item x with |x|_p > max_norm reads as x max_norm / |x|_p
// The gradient of the dictionary is the scatter of scatter.h, with kSum.
#pragma once

#include <cstddef>

#include "ops/lookup/lookup.h"
#include "ops/vector_norm/vector_norm.h"

namespace bnns::impl {

struct EmbeddingRules {
  size_t padding = SIZE_MAX;  // the number of the padding item; beyond the last one: none
  double max_norm = 0;        // 0: items are not changed. Otherwise they are floating-point values
  double p = 2;               // of the norm; may be infinite
};

// The problem has one coordinate, the number of the item. Indices must have been checked.
void run_embedding(const LookupProblem& problem, const EmbeddingRules& rules, const NormRun& run,
                   const LookupData& data);

}  // namespace bnns::impl
