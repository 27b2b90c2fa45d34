// BNNSFilterCreateLayerPadding; formulas in padding.cpp.
#pragma once

#include "openbnns/bnns.h"

namespace bnns::impl {

BNNSFilter make_padding_filter(const BNNSLayerParametersPadding* parameters,
                               const BNNSFilterParameters* filter_parameters);

}  // namespace bnns::impl
