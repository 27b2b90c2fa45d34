// The fully connected layer: output = activation(weights input + bias).
#ifndef OPENBNNS_LAYERS_FULLY_CONNECTED_HPP
#define OPENBNNS_LAYERS_FULLY_CONNECTED_HPP

#include <cstddef>
#include <optional>

#include "activation.hpp"

namespace bnns {

struct FullyConnectedLayerOptions {
  Descriptor input;
  Descriptor output;
  Descriptor weights;  // Shape::matrix_row_major(inputs, outputs)
  std::optional<Descriptor> bias;
  ActivationFunction activation;
  std::optional<FilterParameters> filter_parameters = std::nullopt;
};

struct FullyConnectedBackwardArguments {
  Descriptor input;
  Descriptor output;
  Descriptor output_gradient;
  std::optional<Descriptor> input_gradient;
  std::optional<Descriptor> weights_gradient = std::nullopt;
  std::optional<Descriptor> bias_gradient = std::nullopt;
};

class FullyConnectedLayer : public UnaryLayer {
 public:
  explicit FullyConnectedLayer(const FullyConnectedLayerOptions& options)
      : UnaryLayer(create(options), "FullyConnectedLayer") {}

  // Gradients of weights and bias are sums over the batch.
  void apply_backward(std::size_t batch_size, const FullyConnectedBackwardArguments& arguments) {
    backward(batch_size,
             {.input = arguments.input,
              .output = arguments.output,
              .output_gradient = arguments.output_gradient,
              .input_gradient = arguments.input_gradient},
             arguments.weights_gradient, arguments.bias_gradient,
             "FullyConnectedLayer::apply_backward");
  }

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
