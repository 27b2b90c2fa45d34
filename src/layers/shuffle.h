// BNNSShuffle; formulas in shuffle.cpp.
#pragma once

#include "openbnns/bnns.h"

namespace bnns::impl {

void shuffle(BNNSShuffleType type, const BNNSNDArrayDescriptor* input,
             const BNNSNDArrayDescriptor* output, const BNNSFilterParameters* filter_parameters);

}  // namespace bnns::impl
