#pragma once

#include <cstddef>
#include <cstdint>

#include "openbnns/bnns.h"

namespace bnns::impl {

void clip_by_value(const BNNSNDArrayDescriptor* dest, const BNNSNDArrayDescriptor* src,
                   float min_val, float max_val);

void clip_by_norm(const BNNSNDArrayDescriptor* dest, const BNNSNDArrayDescriptor* src,
                  float max_norm, uint32_t axis_flags);

void clip_by_global_norm(const BNNSNDArrayDescriptor* const* dest,
                         const BNNSNDArrayDescriptor* const* src, size_t count, float max_norm,
                         float use_norm);

void compute_norm(const BNNSNDArrayDescriptor* dest, const BNNSNDArrayDescriptor* src,
                  BNNSNormType norm_type, uint32_t axis_flags);

void compute_norm_backward(const void* in, const BNNSNDArrayDescriptor* in_delta, const void* out,
                           const BNNSNDArrayDescriptor* out_delta, BNNSNormType norm_type,
                           uint32_t axis_flags);

}  // namespace bnns::impl
