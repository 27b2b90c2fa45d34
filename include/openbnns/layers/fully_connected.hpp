// The fully connected layer: output = activation(weights input + bias).
#ifndef OPENBNNS_LAYERS_FULLY_CONNECTED_HPP
#define OPENBNNS_LAYERS_FULLY_CONNECTED_HPP

#include <cstddef>
#include <optional>

#include "convolution.hpp"

namespace bnns {

struct FullyConnectedLayerOptions {
  Required<Descriptor, field::input> input;
  Required<Descriptor, field::output> output;
  Required<ParameterDescriptor, field::weights>
      weights;  // Shape::matrix_row_major(inputs, outputs)
  std::optional<ParameterDescriptor> bias = std::nullopt;
  ActivationFunction activation = ActivationFunction::identity();
  FilterParameters filter_parameters = {};
};

using FullyConnectedBackwardArguments = ConvolutionBackwardArguments;

// Derived as in Swift: both have the same backward pass.
class FullyConnectedLayer : public ConvolutionLayer {
 public:
  explicit FullyConnectedLayer(const FullyConnectedLayerOptions& options)
      : ConvolutionLayer(create(options), "FullyConnectedLayer",
                         "FullyConnectedLayer::apply_backward", options.input, options.output,
                         {options.weights, options.bias}) {}

 private:
  static BNNSFilter create(const FullyConnectedLayerOptions& options) {
    detail::require_trainable(options.activation, {options.weights, options.bias},
                              "FullyConnectedLayer");
    const BNNSLayerParametersFullyConnected parameters = {
        .i_desc = *options.input,
        .w_desc = *options.weights,
        .o_desc = *options.output,
        .bias = detail::value_or_zero(options.bias),
        .activation = options.activation.native()};
    const BNNSFilterParameters native = detail::native(options.filter_parameters);
    return BNNSFilterCreateLayerFullyConnected(&parameters, &native);
  }
};

}  // namespace bnns

#endif
