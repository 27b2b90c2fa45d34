// The functions of the C API that no layer provides yet. Each one fails, writes nothing and says so
// in the last error, so a program links today and learns at run time what is missing.
// Who adds a layer removes its functions from this file.

#include <cstdint>

#include "api/boundary.h"
#include "openbnns/bnns.h"

namespace boundary = bnns::impl::boundary;

// ---- Multi-head attention ----

extern "C" BNNSFilter BNNSFilterCreateLayerMultiheadAttention(
    const BNNSLayerParametersMultiheadAttention*, const BNNSFilterParameters*) {
  return boundary::not_implemented("BNNSFilterCreateLayerMultiheadAttention", nullptr);
}

extern "C" int BNNSApplyMultiheadAttention(BNNSFilter, size_t, const void*, size_t, const void*,
                                           size_t, const BNNSNDArrayDescriptor*, size_t,
                                           const void*, size_t, void*, size_t,
                                           const BNNSNDArrayDescriptor*, size_t*, void*, size_t*,
                                           void*) {
  return boundary::not_implemented("BNNSApplyMultiheadAttention", -1);
}

extern "C" int BNNSApplyMultiheadAttentionBackward(
    BNNSFilter, size_t, const void*, size_t, BNNSMHAProjectionParameters*, const void*, size_t,
    const BNNSNDArrayDescriptor*, size_t, BNNSMHAProjectionParameters*, const void*, size_t,
    BNNSMHAProjectionParameters*, const BNNSNDArrayDescriptor*, BNNSNDArrayDescriptor*,
    BNNSNDArrayDescriptor*, const void*, size_t, BNNSMHAProjectionParameters*, size_t, void*,
    size_t*, void*) {
  return boundary::not_implemented("BNNSApplyMultiheadAttentionBackward", -1);
}
