// BNNSFilterCreateLayerResize, BNNSCropResize and BNNSCropResizeBackward.
#pragma once

#include "openbnns/bnns.h"

namespace bnns::impl {

BNNSFilter make_resize_filter(const BNNSLayerParametersResize* parameters,
                              const BNNSFilterParameters* filter_parameters);

void crop_resize(const BNNSLayerParametersCropResize* parameters,
                 const BNNSNDArrayDescriptor* input, const BNNSNDArrayDescriptor* roi,
                 const BNNSNDArrayDescriptor* output,
                 const BNNSFilterParameters* filter_parameters);

void crop_resize_backward(const BNNSLayerParametersCropResize* parameters,
                          const BNNSNDArrayDescriptor* in_delta, const BNNSNDArrayDescriptor* roi,
                          const BNNSNDArrayDescriptor* out_delta,
                          const BNNSFilterParameters* filter_parameters);

}  // namespace bnns::impl
