// BNNSFilterCreateLayerReduction and BNNSDirectApplyReduction; formulas in ops/reduction.
#pragma once

#include "openbnns/bnns.h"

namespace bnns::impl {

BNNSFilter make_reduction_filter(const BNNSLayerParametersReduction* parameters,
                                 const BNNSFilterParameters* filter_parameters);

// One call on the data of the descriptors.
void apply_reduction(const BNNSLayerParametersReduction* parameters,
                     const BNNSFilterParameters* filter_parameters);

}  // namespace bnns::impl
