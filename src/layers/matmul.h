// BNNSFilterCreateLayerBroadcastMatMul, and products without a filter.
#pragma once

#include "openbnns/bnns.h"

namespace bnns::impl {

BNNSFilter make_matmul_filter(const BNNSLayerParametersBroadcastMatMul* parameters,
                              const BNNSFilterParameters* filter_parameters);

// The arguments that BNNSMatMul and its relatives share.
struct DirectMatMul {
  bool trans_a, trans_b;
  float alpha;
  const BNNSNDArrayDescriptor *a, *b, *out;
  const BNNSFilterParameters* filter_parameters;
};

// Bytes of a workspace, for any alignment of it.
size_t matmul_workspace_size(const DirectMatMul& product);
// Without a workspace, working memory is allocated for the call.
void apply_matmul(const DirectMatMul& product, void* workspace);

}  // namespace bnns::impl
