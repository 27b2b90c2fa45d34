// Pooling filters: the creator, and the calls that carry indices.
#include "layers/pooling.h"

#include "api/boundary.h"
#include "core/filter.h"

using namespace bnns::impl;

namespace {

int apply(const char* function, BNNSFilter filter, const ForwardArgs& args, BNNSDataType type,
          void* indices, size_t stride) {
  return boundary::status(function, [&] {
    find_filter_as<PoolingCalls>(filter).apply_pooling(
        {.filter = args, .indices_type = type, .indices = indices, .indices_stride = stride});
  });
}

int apply_backward(const char* function, BNNSFilter filter, const BackwardArgs& args,
                   BNNSDataType type, const void* indices, size_t stride) {
  return boundary::status(function, [&] {
    find_filter_as<PoolingCalls>(filter).apply_pooling_backward(
        {.filter = args, .indices_type = type, .indices = indices, .indices_stride = stride});
  });
}

}  // namespace

extern "C" {

BNNSFilter BNNSFilterCreateLayerPooling(const BNNSLayerParametersPooling* layer_params,
                                        const BNNSFilterParameters* filter_params) {
  return boundary::handle("BNNSFilterCreateLayerPooling",
                          [&] { return make_pooling_filter(layer_params, filter_params); });
}

int BNNSPoolingFilterApplyBatch(BNNSFilter filter, size_t batch_size, const void* in,
                                size_t in_stride, void* out, size_t out_stride, size_t* indices,
                                size_t idx_stride) {
  return apply("BNNSPoolingFilterApplyBatch", filter, {batch_size, in, in_stride, out, out_stride},
               BNNSDataTypeUInt64, indices, idx_stride);
}

int BNNSPoolingFilterApplyBatchEx(BNNSFilter filter, size_t batch_size, const void* in,
                                  size_t in_stride, void* out, size_t out_stride,
                                  BNNSDataType indices_data_type, void* indices,
                                  size_t idx_stride) {
  return apply("BNNSPoolingFilterApplyBatchEx", filter,
               {batch_size, in, in_stride, out, out_stride}, indices_data_type, indices,
               idx_stride);
}

int BNNSPoolingFilterApplyBackwardBatch(BNNSFilter filter, size_t batch_size, const void* in,
                                        size_t in_stride, BNNSNDArrayDescriptor* in_delta,
                                        size_t in_delta_stride, const void* out, size_t out_stride,
                                        BNNSNDArrayDescriptor* out_delta, size_t out_delta_stride,
                                        BNNSNDArrayDescriptor* bias_delta, const size_t* indices,
                                        size_t idx_stride) {
  return apply_backward("BNNSPoolingFilterApplyBackwardBatch", filter,
                        {batch_size, in, in_stride, in_delta, in_delta_stride, out, out_stride,
                         out_delta, out_delta_stride, nullptr, bias_delta},
                        BNNSDataTypeUInt64, indices, idx_stride);
}

int BNNSPoolingFilterApplyBackwardBatchEx(
    BNNSFilter filter, size_t batch_size, const void* in, size_t in_stride,
    BNNSNDArrayDescriptor* in_delta, size_t in_delta_stride, const void* out, size_t out_stride,
    BNNSNDArrayDescriptor* out_delta, size_t out_delta_stride, BNNSNDArrayDescriptor* bias_delta,
    BNNSDataType indices_data_type, const void* indices, size_t idx_stride) {
  return apply_backward("BNNSPoolingFilterApplyBackwardBatchEx", filter,
                        {batch_size, in, in_stride, in_delta, in_delta_stride, out, out_stride,
                         out_delta, out_delta_stride, nullptr, bias_delta},
                        indices_data_type, indices, idx_stride);
}

}  // extern "C"
