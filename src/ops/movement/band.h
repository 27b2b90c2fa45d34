// Copies of matrices of which only a band beside the diagonal is kept; the rest becomes 0.
#pragma once

#include <cstddef>

#include "ops/movement/move.h"

namespace bnns::impl {

// Axis 0 of the move is the axis of the matrices that is faster in the target, axis 1 their other
// axis, further ones count matrices. Element i of axis 0 is kept at index k of axis 1 where
// k - below <= i <= k + above; a negative number sets no limit.
struct BandProblem {
  Move move;
  ptrdiff_t below = -1, above = -1;
};

void run_band(size_t threads, size_t bytes, const BandProblem& problem, const void* from, void* to);

}  // namespace bnns::impl
