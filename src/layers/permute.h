// BNNSFilterCreateLayerPermute, and the backward call of its filters; formulas in permute.cpp.
#pragma once

#include "core/filter.h"
#include "openbnns/bnns.h"

namespace bnns::impl {

struct PermuteBackwardArgs {
  size_t batch;
  BNNSNDArrayDescriptor* in_delta;
  size_t in_delta_stride;
  const BNNSNDArrayDescriptor* out_delta;
  size_t out_delta_stride;
};

class PermuteCalls {
 public:
  virtual void apply_permute_backward(const PermuteBackwardArgs& args) = 0;

 protected:
  ~PermuteCalls() = default;
};

BNNSFilter make_permute_filter(const BNNSLayerParametersPermute* parameters,
                               const BNNSFilterParameters* filter_parameters);

}  // namespace bnns::impl
