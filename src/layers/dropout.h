#pragma once

#include "openbnns/bnns.h"

namespace bnns::impl {

BNNSFilter make_dropout_filter(const BNNSLayerParametersDropout* parameters,
                               const BNNSFilterParameters* filter_parameters);

}  // namespace bnns::impl
