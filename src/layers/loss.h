// Loss filters: the five BNNSLayerParametersLoss... structures, and the calls of losses.
#pragma once

#include <cstddef>

#include "openbnns/bnns.h"

namespace bnns::impl {

// The arguments that the forward and the backward call have in common.
struct LossInputs {
  size_t batch;
  const void* in;
  size_t in_stride;
  const void* labels;
  size_t labels_stride;
  const void* weights;
  size_t weights_size;
  const BNNSNDArrayDescriptor* in_delta;
  size_t in_delta_stride;
};

struct LossForwardArgs {
  LossInputs inputs;
  void* out;
};

struct LossBackwardArgs {
  LossInputs inputs;
  const BNNSNDArrayDescriptor* out_delta;
  size_t out_delta_stride;
};

class LossCalls {
 public:
  virtual void apply_loss(const LossForwardArgs& args) = 0;
  virtual void apply_loss_backward(const LossBackwardArgs& args) = 0;

 protected:
  ~LossCalls() = default;
};

// `parameters` is the structure that belongs to the BNNSLossFunction at its beginning.
BNNSFilter make_loss_filter(const void* parameters, const BNNSFilterParameters* filter_parameters);

}  // namespace bnns::impl
