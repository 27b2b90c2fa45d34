// The fully connected layer: output = activation(weights input + bias).
#ifndef OPENBNNS_LAYERS_FULLY_CONNECTED_HPP
#define OPENBNNS_LAYERS_FULLY_CONNECTED_HPP

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <optional>

#include "convolution.hpp"
#include "sparse.hpp"

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

  // Weights for a layer that is not trained, packed without their zeros. What is allocated for them
  // is freed with the result and its copies, and with the layers made from it.
  static ParameterDescriptor sparsify(const SparsifyOptions& options) {
    const BNNSFilterParameters native = detail::native(options.filter_parameters);
    Descriptor output = options.output;
    detail::check(detail::sparsify(options, output, native), Error::Code::layer_apply_fail,
                  "FullyConnectedLayer::sparsify");
    if (options.output.data != nullptr) return output;
    const BNNSFree release = native.free_memory != nullptr ? native.free_memory : std::free;
    return {output, std::shared_ptr<const void>(output.data, [release](const void* data) {
              release(const_cast<void*>(data));
            })};
  }

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
