// The fields of an optimizer, which are read at every step: the six structures of the twelve
// functions become one OptimizerProblem.
#pragma once

#include "ops/optimizer/optimizer.h"
#include "openbnns/bnns.h"

namespace bnns::impl {

// Throws for an unknown function, NULL fields, and values outside of their range. Only the fields
// that the chosen function uses are checked.
OptimizerProblem read_optimizer(BNNSOptimizerFunction function, const void* fields);

}  // namespace bnns::impl
