// The parameters of an attention layer and the tensors of its calls, checked.
#pragma once

#include "core/call.h"
#include "layers/attention.h"
#include "ops/attention/attention.h"

namespace bnns::impl {

struct AttentionLayer {
  AttentionProblem problem;
  uint32_t seed = 0;
  Descriptor target[kAttentionRoles], weights[kAttentionRoles], bias[kAttentionRoles];
  Descriptor key_bias, value_bias;
  AttentionSources sources;  // where the client's parameters lie
};

AttentionLayer read_attention(const BNNSLayerParametersMultiheadAttention* p);

// The names of a role's descriptors at creation, and of their gradients.
struct AttentionNames {
  const char *target, *weights, *bias;
  const char *data, *stride;  // of the argument of a call
  const char *delta, *target_delta, *batch_stride, *weights_delta, *bias_delta;
};
const AttentionNames& attention_names(size_t role);

// Tensors that lie like `frozen`, with strides of their own, as the op takes them.
AttentionRows attention_rows(const Batch& batch, const Descriptor& frozen);
AttentionTensor attention_weights(const View& view, const Descriptor& frozen, size_t role);
AttentionTensor attention_bias(const View& view, const Descriptor& frozen);

// The masks of a call, added to what it reads.
AttentionMasks read_attention_masks(const AttentionArgs& args, const AttentionProblem& p,
                                    Call& call);

}  // namespace bnns::impl
