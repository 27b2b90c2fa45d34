// The parameters of a fused filter: those of its two layers, which must fit together.
#pragma once

#include <variant>

#include "layers/arithmetic.h"
#include "layers/convolution_read.h"
#include "layers/fully_connected_read.h"
#include "layers/normalization.h"
#include "layers/quantizer.h"

namespace bnns::impl {

using FusedSecond = std::variant<NormalizationParameters, QuantizerParameters>;

struct FusedParameters {
  std::variant<ConvolutionParameters, FullyConnectedParameters, ArithmeticParameters> first;
  BNNSActivation activation = {};  // of the first layer, unless it is arithmetic
  FusedSecond second;
};

// Reads and checks all parameters.
FusedParameters read_fused(size_t count, const BNNSFilterType* types,
                           const void* const* parameters);

}  // namespace bnns::impl
