// Boxes of images and their gradient, functions without a filter.
#include "api/boundary.h"
#include "layers/resize.h"

using namespace bnns::impl;

extern "C" {

int BNNSCropResize(const BNNSLayerParametersCropResize* layer_params,
                   const BNNSNDArrayDescriptor* input, const BNNSNDArrayDescriptor* roi,
                   BNNSNDArrayDescriptor* output, const BNNSFilterParameters* filter_params) {
  return boundary::status("BNNSCropResize",
                          [&] { crop_resize(layer_params, input, roi, output, filter_params); });
}

int BNNSCropResizeBackward(const BNNSLayerParametersCropResize* layer_params,
                           BNNSNDArrayDescriptor* in_delta, const BNNSNDArrayDescriptor* roi,
                           const BNNSNDArrayDescriptor* out_delta,
                           const BNNSFilterParameters* filter_params) {
  return boundary::status("BNNSCropResizeBackward", [&] {
    crop_resize_backward(layer_params, in_delta, roi, out_delta, filter_params);
  });
}

}  // extern "C"
