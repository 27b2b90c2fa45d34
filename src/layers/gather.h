// Gather and scatter: elements of a tensor that indices choose, copied out or combined in. An index
// outside of the tensor fails with the status kIndexOutOfRange; shapes that do not go together
// fail with kInconsistentShapes in the functions with rows of coordinates.
#pragma once

#include "openbnns/bnns.h"

namespace bnns::impl {

constexpr int kIndexOutOfRange = -1005, kInconsistentShapes = -1003;

void gather(size_t axis, const BNNSNDArrayDescriptor* input, const BNNSNDArrayDescriptor* indices,
            const BNNSNDArrayDescriptor* output, const BNNSFilterParameters* filter_parameters);
void scatter(size_t axis, BNNSReduceFunction op, const BNNSNDArrayDescriptor* input,
             const BNNSNDArrayDescriptor* indices, const BNNSNDArrayDescriptor* output,
             const BNNSFilterParameters* filter_parameters);
void gather_nd(const BNNSNDArrayDescriptor* input, const BNNSNDArrayDescriptor* indices,
               const BNNSNDArrayDescriptor* output, const BNNSFilterParameters* filter_parameters);
void scatter_nd(BNNSReduceFunction op, const BNNSNDArrayDescriptor* input,
                const BNNSNDArrayDescriptor* indices, const BNNSNDArrayDescriptor* output,
                const BNNSFilterParameters* filter_parameters);

}  // namespace bnns::impl
