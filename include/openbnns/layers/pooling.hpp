// Pooling: the largest value, the average or the norm of windows that slide over an image, and the
// partial inverse of the maximum.
#ifndef OPENBNNS_LAYERS_POOLING_HPP
#define OPENBNNS_LAYERS_POOLING_HPP

#include <cstddef>
#include <optional>
#include <span>
#include <variant>

#include "activation.hpp"
#include "window.hpp"

namespace bnns {

namespace pooling {

// One index per window: row * width + column of its maximum in the plane. Either numbers,
// batch_size times as many as the tensor with one element per window has, or a descriptor of UInt32
// or UInt64 that is laid out as this tensor.
struct Indices {
  std::span<std::size_t> numbers = {};
  std::optional<Descriptor> descriptor = std::nullopt;
};

// Writes the indices in apply and reads them in apply_backward; without them it finds the maxima
// again.
struct Max {
  Indices indices = {};
  std::size_t x_dilation_stride = 0;
  std::size_t y_dilation_stride = 0;
};
// The input has one element per window. Needs indices.
struct UnMax {
  Indices indices;
  std::size_t x_dilation_stride = 0;
  std::size_t y_dilation_stride = 0;
};
struct Average {
  bool count_includes_padding = true;
};
struct L2Norm {};

}  // namespace pooling

using PoolingType = std::variant<pooling::Max, pooling::Average, pooling::UnMax, pooling::L2Norm>;

struct PoolingLayerOptions {
  PoolingType type = pooling::Max{};
  Required<Descriptor, field::input> input;
  Required<Descriptor, field::output> output;
  std::optional<ParameterDescriptor> bias = std::nullopt;  // one value per channel
  ActivationFunction activation = ActivationFunction::identity();
  WindowSize kernel_size;
  WindowStride stride = 0;  // 0: that of the window, so that windows lie side by side
  ConvolutionPadding padding = 0;
  FilterParameters filter_parameters = {};
};

// `input` and `output` may be left out where the function does not need them: with indices, or for
// averages.
struct PoolingBackwardArguments {
  Descriptor input = {};
  Descriptor output = {};
  Required<Descriptor, field::output_gradient> output_gradient;
  std::optional<Descriptor> input_gradient = std::nullopt;
  std::optional<Descriptor> bias_gradient = std::nullopt;
};

class PoolingLayer : public Layer {
 public:
  explicit PoolingLayer(const PoolingLayerOptions& options)
      : Layer(create(options), "PoolingLayer", {options.bias}),
        input_(*options.input),
        output_(*options.output),
        un_max_(std::holds_alternative<pooling::UnMax>(options.type)),
        indices_(indices_of(options.type)) {}

  void apply(std::size_t batch_size, const Descriptor& input, const Descriptor& output) {
    constexpr const char* kOperation = "PoolingLayer::apply";
    require_ready(batch_size, kOperation);
    input_.check(input, batch_size, kOperation, "input");
    output_.check(output, batch_size, kOperation, "output");
    const Native indices = native(batch_size, kOperation);
    detail::check(BNNSPoolingFilterApplyBatchEx(native_handle(), batch_size, input.data,
                                                detail::batch_stride(input), output.data,
                                                detail::batch_stride(output), indices.type,
                                                indices.data, indices.stride),
                  Error::Code::layer_apply_fail, kOperation);
  }

  void apply(const Descriptor& input, const Descriptor& output) {
    apply(detail::common_batch_size("PoolingLayer::apply", {{"input", input}, {"output", output}}),
          input, output);
  }

