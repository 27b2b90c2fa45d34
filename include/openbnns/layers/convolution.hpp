// The convolution layer, standard or transposed: output = activation(weights * input + bias).
#ifndef OPENBNNS_LAYERS_CONVOLUTION_HPP
#define OPENBNNS_LAYERS_CONVOLUTION_HPP

#include <cstddef>
#include <optional>
#include <utility>

#include "activation.hpp"
#include "window.hpp"

namespace bnns {

enum class ConvolutionType { standard, transposed };

struct ConvolutionLayerOptions {
  ConvolutionType type = ConvolutionType::standard;
  Required<Descriptor, field::input> input;    // Shape::image_chw
  Required<Descriptor, field::output> output;  // Shape::image_chw
  // Shape::convolution_weights_oihw(kernel width, height, in / groups, out)
  Required<ParameterDescriptor, field::weights> weights;
  std::optional<ParameterDescriptor> bias = std::nullopt;
  ActivationFunction activation = ActivationFunction::identity();
  WindowStride stride = 1;
  WindowStride dilation_stride = 1;
  ConvolutionPadding padding = 0;  // around the larger of the two images
  std::size_t group_count = 1;
  FilterParameters filter_parameters = {};
};

struct ConvolutionBackwardArguments {
  Descriptor input = {};
  Descriptor output = {};
  Required<Descriptor, field::output_gradient> output_gradient;
  std::optional<Descriptor> input_gradient = std::nullopt;
  std::optional<Descriptor> weights_gradient = std::nullopt;
  std::optional<Descriptor> bias_gradient = std::nullopt;
};

class ConvolutionLayer : public UnaryLayer {
 public:
  explicit ConvolutionLayer(const ConvolutionLayerOptions& options)
      : UnaryLayer(create(options), "ConvolutionLayer", options.input, options.output,
                   {options.weights, options.bias}) {}

  // Gradients of weights and bias are sums over the batch.
  void apply_backward(std::size_t batch_size, const ConvolutionBackwardArguments& arguments) {
    backward(batch_size,
             {.input = arguments.input,
              .output = arguments.output,
              .output_gradient = arguments.output_gradient,
              .input_gradient = arguments.input_gradient},
             arguments.weights_gradient, arguments.bias_gradient, operation_);
  }
  void apply_backward(const ConvolutionBackwardArguments& arguments) {
    apply_backward(common_batch_size(arguments, operation_), arguments);
  }

 protected:
  // Of layers that share the backward pass; `operation` names it in errors.
  ConvolutionLayer(detail::OwnedFilter filter, const char* class_name, const char* operation,
                   const Descriptor& input, const Descriptor& output,
                   std::initializer_list<std::optional<ParameterDescriptor>> parameters)
      : UnaryLayer(std::move(filter), class_name, input, output, parameters),
        operation_(operation) {}

 private:
  static BNNSFilter create(const ConvolutionLayerOptions& options) {
    detail::require_trainable(options.activation, {options.weights, options.bias},
                              "ConvolutionLayer");
    BNNSLayerParametersConvolution parameters = {};
    parameters.i_desc = *options.input;
    parameters.w_desc = *options.weights;
    parameters.o_desc = *options.output;
    parameters.bias = detail::value_or_zero(options.bias);
    parameters.activation = options.activation.native();
    parameters.x_stride = options.stride.x;
    parameters.y_stride = options.stride.y;
    parameters.x_dilation_stride = options.dilation_stride.x;
    parameters.y_dilation_stride = options.dilation_stride.y;
    parameters.groups = options.group_count;
    options.padding.write_to(parameters);
    const BNNSFilterParameters native = detail::native(options.filter_parameters);
    return options.type == ConvolutionType::transposed
               ? BNNSFilterCreateLayerTransposedConvolution(&parameters, &native)
               : BNNSFilterCreateLayerConvolution(&parameters, &native);
  }

  const char* operation_ = "ConvolutionLayer::apply_backward";
};

// For the reader: the type is still given by ConvolutionLayerOptions::type.
using TransposedConvolutionLayer = ConvolutionLayer;

}  // namespace bnns

#endif
