#pragma once

#include "openbnns/bnns.h"

namespace bnns::impl {

BNNSFilter make_embedding_filter(const BNNSLayerParametersEmbedding* parameters,
                                 const BNNSFilterParameters* filter_parameters);

}  // namespace bnns::impl
