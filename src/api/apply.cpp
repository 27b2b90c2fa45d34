// Application of filters, forward and backward.
#include "api/boundary.h"
#include "core/filter.h"

using namespace bnns::impl;

extern "C" {

int BNNSFilterApply(BNNSFilter filter, const void* in, void* out) {
  return boundary::status("BNNSFilterApply", [&] {
    find_filter(filter).apply({.batch = 1, .in = in, .in_stride = 0, .out = out, .out_stride = 0});
  });
}

int BNNSFilterApplyBatch(BNNSFilter filter, size_t batch_size, const void* in, size_t in_stride,
                         void* out, size_t out_stride) {
  return boundary::status("BNNSFilterApplyBatch", [&] {
    find_filter(filter).apply({.batch = batch_size,
                               .in = in,
                               .in_stride = in_stride,
                               .out = out,
                               .out_stride = out_stride});
  });
}

int BNNSFilterApplyBackwardBatch(BNNSFilter filter, size_t batch_size, const void* in,
                                 size_t in_stride, BNNSNDArrayDescriptor* in_delta,
                                 size_t in_delta_stride, const void* out, size_t out_stride,
                                 const BNNSNDArrayDescriptor* out_delta, size_t out_delta_stride,
                                 BNNSNDArrayDescriptor* weights_delta,
                                 BNNSNDArrayDescriptor* bias_delta) {
  return boundary::status("BNNSFilterApplyBackwardBatch", [&] {
    find_filter(filter).apply_backward({.batch = batch_size,
                                        .in = in,
                                        .in_stride = in_stride,
                                        .in_delta = in_delta,
                                        .in_delta_stride = in_delta_stride,
                                        .out = out,
                                        .out_stride = out_stride,
                                        .out_delta = out_delta,
                                        .out_delta_stride = out_delta_stride,
                                        .weights_delta = weights_delta,
                                        .bias_delta = bias_delta});
  });
}

}  // extern "C"
