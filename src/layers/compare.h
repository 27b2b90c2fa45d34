#pragma once

#include "openbnns/bnns.h"

namespace bnns::impl {

// out = in0 op in1 by elements; without a filter, with the default number of threads.
void compare_tensors(const BNNSNDArrayDescriptor* in0, const BNNSNDArrayDescriptor* in1,
                     BNNSRelationalOperator op, BNNSNDArrayDescriptor* out);

}  // namespace bnns::impl
