// Multi-head attention.
#include "layers/attention.h"

#include "api/boundary.h"
#include "core/filter.h"

using namespace bnns::impl;

extern "C" {

BNNSFilter BNNSFilterCreateLayerMultiheadAttention(
    const BNNSLayerParametersMultiheadAttention* layer_params,
    const BNNSFilterParameters* filter_params) {
  return boundary::handle("BNNSFilterCreateLayerMultiheadAttention",
                          [&] { return make_attention_filter(layer_params, filter_params); });
}

int BNNSApplyMultiheadAttention(BNNSFilter F, size_t batch_size, const void* query,
                                size_t query_stride, const void* key, size_t key_stride,
                                const BNNSNDArrayDescriptor* key_mask, size_t key_mask_stride,
                                const void* value, size_t value_stride, void* output,
                                size_t output_stride, const BNNSNDArrayDescriptor* add_to_attention,
                                size_t* backprop_cache_size, void* backprop_cache,
                                size_t* workspace_size, void* workspace) {
  return boundary::status("BNNSApplyMultiheadAttention", [&] {
    find_filter_as<AttentionCalls>(F).apply_attention(
        {.inputs = {.batch = batch_size,
                    .query = query,
                    .query_stride = query_stride,
                    .key = key,
                    .key_stride = key_stride,
                    .key_mask = key_mask,
                    .key_mask_stride = key_mask_stride,
                    .value = value,
                    .value_stride = value_stride,
                    .add_to_attention = add_to_attention,
                    .workspace_size = workspace_size,
                    .workspace = workspace},
         .output = output,
         .output_stride = output_stride,
         .backprop_cache_size = backprop_cache_size,
         .backprop_cache = backprop_cache});
  });
}

int BNNSApplyMultiheadAttentionBackward(
    BNNSFilter F, size_t batch_size, const void* query, size_t query_stride,
    BNNSMHAProjectionParameters* query_param_delta, const void* key, size_t key_stride,
    const BNNSNDArrayDescriptor* key_mask, size_t key_mask_stride,
    BNNSMHAProjectionParameters* key_param_delta, const void* value, size_t value_stride,
    BNNSMHAProjectionParameters* value_param_delta, const BNNSNDArrayDescriptor* add_to_attention,
    BNNSNDArrayDescriptor* key_attn_bias_delta, BNNSNDArrayDescriptor* value_attn_bias_delta,
    const void*, size_t, BNNSMHAProjectionParameters* output_param_delta,
    size_t backprop_cache_size, void* backprop_cache, size_t* workspace_size, void* workspace) {
  return boundary::status("BNNSApplyMultiheadAttentionBackward", [&] {
    find_filter_as<AttentionCalls>(F).apply_attention_backward(
        {.inputs = {.batch = batch_size,
                    .query = query,
                    .query_stride = query_stride,
                    .key = key,
                    .key_stride = key_stride,
                    .key_mask = key_mask,
                    .key_mask_stride = key_mask_stride,
                    .value = value,
                    .value_stride = value_stride,
                    .add_to_attention = add_to_attention,
                    .workspace_size = workspace_size,
                    .workspace = workspace},
         .param_delta = {query_param_delta, key_param_delta, value_param_delta, output_param_delta},
         .key_attn_bias_delta = key_attn_bias_delta,
         .value_attn_bias_delta = value_attn_bias_delta,
         .backprop_cache_size = backprop_cache_size,
         .backprop_cache = backprop_cache});
  });
}

}  // extern "C"
