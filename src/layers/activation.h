// Activation parameters as every layer meets them, and the makers of activation filters.
#pragma once

#include "core/filter.h"
#include "ops/activation/activation.h"
#include "openbnns/bnns.h"

namespace bnns::impl {

// Checks function, alpha and beta; throws with the field "activation...".
const ActivationRow& read_activation(const BNNSActivation& activation);

inline ActivationParameters parameters_of(const BNNSActivation& activation) {
  return {.alpha = activation.alpha, .beta = activation.beta};
}

BNNSFilter make_activation_filter(const BNNSLayerParametersActivation* parameters,
                                  const BNNSFilterParameters* filter_parameters);

// Creates, applies to the data of the descriptors and destroys.
void apply_activation(const BNNSLayerParametersActivation* parameters,
                      const BNNSFilterParameters* filter_parameters, size_t batch, size_t in_stride,
                      size_t out_stride);

}  // namespace bnns::impl
