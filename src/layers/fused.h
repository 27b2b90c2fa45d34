// Two layers in one filter: a convolution, a fully connected layer or arithmetic, followed by a
// normalization or, forward only, a quantization. Their calls and the maker.
#pragma once

#include "core/filter.h"
#include "openbnns/bnns.h"

namespace bnns::impl {

struct FusedForwardArgs {
  size_t batch;
  size_t inputs;
  const void* const* in;
  const size_t* in_stride;
  void* out;
  size_t out_stride;
  bool training;
};

struct FusedBackwardArgs {
  const char* function;  // the name of the C function, for a warning
  size_t batch;
  size_t inputs;
  const void* const* in;    // may be NULL, or have NULL in it
  const size_t* in_stride;  // may be NULL: samples are packed
  BNNSNDArrayDescriptor* const* in_delta;
  const size_t* in_delta_stride;
  const void* out;
  size_t out_stride;
  const BNNSNDArrayDescriptor* out_delta;
  size_t out_delta_stride;
  // Gradients of the parameters of both layers, in order; NULL, or NULL in it: not wanted.
  BNNSNDArrayDescriptor* const* parameters;
};

class FusedCalls {
 public:
  virtual void apply_fused(const FusedForwardArgs& args) = 0;
  virtual void apply_fused_backward(const FusedBackwardArgs& args) = 0;

 protected:
  ~FusedCalls() = default;
};

BNNSFilter make_fused_filter(size_t count, const BNNSFilterType* types,
                             const void* const* parameters,
                             const BNNSFilterParameters* filter_parameters);

}  // namespace bnns::impl
