// Top k without a filter: the k best values along an axis, and whether a value is among them.
#pragma once

#include <cstddef>

#include "openbnns/bnns.h"

namespace bnns::impl {

struct TopKArgs {
  size_t k, axis, batch;
  const BNNSNDArrayDescriptor* input;
  size_t input_stride;
  const BNNSFilterParameters* filter_parameters;
};

void apply_top_k(const TopKArgs& args, const BNNSNDArrayDescriptor* best_values,
                 size_t values_stride, const BNNSNDArrayDescriptor* best_indices,
                 size_t indices_stride);
void apply_in_top_k(const TopKArgs& args, const BNNSNDArrayDescriptor* test_indices,
                    size_t test_stride, const BNNSNDArrayDescriptor* output, size_t output_stride);

}  // namespace bnns::impl
