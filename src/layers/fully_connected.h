#pragma once

#include "openbnns/bnns.h"

namespace bnns::impl {

BNNSFilter make_fully_connected_filter(const BNNSLayerParametersFullyConnected* parameters,
                                       const BNNSFilterParameters* filter_parameters);

}  // namespace bnns::impl
