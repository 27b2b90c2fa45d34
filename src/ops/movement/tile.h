// A tensor repeated along its axes, and the gradient of that: dx(i) = the sum of dy over all copies
// of element i, in the order and precision of the sums of ops/arithmetic.
#pragma once

#include <cstddef>

#include "core/memory.h"
#include "ops/movement/move.h"

namespace bnns::impl {

struct TileAxis {
  size_t extent, times;  // elements, and how often they are repeated
  size_t in, out;        // strides in values
};

struct TileProblem {
  size_t rank = 0;
  TileAxis axis[kMaxRank];
};

Move tile_move(const TileProblem& problem);

// Floating-point types. May allocate, before anything is written.
void run_tile_backward(const Memory& memory, size_t threads, const TileProblem& problem,
                       const AxesTensor& dx, const AxesTensor& dy, bool accumulate);

}  // namespace bnns::impl
