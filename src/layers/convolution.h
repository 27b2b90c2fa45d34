// Convolution and transposed convolution: the makers of their filters.
#pragma once

#include "core/filter.h"
#include "layers/convolution_read.h"
#include "openbnns/bnns.h"

namespace bnns::impl {

BNNSFilter make_convolution_filter(const BNNSLayerParametersConvolution* parameters,
                                   const BNNSFilterParameters* filter_parameters, bool transposed);

// A convolution of integers with a fused IntegerLinearSaturate; it has no gradient.
BNNSFilter make_integer_convolution_filter(const FilterOptions& options,
                                           const ConvolutionParameters& convolution,
                                           const BNNSActivation& activation);

}  // namespace bnns::impl
