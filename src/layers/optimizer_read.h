// The fields of an optimizer, read at every step: twelve functions, six structures, one problem.
#pragma once

#include "ops/optimizer/optimizer.h"
#include "openbnns/bnns.h"

namespace bnns::impl {

// Throws for an unknown function, NULL fields, and values outside of their range. Only what the
// chosen function uses is looked at.
OptimizerProblem read_optimizer(BNNSOptimizerFunction function, const void* fields);

}  // namespace bnns::impl
