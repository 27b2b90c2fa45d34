// The parameters of a convolution: every check of them, and the geometry they describe.
#pragma once

#include "core/call.h"
#include "core/filter.h"
#include "ops/activation/activation.h"
#include "ops/convolution/geometry.h"
#include "ops/convolution/weights.h"
#include "openbnns/bnns.h"

namespace bnns::impl {

struct ConvolutionParameters {
  const ActivationInfo* activation;
  Descriptor in, out, weights, bias;
  bool has_bias;
  bool transposed;
  ConvolutionGeometry geometry;

  bool integer() const { return activation->kind == ActivationClass::kInteger; }
};

ConvolutionParameters read_convolution(const BNNSLayerParametersConvolution* parameters,
                                       bool transposed);

// Makes all checks of a forward call. `client` says whether the filter reads the client's weights.
struct ConvolutionTensors {
  Batch in, out;
};
ConvolutionTensors check_forward(const ForwardArgs& args, const ConvolutionParameters& convolution,
                                 bool client);

// The layout of the weights for the op. `weights` has passed the checks of read_convolution().
ConvolutionWeights map_weights(const Descriptor& weights, bool transposed);

// Reads the gradient of the weights, named `field` in messages, which must be Float32, with any
// weight layout and the sizes of the filter's weights.
Descriptor read_weights_delta(const BNNSNDArrayDescriptor& given, const char* field,
                              const ConvolutionParameters& convolution);

}  // namespace bnns::impl
