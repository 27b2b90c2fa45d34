// Fused filters, with one input and with several.
#include "layers/fused.h"

#include "api/boundary.h"

using namespace bnns::impl;

namespace {

constexpr const char *kBackward = "BNNSFusedFilterApplyBackwardBatch",
                     *kBackwardMulti = "BNNSFusedFilterApplyBackwardMultiInputBatch";

}  // namespace

extern "C" {

BNNSFilter BNNSFilterCreateFusedLayer(const size_t number_of_fused_filters,
                                      const BNNSFilterType* filter_type, const void** layer_params,
                                      const BNNSFilterParameters* filter_params) {
  return boundary::handle("BNNSFilterCreateFusedLayer", [&] {
    return make_fused_filter(number_of_fused_filters, filter_type, layer_params, filter_params);
  });
}

int BNNSFusedFilterApplyBatch(BNNSFilter filter, size_t batch_size, const void* in,
                              size_t in_stride, void* out, size_t out_stride, bool training) {
  return boundary::status("BNNSFusedFilterApplyBatch", [&] {
    find_filter_as<FusedCalls>(filter).apply_fused(
        {{batch_size, 1, &in, &in_stride, out, out_stride}, training});
  });
}

int BNNSFusedFilterApplyMultiInputBatch(BNNSFilter filter, size_t batch_size,
                                        size_t number_of_inputs, const void** in,
                                        const size_t* in_stride, void* out, size_t out_stride,
                                        bool training) {
  return boundary::status("BNNSFusedFilterApplyMultiInputBatch", [&] {
    FusedCalls& calls = find_filter_as<FusedCalls>(filter);
    require(in != nullptr, "in is NULL; it must point to the inputs");
    require(in_stride != nullptr, "in_stride is NULL; it must point to the strides");
    calls.apply_fused({{batch_size, number_of_inputs, in, in_stride, out, out_stride}, training});
  });
}

int BNNSFusedFilterApplyBackwardBatch(BNNSFilter filter, size_t batch_size, const void* in,
                                      size_t in_stride, BNNSNDArrayDescriptor* in_delta,
                                      size_t in_delta_stride, const void* out, size_t out_stride,
                                      BNNSNDArrayDescriptor* out_delta, size_t out_delta_stride,
                                      BNNSNDArrayDescriptor** delta_parameters) {
  return boundary::status(kBackward, [&] {
    // A gradient that is not wanted may be NULL here, but not in a list of several.
    BNNSNDArrayDescriptor none = {};
    BNNSNDArrayDescriptor* delta = in_delta == nullptr ? &none : in_delta;
    find_filter_as<FusedCalls>(filter).apply_fused_backward(
        {{batch_size, 1, &in, &in_stride, &delta, &in_delta_stride, out, out_stride, out_delta,
          out_delta_stride},
         delta_parameters,
         kBackward});
  });
}

int BNNSFusedFilterApplyBackwardMultiInputBatch(
    BNNSFilter filter, size_t batch_size, size_t number_of_inputs, const void** in,
    const size_t* in_stride, BNNSNDArrayDescriptor** in_delta, const size_t* in_delta_stride,
    const void* out, const size_t out_stride, BNNSNDArrayDescriptor* out_delta,
    size_t out_delta_stride, BNNSNDArrayDescriptor** delta_parameters) {
  return boundary::status(kBackwardMulti, [&] {
    FusedCalls& calls = find_filter_as<FusedCalls>(filter);
    require(in_delta != nullptr, "in_delta is NULL; it must point to the gradients");
    require(in_delta_stride != nullptr, "in_delta_stride is NULL; it must point to the strides");
    calls.apply_fused_backward({{batch_size, number_of_inputs, in, in_stride, in_delta,
                                 in_delta_stride, out, out_stride, out_delta, out_delta_stride},
                                delta_parameters,
                                kBackwardMulti});
  });
}

}  // extern "C"
