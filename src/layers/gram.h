// BNNSFilterCreateLayerGram; formulas in gram.cpp.
#pragma once

#include "openbnns/bnns.h"

namespace bnns::impl {

BNNSFilter make_gram_filter(const BNNSLayerParametersGram* parameters,
                            const BNNSFilterParameters* filter_parameters);

}  // namespace bnns::impl
