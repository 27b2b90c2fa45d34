// BNNSOptimizerStep. Everything is checked before the first write, so a step updates all tensors or
// none: the fields, every descriptor (Float32, contiguous, as many elements as the parameter), and
// that no two tensors overlap of which one is written. With more than 64 parameters the last check
// is no longer complete, to stay cheap: each parameter's tensors against each other and against
// those of the next parameter; and in every 2048 parameters no two written tensors may begin at the
// same place (so that a parameter given twice is refused).
#pragma once

#include "openbnns/bnns.h"

namespace bnns::impl {

struct OptimizerArgs {
  size_t count;  // of parameters
  BNNSNDArrayDescriptor* const* parameters;
  const BNNSNDArrayDescriptor* const* gradients;
  BNNSNDArrayDescriptor* const* accumulators;  // state s of parameter p: s * count + p
};

void step_optimizer(BNNSOptimizerFunction function, const void* fields, const OptimizerArgs& args,
                    const BNNSFilterParameters* filter_parameters);

}  // namespace bnns::impl
