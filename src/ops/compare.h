// out = a op b by elements, 1 or 0: the relations of numbers, and the logical operations of what is
// not 0. A NaN is not 0, and equal to nothing. Grains are runs of elements.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/axes.h"
#include "core/types.h"
#include "ops/convert/convert.h"

namespace bnns::impl {

struct CompareInfo {
  BNNSRelationalOperator op;
  bool unary;  // b is not used
};
// nullptr for a value that is no operator.
const CompareInfo* find_compare(BNNSRelationalOperator op);

enum : size_t { kCompareA, kCompareB, kCompareOut, kCompareTensors };
using CompareAxes = AxesOf<kCompareTensors>;

struct CompareProblem {
  const CompareInfo* info = nullptr;
  CompareAxes axes;          // collapsed; those of the output in memory order
  AxesTensor in[2] = {};     // of one type
  ptrdiff_t origin[2] = {};  // in values, of the element that belongs to the first of the output
  uint8_t* out = nullptr;
};

void run_compare(size_t threads, const CompareProblem& problem);

}  // namespace bnns::impl
