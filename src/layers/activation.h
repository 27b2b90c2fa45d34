// The activation parameters that every layer may have, and the makers of activation filters.
#pragma once

#include "core/filter.h"
#include "ops/activation/fused.h"
#include "openbnns/bnns.h"

namespace bnns::impl {

// Checks function, alpha and beta; messages name the field "activation...".
const ActivationInfo& read_activation(const BNNSActivation& activation);

inline ActivationCoefficients coefficients_of(const BNNSActivation& activation) {
  return {.alpha = activation.alpha, .beta = activation.beta};
}

// Refuses a fused activation whose slope cannot be computed from the output alone, as training
// requires. The identity passes.
void require_slope_from_output(const FusedActivation& f);

// The one call that only activation filters accept.
class PointerCalls {
 public:
  virtual BNNSNDArrayDescriptor pointer(BNNSPointerSpecifier target) = 0;

 protected:
  ~PointerCalls() = default;
};

BNNSFilter make_activation_filter(const BNNSLayerParametersActivation* parameters,
                                  const BNNSFilterParameters* filter_parameters);

// Creates a filter, applies it to the data of the descriptors and destroys it.
void apply_activation(const BNNSLayerParametersActivation* parameters,
                      const BNNSFilterParameters* filter_parameters, size_t batch, size_t in_stride,
                      size_t out_stride);

}  // namespace bnns::impl
