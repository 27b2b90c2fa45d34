// Normalization filters.
#include "layers/normalization.h"

#include "api/boundary.h"
#include "core/filter.h"

using namespace bnns::impl;

extern "C" {

BNNSFilter BNNSFilterCreateLayerNormalization(BNNSFilterType normType,
                                              const BNNSLayerParametersNormalization* layer_params,
                                              const BNNSFilterParameters* filter_params) {
  return boundary::handle("BNNSFilterCreateLayerNormalization", [&] {
    return make_normalization_filter(normType, layer_params, filter_params);
  });
}

int BNNSNormalizationFilterApplyBatch(BNNSFilter filter, size_t batch_size, const void* in,
                                      size_t in_stride, void* out, size_t out_stride,
                                      bool training) {
  return boundary::status("BNNSNormalizationFilterApplyBatch", [&] {
    find_filter_as<NormalizationCalls>(filter).apply_normalization(
        {.filter = {.batch = batch_size,
                    .in = in,
                    .in_stride = in_stride,
                    .out = out,
                    .out_stride = out_stride},
         .training = training});
  });
}

int BNNSNormalizationFilterApplyBackwardBatch(
    BNNSFilter filter, size_t batch_size, BNNSNDArrayDescriptor* in_delta, size_t in_delta_stride,
    const void* out, size_t out_stride, BNNSNDArrayDescriptor* out_delta, size_t out_delta_stride,
    BNNSNDArrayDescriptor* beta_delta, BNNSNDArrayDescriptor* gamma_delta) {
  return boundary::status("BNNSNormalizationFilterApplyBackwardBatch", [&] {
    find_filter_as<NormalizationCalls>(filter).apply_normalization_backward(
        {.batch = batch_size,
         .in_delta = in_delta,
         .in_delta_stride = in_delta_stride,
         .out = out,
         .out_stride = out_stride,
         .out_delta = out_delta,
         .out_delta_stride = out_delta_stride,
         .beta_delta = beta_delta,
         .gamma_delta = gamma_delta});
  });
}

}  // extern "C"
