// BNNSBandPart; formulas in band_part.cpp.
#pragma once

#include "openbnns/bnns.h"

namespace bnns::impl {

void band_part(int num_lower, int num_upper, const BNNSNDArrayDescriptor* input,
               const BNNSNDArrayDescriptor* output, const BNNSFilterParameters* filter_parameters);

}  // namespace bnns::impl
