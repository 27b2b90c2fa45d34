// The convolution layer, standard or transposed: output = activation(weights * input + bias).
#ifndef OPENBNNS_LAYERS_CONVOLUTION_HPP
#define OPENBNNS_LAYERS_CONVOLUTION_HPP

#include <cstddef>
#include <optional>

#include "activation.hpp"
#include "window.hpp"

namespace bnns {

enum class ConvolutionType { standard, transposed };

struct ConvolutionLayerOptions {
  ConvolutionType type;
  Descriptor input;    // Shape::image_chw
  Descriptor weights;  // Shape::convolution_weights_oihw(kernel width, height, in / groups, out)
  Descriptor output;   // Shape::image_chw
  std::optional<Descriptor> bias;
  ConvolutionPadding padding = {};  // around the larger of the two images
  ActivationFunction activation;
  std::size_t group_count = 1;
  WindowStride stride = {};
  WindowStride dilation_stride = {};
  std::optional<FilterParameters> filter_parameters = std::nullopt;
};

struct ConvolutionBackwardArguments {
  Descriptor input;
  Descriptor output;
  Descriptor output_gradient;
  std::optional<Descriptor> input_gradient;
  std::optional<Descriptor> weights_gradient = std::nullopt;
  std::optional<Descriptor> bias_gradient = std::nullopt;
};

class ConvolutionLayer : public UnaryLayer {
 public:
  explicit ConvolutionLayer(const ConvolutionLayerOptions& options)
      : UnaryLayer(create(options), "ConvolutionLayer") {}

  // Gradients of weights and bias are sums over the batch.
  void apply_backward(std::size_t batch_size, const ConvolutionBackwardArguments& arguments) {
    backward(batch_size,
             {.input = arguments.input,
              .output = arguments.output,
              .output_gradient = arguments.output_gradient,
              .input_gradient = arguments.input_gradient},
             arguments.weights_gradient, arguments.bias_gradient, operation_);
  }

 protected:
  // Of layers that share the backward pass; `operation` names it in errors.
  ConvolutionLayer(BNNSFilter filter, const char* class_name, const char* operation)
      : UnaryLayer(filter, class_name), operation_(operation) {}

 private:
  static BNNSFilter create(const ConvolutionLayerOptions& options) {
    BNNSLayerParametersConvolution parameters = {};
    parameters.i_desc = options.input;
    parameters.w_desc = options.weights;
    parameters.o_desc = options.output;
    parameters.bias = detail::value_or_zero(options.bias);
    parameters.activation = options.activation.native();
    parameters.x_stride = options.stride.x;
    parameters.y_stride = options.stride.y;
    parameters.x_dilation_stride = options.dilation_stride.x;
    parameters.y_dilation_stride = options.dilation_stride.y;
    parameters.groups = options.group_count;
    options.padding.write_to(parameters);
    const detail::NativeFilterParameters native(options.filter_parameters);
    return options.type == ConvolutionType::transposed
               ? BNNSFilterCreateLayerTransposedConvolution(&parameters, native.get())
               : BNNSFilterCreateLayerConvolution(&parameters, native.get());
  }

  const char* operation_ = "ConvolutionLayer::apply_backward";
};

// For the reader: the type is still given by ConvolutionLayerOptions::type.
using TransposedConvolutionLayer = ConvolutionLayer;

}  // namespace bnns

#endif
