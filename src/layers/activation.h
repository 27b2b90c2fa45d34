// Activation parameters as every layer meets them, and the makers of activation filters.
#pragma once

#include "core/filter.h"
#include "ops/activation/fused.h"
#include "openbnns/bnns.h"

namespace bnns::impl {

// Checks function, alpha and beta; throws with the field "activation...".
const ActivationInfo& read_activation(const BNNSActivation& activation);

inline ActivationCoefficients coefficients_of(const BNNSActivation& activation) {
  return {.alpha = activation.alpha, .beta = activation.beta};
}

// Training needs the slope of a fused activation from the output alone; the identity has it.
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

// Creates, applies to the data of the descriptors and destroys.
void apply_activation(const BNNSLayerParametersActivation* parameters,
                      const BNNSFilterParameters* filter_parameters, size_t batch, size_t in_stride,
                      size_t out_stride);

}  // namespace bnns::impl
