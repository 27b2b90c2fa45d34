// Products of matrices and contractions of tensors: the creators, the calls with two inputs, and
// the products without a filter.
#include "layers/matmul.h"

#include "api/boundary.h"
#include "core/filter.h"
#include "layers/contraction.h"
#include "layers/two_inputs.h"

using namespace bnns::impl;

extern "C" {

BNNSFilter BNNSFilterCreateLayerBroadcastMatMul(
    const BNNSLayerParametersBroadcastMatMul* layer_params,
    const BNNSFilterParameters* filter_params) {
  return boundary::handle("BNNSFilterCreateLayerBroadcastMatMul",
                          [&] { return make_matmul_filter(layer_params, filter_params); });
}

BNNSFilter BNNSFilterCreateLayerTensorContraction(
    const BNNSLayerParametersTensorContraction* layer_params,
    const BNNSFilterParameters* filter_params) {
  return boundary::handle("BNNSFilterCreateLayerTensorContraction", [&] {
    return make_tensor_contraction_filter(layer_params, filter_params);
  });
}

int BNNSFilterApplyTwoInput(BNNSFilter filter, const void* inA, const void* inB, void* out) {
  return boundary::status("BNNSFilterApplyTwoInput", [&] {
    find_filter_as<TwoInputCalls>(filter).apply_two_inputs({.batch = 1,
                                                            .in_a = inA,
                                                            .in_a_stride = 0,
                                                            .in_b = inB,
                                                            .in_b_stride = 0,
                                                            .out = out,
                                                            .out_stride = 0});
  });
}

int BNNSFilterApplyTwoInputBatch(BNNSFilter filter, size_t batch_size, const void* inA,
                                 size_t inA_stride, const void* inB, size_t inB_stride, void* out,
                                 size_t out_stride) {
  return boundary::status("BNNSFilterApplyTwoInputBatch", [&] {
    find_filter_as<TwoInputCalls>(filter).apply_two_inputs({.batch = batch_size,
                                                            .in_a = inA,
                                                            .in_a_stride = inA_stride,
                                                            .in_b = inB,
                                                            .in_b_stride = inB_stride,
                                                            .out = out,
                                                            .out_stride = out_stride});
  });
}

int BNNSFilterApplyBackwardTwoInputBatch(
    BNNSFilter filter, size_t batch_size, const void* inA, size_t inA_stride,
    BNNSNDArrayDescriptor* inA_delta, size_t inA_delta_stride, const void* inB, size_t inB_stride,
    BNNSNDArrayDescriptor* inB_delta, size_t inB_delta_stride, const void*, size_t,
    const BNNSNDArrayDescriptor* out_delta, size_t out_delta_stride,
    BNNSNDArrayDescriptor* weights_delta, BNNSNDArrayDescriptor* bias_delta) {
  return boundary::status("BNNSFilterApplyBackwardTwoInputBatch", [&] {
    find_filter_as<TwoInputCalls>(filter).apply_two_inputs_backward(
        {.batch = batch_size,
         .in_a = inA,
         .in_a_stride = inA_stride,
         .in_a_delta = inA_delta,
         .in_a_delta_stride = inA_delta_stride,
         .in_b = inB,
         .in_b_stride = inB_stride,
         .in_b_delta = inB_delta,
         .in_b_delta_stride = inB_delta_stride,
         .out_delta = out_delta,
         .out_delta_stride = out_delta_stride,
         .weights_delta = weights_delta,
         .bias_delta = bias_delta});
  });
}

ssize_t BNNSMatMulWorkspaceSize(bool transA, bool transB, float alpha,
                                const BNNSNDArrayDescriptor* inputA,
                                const BNNSNDArrayDescriptor* inputB,
                                const BNNSNDArrayDescriptor* output,
                                const BNNSFilterParameters* filter_params) {
  return boundary::value("BNNSMatMulWorkspaceSize", ssize_t{-1}, [&] {
    return static_cast<ssize_t>(
        matmul_workspace_size({transA, transB, alpha, inputA, inputB, output, filter_params}));
  });
}

int BNNSMatMul(bool transA, bool transB, float alpha, const BNNSNDArrayDescriptor* inputA,
               const BNNSNDArrayDescriptor* inputB, const BNNSNDArrayDescriptor* output,
               void* workspace, const BNNSFilterParameters* filter_params) {
  return boundary::status("BNNSMatMul", [&] {
    apply_matmul({transA, transB, alpha, inputA, inputB, output, filter_params}, workspace);
  });
}

void BNNSDirectApplyBroadcastMatMul(bool transA, bool transB, float alpha,
                                    const BNNSNDArrayDescriptor* inputA,
                                    const BNNSNDArrayDescriptor* inputB,
                                    const BNNSNDArrayDescriptor* output,
                                    const BNNSFilterParameters* filter_params) {
  boundary::status("BNNSDirectApplyBroadcastMatMul", [&] {
    apply_matmul({transA, transB, alpha, inputA, inputB, output, filter_params}, nullptr);
  });
}

}  // extern "C"
