// BNNSFilterCreateLayerMultiheadAttention, and the calls of its filter.
#pragma once

#include <cstddef>

#include "openbnns/bnns.h"

namespace bnns::impl {

// What both calls of an attention filter are given, in the names of the C functions.
struct AttentionArgs {
  size_t batch;
  const void* query;
  size_t query_stride;
  const void* key;
  size_t key_stride;
  const BNNSNDArrayDescriptor* key_mask;
  size_t key_mask_stride;
  const void* value;
  size_t value_stride;
  const BNNSNDArrayDescriptor* add_to_attention;
  size_t* workspace_size;
  void* workspace;
};

struct AttentionForwardArgs {
  AttentionArgs inputs;
  void* output;
  size_t output_stride;
  size_t* backprop_cache_size;
  void* backprop_cache;
};

struct AttentionBackwardArgs {
  AttentionArgs inputs;
  BNNSMHAProjectionParameters* param_delta[4];  // of query, key, value and output
  BNNSNDArrayDescriptor* key_attn_bias_delta;
  BNNSNDArrayDescriptor* value_attn_bias_delta;
  size_t backprop_cache_size;
  const void* backprop_cache;
};

class AttentionCalls {
 public:
  virtual void apply_attention(const AttentionForwardArgs& args) = 0;
  virtual void apply_attention_backward(const AttentionBackwardArgs& args) = 0;

 protected:
  ~AttentionCalls() = default;
};

BNNSFilter make_attention_filter(const BNNSLayerParametersMultiheadAttention* parameters,
                                 const BNNSFilterParameters* filter_parameters);

}  // namespace bnns::impl
