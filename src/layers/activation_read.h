// BNNSLayerParametersActivation -> ActivationParameters.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/descriptor.h"
#include "ops/activation/activation.h"

namespace bnns::impl {

struct ActivationParameters {
  const ActivationInfo* info;
  Descriptor in, out;
  uint32_t axis_flags;
  size_t channels = 1;
  size_t plane = 1;          // elements of a channel, which are consecutive in memory order
  bool gives_index = false;  // of the maximum of every row, in an output with one element per row
};

// Does every check of the parameters of an activation layer.
ActivationParameters read_activation_layer(const BNNSLayerParametersActivation* p);

}  // namespace bnns::impl
