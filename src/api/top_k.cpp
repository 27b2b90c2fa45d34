// Top k along an axis.
#include "layers/top_k.h"

#include "api/boundary.h"

using namespace bnns::impl;

extern "C" {

int BNNSDirectApplyTopK(size_t K, size_t axis, size_t batch_size,
                        const BNNSNDArrayDescriptor* input, size_t input_batch_stride,
                        BNNSNDArrayDescriptor* best_values, size_t best_values_batch_stride,
                        BNNSNDArrayDescriptor* best_indices, size_t best_indices_batch_stride,
                        const BNNSFilterParameters* filter_params) {
  return boundary::status("BNNSDirectApplyTopK", [&] {
    apply_top_k({K, axis, batch_size, input, input_batch_stride, filter_params}, best_values,
                best_values_batch_stride, best_indices, best_indices_batch_stride);
  });
}

int BNNSDirectApplyInTopK(size_t K, size_t axis, size_t batch_size,
                          const BNNSNDArrayDescriptor* input, size_t input_batch_stride,
                          const BNNSNDArrayDescriptor* test_indices,
                          size_t test_indices_batch_stride, BNNSNDArrayDescriptor* output,
                          size_t output_batch_stride, const BNNSFilterParameters* filter_params) {
  return boundary::status("BNNSDirectApplyInTopK", [&] {
    apply_in_top_k({K, axis, batch_size, input, input_batch_stride, filter_params}, test_indices,
                   test_indices_batch_stride, output, output_batch_stride);
  });
}

}  // extern "C"
