// Functions that work on the data of their descriptors, without a filter.
#include "api/boundary.h"
#include "layers/activation.h"
#include "layers/compare.h"
#include "layers/copy.h"
#include "layers/quantizer.h"
#include "layers/reduction.h"

using namespace bnns::impl;

extern "C" {

int BNNSDirectApplyActivationBatch(const BNNSLayerParametersActivation* layer_params,
                                   const BNNSFilterParameters* filter_params, size_t batch_size,
                                   size_t in_stride, size_t out_stride) {
  return boundary::status("BNNSDirectApplyActivationBatch", [&] {
    apply_activation(layer_params, filter_params, batch_size, in_stride, out_stride);
  });
}

int BNNSDirectApplyQuantizer(const BNNSLayerParametersQuantization* layer_params,
                             const BNNSFilterParameters* filter_params, size_t batch_size,
                             size_t input_stride, size_t output_stride) {
  return boundary::status("BNNSDirectApplyQuantizer", [&] {
    apply_quantizer(layer_params, filter_params, batch_size, input_stride, output_stride);
  });
}

int BNNSDirectApplyReduction(const BNNSLayerParametersReduction* layer_params,
                             const BNNSFilterParameters* filter_params) {
  return boundary::status("BNNSDirectApplyReduction",
                          [&] { apply_reduction(layer_params, filter_params); });
}

int BNNSCompareTensor(const BNNSNDArrayDescriptor* in0, const BNNSNDArrayDescriptor* in1,
                      BNNSRelationalOperator op, BNNSNDArrayDescriptor* out) {
  return boundary::status("BNNSCompareTensor", [&] { compare_tensors(in0, in1, op, out); });
}

int BNNSCopy(BNNSNDArrayDescriptor* dest, const BNNSNDArrayDescriptor* src,
             const BNNSFilterParameters* filter_params) {
  return boundary::status("BNNSCopy", [&] { copy_array(dest, src, filter_params); });
}

int BNNSTranspose(BNNSNDArrayDescriptor* dest, const BNNSNDArrayDescriptor* src, size_t axis0,
                  size_t axis1, const BNNSFilterParameters* filter_params) {
  return boundary::status("BNNSTranspose",
                          [&] { transpose_array(dest, src, axis0, axis1, filter_params); });
}

}  // extern "C"
