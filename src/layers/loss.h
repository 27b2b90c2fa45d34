// Loss filters: the five BNNSLayerParametersLoss... structures.
#pragma once

#include "openbnns/bnns.h"

namespace bnns::impl {

// `parameters` is the structure that belongs to the BNNSLossFunction at its beginning.
BNNSFilter make_loss_filter(const void* parameters, const BNNSFilterParameters* filter_parameters);

}  // namespace bnns::impl
