// Arithmetic filters: the creator and their two calls.
#include "layers/arithmetic.h"

#include "api/boundary.h"

using namespace bnns::impl;

extern "C" {

BNNSFilter BNNSFilterCreateLayerArithmetic(const BNNSLayerParametersArithmetic* layer_params,
                                           const BNNSFilterParameters* filter_params) {
  return boundary::handle("BNNSFilterCreateLayerArithmetic",
                          [&] { return make_arithmetic_filter(layer_params, filter_params); });
}

int BNNSArithmeticFilterApplyBatch(BNNSFilter filter, size_t batch_size, size_t number_of_inputs,
                                   const void** in, const size_t* in_stride, void* out,
                                   size_t out_stride) {
  return boundary::status("BNNSArithmeticFilterApplyBatch", [&] {
    find_filter_as<ArithmeticCalls>(filter).apply_arithmetic(
        {batch_size, number_of_inputs, in, in_stride, out, out_stride});
  });
}

int BNNSArithmeticFilterApplyBackwardBatch(
    BNNSFilter filter, size_t batch_size, size_t number_of_inputs, const void** in,
    const size_t* in_stride, BNNSNDArrayDescriptor** in_delta, const size_t* in_delta_stride,
    const void* out, size_t out_stride, BNNSNDArrayDescriptor* out_delta, size_t out_delta_stride) {
  return boundary::status("BNNSArithmeticFilterApplyBackwardBatch", [&] {
    find_filter_as<ArithmeticCalls>(filter).apply_arithmetic_backward(
        {batch_size, number_of_inputs, in, in_stride, in_delta, in_delta_stride, out, out_stride,
         out_delta, out_delta_stride});
  });
}

}  // extern "C"
