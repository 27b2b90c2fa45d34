// Pooling filters, and the calls that carry indices.
#pragma once

#include "core/filter.h"
#include "openbnns/bnns.h"

namespace bnns::impl {

// `indices` may be NULL.
struct PoolingForwardArgs {
  ForwardArgs filter;
  BNNSDataType indices_type;
  void* indices;
  size_t indices_stride;
};

struct PoolingBackwardArgs {
  BackwardArgs filter;
  BNNSDataType indices_type;
  const void* indices;
  size_t indices_stride;
};

class PoolingCalls {
 public:
  virtual void apply_pooling(const PoolingForwardArgs& args) = 0;
  virtual void apply_pooling_backward(const PoolingBackwardArgs& args) = 0;

 protected:
  ~PoolingCalls() = default;
};

BNNSFilter make_pooling_filter(const BNNSLayerParametersPooling* parameters,
                               const BNNSFilterParameters* filter_parameters);

}  // namespace bnns::impl
