// Loss filters.
#include "layers/loss.h"

#include "api/boundary.h"
#include "core/filter.h"

using namespace bnns::impl;

extern "C" {

BNNSFilter BNNSFilterCreateLayerLoss(const void* layer_params,
                                     const BNNSFilterParameters* filter_params) {
  return boundary::handle("BNNSFilterCreateLayerLoss",
                          [&] { return make_loss_filter(layer_params, filter_params); });
}

int BNNSLossFilterApplyBatch(BNNSFilter filter, size_t batch_size, const void* in, size_t in_stride,
                             const void* labels, size_t labels_stride, const void* weights,
                             size_t weights_size, void* out, BNNSNDArrayDescriptor* in_delta,
                             size_t in_delta_stride) {
  return boundary::status("BNNSLossFilterApplyBatch", [&] {
    find_filter_as<LossCalls>(filter).apply_loss({.inputs = {.batch = batch_size,
                                                             .in = in,
                                                             .in_stride = in_stride,
                                                             .labels = labels,
                                                             .labels_stride = labels_stride,
                                                             .weights = weights,
                                                             .weights_size = weights_size,
                                                             .in_delta = in_delta,
                                                             .in_delta_stride = in_delta_stride},
                                                  .out = out});
  });
}

int BNNSLossFilterApplyBackwardBatch(BNNSFilter filter, size_t batch_size, const void* in,
                                     size_t in_stride, BNNSNDArrayDescriptor* in_delta,
                                     size_t in_delta_stride, const void* labels,
                                     size_t labels_stride, const void* weights, size_t weights_size,
                                     const BNNSNDArrayDescriptor* out_delta,
                                     size_t out_delta_stride) {
  return boundary::status("BNNSLossFilterApplyBackwardBatch", [&] {
    find_filter_as<LossCalls>(filter).apply_loss_backward(
        {.inputs = {.batch = batch_size,
                    .in = in,
                    .in_stride = in_stride,
                    .labels = labels,
                    .labels_stride = labels_stride,
                    .weights = weights,
                    .weights_size = weights_size,
                    .in_delta = in_delta,
                    .in_delta_stride = in_delta_stride},
         .out_delta = out_delta,
         .out_delta_stride = out_delta_stride});
  });
}

}  // extern "C"
