// Clipping and norms.
#include "layers/clip.h"

#include "api/boundary.h"

using namespace bnns::impl;

extern "C" {

int BNNSClipByValue(BNNSNDArrayDescriptor* dest, const BNNSNDArrayDescriptor* src, float min_val,
                    float max_val) {
  return boundary::status("BNNSClipByValue", [&] { clip_by_value(dest, src, min_val, max_val); });
}

int BNNSClipByNorm(BNNSNDArrayDescriptor* dest, const BNNSNDArrayDescriptor* src, float max_norm,
                   uint32_t axis_flags) {
  return boundary::status("BNNSClipByNorm", [&] { clip_by_norm(dest, src, max_norm, axis_flags); });
}

int BNNSClipByGlobalNorm(BNNSNDArrayDescriptor** dest, const BNNSNDArrayDescriptor** src,
                         size_t count, float max_norm, float use_norm) {
  return boundary::status("BNNSClipByGlobalNorm",
                          [&] { clip_by_global_norm(dest, src, count, max_norm, use_norm); });
}

int BNNSComputeNorm(BNNSNDArrayDescriptor* dest, const BNNSNDArrayDescriptor* src,
                    BNNSNormType norm_type, uint32_t axis_flags) {
  return boundary::status("BNNSComputeNorm",
                          [&] { compute_norm(dest, src, norm_type, axis_flags); });
}

int BNNSComputeNormBackward(const void* in, BNNSNDArrayDescriptor* in_delta, const void* out,
                            const BNNSNDArrayDescriptor* out_delta, BNNSNormType norm_type,
                            uint32_t axis_flags) {
  return boundary::status("BNNSComputeNormBackward", [&] {
    compute_norm_backward(in, in_delta, out, out_delta, norm_type, axis_flags);
  });
}

}  // extern "C"
