// BNNSOptimizerStep. Everything is checked before the first write, so a step updates all tensors or
// none: the fields, every descriptor (Float32, contiguous, as many elements as the parameter), and
// that no written tensor overlaps another one. To stay cheap, the last check is not complete for
// more than 64 parameters: each parameter's tensors are compared with each other and with those of
// the next parameter; and among every 2048 parameters no two written tensors may begin at the same
// address (so that a parameter given twice is refused).
#pragma once

#include "openbnns/bnns.h"

namespace bnns::impl {

struct OptimizerArgs {
  size_t count;  // number of parameters
  BNNSNDArrayDescriptor* const* parameters;
  const BNNSNDArrayDescriptor* const* gradients;
  BNNSNDArrayDescriptor* const* accumulators;  // [s * count + p] is state s of parameter p
};

void step_optimizer(BNNSOptimizerFunction function, const void* fields, const OptimizerArgs& args,
                    const BNNSFilterParameters* filter_parameters);

}  // namespace bnns::impl
