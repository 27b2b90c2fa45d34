// Convolution and transposed convolution: the makers of their filters.
#pragma once

#include "openbnns/bnns.h"

namespace bnns::impl {

BNNSFilter make_convolution_filter(const BNNSLayerParametersConvolution* parameters,
                                   const BNNSFilterParameters* filter_parameters, bool transposed);

}  // namespace bnns::impl