  // The gradient of the bias is a sum over the batch.
  void apply_backward(std::size_t batch_size, PoolingBackwardArguments arguments) {
    constexpr const char* kOperation = "PoolingLayer::apply_backward";
    require_ready(batch_size, kOperation);
    const Native indices = native(batch_size, kOperation);
    std::optional<Descriptor>& gradient = arguments.input_gradient;
    input_.check_optional(arguments.input, batch_size, kOperation, "input");
    output_.check_optional(arguments.output, batch_size, kOperation, "output");
    detail::require_samples(*arguments.output_gradient, batch_size, kOperation, "output_gradient");
    if (gradient) detail::require_samples(*gradient, batch_size, kOperation, "input_gradient");
    detail::check(BNNSPoolingFilterApplyBackwardBatchEx(
                      native_handle(), batch_size, arguments.input.data,
                      detail::batch_stride(arguments.input), detail::pointer_or_null(gradient),
                      gradient ? detail::batch_stride(*gradient) : 0, arguments.output.data,
                      detail::batch_stride(arguments.output), &*arguments.output_gradient,
                      detail::batch_stride(*arguments.output_gradient),
                      detail::pointer_or_null(arguments.bias_gradient), indices.type, indices.data,
                      indices.stride),
                  Error::Code::layer_apply_fail, kOperation);
  }
  void apply_backward(const PoolingBackwardArguments& arguments) {
    const std::size_t batch_size = detail::common_batch_size(
        "PoolingLayer::apply_backward", {{"input", arguments.input},
                                         {"output", arguments.output},
                                         {"output_gradient", *arguments.output_gradient}});
    apply_backward(batch_size, arguments);
  }

 private:
  struct Native {
    BNNSDataType type = BNNSDataTypeUInt64;
    void* data = nullptr;
    std::size_t stride = 0;
  };

  // One index per window: per element of the output, or for UnMax of the input.
  Native native(std::size_t batch_size, const char* operation) const {
    const detail::Form& windows = un_max_ ? input_ : output_;
    if (indices_.descriptor) {
      const Descriptor& d = *indices_.descriptor;
      windows.check_places(d, batch_size, operation, "indices");
      return {d.data_type, d.data, detail::batch_stride(d)};
    }
    const std::span<std::size_t> numbers = indices_.numbers;
    if (numbers.empty()) return {};
    const std::size_t stride = windows.batch_stride();
    detail::require(numbers.size() / stride >= batch_size, Error::Code::invalid_argument, operation,
                    "indices are ", numbers.size(), " numbers, ", batch_size, " samples have ",
                    stride, " each");
    return {BNNSDataTypeUInt64, numbers.data(), stride};
  }

  static pooling::Indices indices_of(const PoolingType& type) {
    if (const auto* max = std::get_if<pooling::Max>(&type)) return max->indices;
    if (const auto* un_max = std::get_if<pooling::UnMax>(&type)) return un_max->indices;
    return {};
  }

  static void write(const pooling::Max& type, BNNSLayerParametersPooling& parameters) {
    parameters.pooling_function = BNNSPoolingFunctionMax;
    parameters.x_dilation_stride = type.x_dilation_stride;
    parameters.y_dilation_stride = type.y_dilation_stride;
  }
  static void write(const pooling::UnMax& type, BNNSLayerParametersPooling& parameters) {
    parameters.pooling_function = BNNSPoolingFunctionUnMax;
    parameters.x_dilation_stride = type.x_dilation_stride;
    parameters.y_dilation_stride = type.y_dilation_stride;
  }
  static void write(const pooling::Average& type, BNNSLayerParametersPooling& parameters) {
    parameters.pooling_function = type.count_includes_padding
                                      ? BNNSPoolingFunctionAverageCountIncludePadding
                                      : BNNSPoolingFunctionAverageCountExcludePadding;
  }
  static void write(const pooling::L2Norm&, BNNSLayerParametersPooling& parameters) {
    parameters.pooling_function = BNNSPoolingFunctionL2Norm;
  }

  static BNNSFilter create(const PoolingLayerOptions& options) {
    BNNSLayerParametersPooling parameters = {};
    parameters.i_desc = *options.input;
    parameters.o_desc = *options.output;
    parameters.bias = detail::value_or_zero(options.bias);
    parameters.activation = options.activation.native();
    parameters.k_width = options.kernel_size.width;
    parameters.k_height = options.kernel_size.height;
    parameters.x_stride = options.stride.x == 0 ? options.kernel_size.width : options.stride.x;
    parameters.y_stride = options.stride.y == 0 ? options.kernel_size.height : options.stride.y;
    options.padding.write_to(parameters);
    std::visit([&](const auto& type) { write(type, parameters); }, options.type);
    const BNNSFilterParameters native = detail::native(options.filter_parameters);
    return BNNSFilterCreateLayerPooling(&parameters, &native);
  }

  detail::Form input_, output_;
  bool un_max_;
  pooling::Indices indices_;
};

}  // namespace bnns

#endif
