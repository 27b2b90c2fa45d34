// The parameters of a fully connected layer, and every check of them.
#pragma once

#include "core/call.h"
#include "ops/activation/activation.h"
#include "openbnns/bnns.h"

namespace bnns::impl {

struct FullyConnectedParameters {
  const ActivationInfo* activation;
  Descriptor in, out, weights, bias;
  bool has_bias;

  bool integer() const { return activation->kind == ActivationClass::kInteger; }
};

// For packed weights, `sparse`, all but w_desc is checked.
FullyConnectedParameters read_fully_connected(const BNNSLayerParametersFullyConnected* parameters,
                                              bool sparse = false);

}  // namespace bnns::impl
