#pragma once

#include "openbnns/bnns.h"

namespace bnns::impl {

void copy_array(const BNNSNDArrayDescriptor* dest, const BNNSNDArrayDescriptor* src,
                const BNNSFilterParameters* filter_parameters);

void transpose_array(const BNNSNDArrayDescriptor* dest, const BNNSNDArrayDescriptor* src,
                     size_t axis0, size_t axis1, const BNNSFilterParameters* filter_parameters);

}  // namespace bnns::impl
