// The calls of filters with two inputs: products of matrices and contractions of tensors.
#pragma once

#include "openbnns/bnns.h"

namespace bnns::impl {

struct TwoInputForwardArgs {
  size_t batch;
  const void* in_a;
  size_t in_a_stride;
  const void* in_b;
  size_t in_b_stride;
  void* out;
  size_t out_stride;
};

// The output of the forward call is no argument: none of these filters has an activation.
struct TwoInputBackwardArgs {
  size_t batch;
  const void* in_a;
  size_t in_a_stride;
  BNNSNDArrayDescriptor* in_a_delta;
  size_t in_a_delta_stride;
  const void* in_b;
  size_t in_b_stride;
  BNNSNDArrayDescriptor* in_b_delta;
  size_t in_b_delta_stride;
  const BNNSNDArrayDescriptor* out_delta;
  size_t out_delta_stride;
  BNNSNDArrayDescriptor* weights_delta;
  BNNSNDArrayDescriptor* bias_delta;
};

class TwoInputCalls {
 public:
  virtual void apply_two_inputs(const TwoInputForwardArgs& args) = 0;
  virtual void apply_two_inputs_backward(const TwoInputBackwardArgs& args) = 0;

 protected:
  ~TwoInputCalls() = default;
};

}  // namespace bnns::impl
