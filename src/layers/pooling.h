// Pooling filters.
#pragma once

#include "openbnns/bnns.h"

namespace bnns::impl {

BNNSFilter make_pooling_filter(const BNNSLayerParametersPooling* parameters,
                               const BNNSFilterParameters* filter_parameters);

// The parameters of 2016 as those of today; what is stated twice must agree.
BNNSLayerParametersPooling pooling_parameters_of_2016(const BNNSImageStackDescriptor* in_desc,
                                                      const BNNSImageStackDescriptor* out_desc,
                                                      const BNNSPoolingLayerParameters* parameters);

}  // namespace bnns::impl
