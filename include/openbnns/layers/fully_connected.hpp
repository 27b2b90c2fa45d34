// The fully connected layer: output = activation(weights input + bias).
#ifndef OPENBNNS_LAYERS_FULLY_CONNECTED_HPP
#define OPENBNNS_LAYERS_FULLY_CONNECTED_HPP

#include <cstddef>
#include <optional>

#include "convolution.hpp"

namespace bnns {

struct FullyConnectedLayerOptions {
  Descriptor input;
  Descriptor output;
  Descriptor weights;  // Shape::matrix_row_major(inputs, outputs)
  std::optional<Descriptor> bias;
  ActivationFunction activation;
  std::optional<FilterParameters> filter_parameters = std::nullopt;
};

using FullyConnectedBackwardArguments = ConvolutionBackwardArguments;

// Derived as in Swift: both have the same backward pass.
class FullyConnectedLayer : public ConvolutionLayer {
 public:
  explicit FullyConnectedLayer(const FullyConnectedLayerOptions& options)
      : ConvolutionLayer(create(options), "FullyConnectedLayer",
                         "FullyConnectedLayer::apply_backward") {}

 private:
  static BNNSFilter create(const FullyConnectedLayerOptions& options) {
    const BNNSLayerParametersFullyConnected parameters = {
        .i_desc = options.input,
        .w_desc = options.weights,
        .o_desc = options.output,
        .bias = detail::value_or_zero(options.bias),
        .activation = options.activation.native()};
    const detail::NativeFilterParameters native(options.filter_parameters);
    return BNNSFilterCreateLayerFullyConnected(&parameters, native.get());
  }
};

}  // namespace bnns

#endif
