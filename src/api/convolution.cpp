// The creators of convolution filters.
#include "layers/convolution.h"

#include "api/boundary.h"

using namespace bnns::impl;

extern "C" {

BNNSFilter BNNSFilterCreateLayerConvolution(const BNNSLayerParametersConvolution* layer_params,
                                            const BNNSFilterParameters* filter_params) {
  return boundary::handle("BNNSFilterCreateLayerConvolution", [&] {
    return make_convolution_filter(layer_params, filter_params, false);
  });
}

BNNSFilter BNNSFilterCreateLayerTransposedConvolution(
    const BNNSLayerParametersConvolution* layer_params, const BNNSFilterParameters* filter_params) {
  return boundary::handle("BNNSFilterCreateLayerTransposedConvolution", [&] {
    return make_convolution_filter(layer_params, filter_params, true);
  });
}

}  // extern "C"
