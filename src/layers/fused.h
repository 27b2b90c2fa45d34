// Two layers in one filter: a convolution, a fully connected layer or arithmetic, followed by a
// normalization or, forward only, a quantization. Their calls and the maker.
#pragma once

#include "core/filter.h"
#include "layers/arithmetic.h"
#include "openbnns/bnns.h"

namespace bnns::impl {

// Layers with one input have a list of one.
struct FusedForwardArgs : ArithmeticForwardArgs {
  bool training;
};

struct FusedBackwardArgs : ArithmeticBackwardArgs {
  // Gradients of the parameters of both layers, in order; NULL, or NULL in it: not wanted.
  BNNSNDArrayDescriptor* const* parameters;
  const char* function;  // the name of the C function, for a warning
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
