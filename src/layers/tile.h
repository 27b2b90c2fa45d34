// BNNSTile and BNNSTileBackward; formulas in tile.cpp.
#pragma once

#include "openbnns/bnns.h"

namespace bnns::impl {

void tile(const BNNSNDArrayDescriptor* input, const BNNSNDArrayDescriptor* output,
          const BNNSFilterParameters* filter_parameters);

void tile_backward(const BNNSNDArrayDescriptor* in_delta, const BNNSNDArrayDescriptor* out_delta,
                   const BNNSFilterParameters* filter_parameters);

}  // namespace bnns::impl
