// The two layers of a FusedParametersLayer, each by its parameters: what flows between them follows
// from the input and output of the whole.
#ifndef OPENBNNS_LAYERS_FUSED_PARAMETERS_HPP
#define OPENBNNS_LAYERS_FUSED_PARAMETERS_HPP

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <variant>
#include <vector>

#include "arithmetic.hpp"
#include "convolution.hpp"
#include "normalization.hpp"

namespace bnns {

// ---- First layers ----

struct FusedConvolutionParameters {
  ConvolutionType type = ConvolutionType::standard;
  Required<ParameterDescriptor, field::weights> weights;
  std::optional<ParameterDescriptor> bias = std::nullopt;
  WindowStride stride = 1;
  WindowStride dilation_stride = 1;
  ConvolutionPadding padding = 0;
  std::size_t group_count = 1;
};

struct FusedFullyConnectedParameters {
  Required<ParameterDescriptor, field::weights> weights;
  std::optional<ParameterDescriptor> bias = std::nullopt;
};

struct FusedUnaryArithmeticParameters {
  Required<ArithmeticUnaryFunction, field::function> function;
  DescriptorType input_descriptor_type = DescriptorType::sample;
};

struct FusedBinaryArithmeticParameters {
  Required<ArithmeticBinaryFunction, field::function> function;
  DescriptorType input_a_descriptor_type = DescriptorType::sample;
  DescriptorType input_b_descriptor_type = DescriptorType::sample;
};

struct FusedTernaryArithmeticParameters {
  Required<ArithmeticTernaryFunction, field::function> function;
  DescriptorType input_a_descriptor_type = DescriptorType::sample;
  DescriptorType input_b_descriptor_type = DescriptorType::sample;
  DescriptorType input_c_descriptor_type = DescriptorType::sample;
};

// ---- Second layers ----

struct FusedNormalizationParameters {
  Required<NormalizationType, field::type> type;
  std::optional<ParameterDescriptor> beta = std::nullopt;
  std::optional<ParameterDescriptor> gamma = std::nullopt;
  float momentum = 0;
  float epsilon = 1e-5f;
  ActivationFunction activation = ActivationFunction::identity();
};

// Forward only. Behind a convolution or fully connected layer.
struct FusedQuantizationParameters {
  std::optional<ParameterDescriptor> scale = std::nullopt;
  std::optional<ParameterDescriptor> bias = std::nullopt;
  std::optional<std::size_t> axis = std::nullopt;
};

// The same from integers.
struct FusedDequantizationParameters {
  std::optional<ParameterDescriptor> scale = std::nullopt;
  std::optional<ParameterDescriptor> bias = std::nullopt;
  std::optional<std::size_t> axis = std::nullopt;
};

using FusableParameters =
    std::variant<FusedConvolutionParameters, FusedFullyConnectedParameters,
                 FusedUnaryArithmeticParameters, FusedBinaryArithmeticParameters,
                 FusedTernaryArithmeticParameters, FusedNormalizationParameters,
                 FusedQuantizationParameters, FusedDequantizationParameters>;

namespace detail {

using OptionalParameter = std::optional<ParameterDescriptor>;

// The structure of C for one layer, and the memory that the layer goes on using.
class FusedStage {
 public:
  // `inputs` and `output` are those of this layer.
  FusedStage(const FusableParameters& parameters, const std::vector<Descriptor>& inputs,
             const Descriptor& output) {
    std::visit([&](const auto& p) { set(p, inputs, output); }, parameters);
  }
  FusedStage(const FusedStage&) = delete;

  BNNSFilterType type() const noexcept { return type_; }
  const void* native() const noexcept { return native_; }
  const std::vector<OptionalParameter>& parameters() const noexcept { return parameters_; }
  // By input: whether there is one per sample of a batch.
  const std::vector<DescriptorType>& roles() const noexcept { return roles_; }

 private:
  using Inputs = std::vector<Descriptor>;

  static void require_inputs(const Inputs& inputs, std::size_t count) {
    require(inputs.size() == count, Error::Code::unable_to_create_layer, "FusedParametersLayer",
            "there are ", inputs.size(), " inputs, the first layer takes ", count);
  }
  // Copies no more than there are: at -O3 gcc 12 does not see that require_inputs() throws, and
  // would warn of the others.
  template <std::size_t count>
  static std::array<Descriptor, count> exactly(const Inputs& inputs) {
    require_inputs(inputs, count);
    std::array<Descriptor, count> result;
    std::copy_n(inputs.begin(), std::min(count, inputs.size()), result.begin());
    return result;
  }

  void set(const FusedConvolutionParameters& p, const Inputs& inputs, const Descriptor& output) {
    require_inputs(inputs, 1);
    convolution_.i_desc = inputs[0];
    convolution_.w_desc = *p.weights;
    convolution_.o_desc = output;
    convolution_.bias = value_or_zero(p.bias);
    convolution_.x_stride = p.stride.x;
    convolution_.y_stride = p.stride.y;
    convolution_.x_dilation_stride = p.dilation_stride.x;
    convolution_.y_dilation_stride = p.dilation_stride.y;
    convolution_.groups = p.group_count;
    p.padding.write_to(convolution_);
    finish(p.type == ConvolutionType::transposed ? BNNSTransposedConvolution : BNNSConvolution,
           &convolution_, {p.weights, p.bias});
  }
  void set(const FusedFullyConnectedParameters& p, const Inputs& inputs, const Descriptor& output) {
    require_inputs(inputs, 1);
    connected_.i_desc = inputs[0];
    connected_.w_desc = *p.weights;
    connected_.o_desc = output;
    connected_.bias = value_or_zero(p.bias);
    finish(BNNSFullyConnected, &connected_, {p.weights, p.bias});
  }
  void set(const FusedUnaryArithmeticParameters& p, const Inputs& inputs,
           const Descriptor& output) {
    require_inputs(inputs, 1);
    roles_ = {p.input_descriptor_type};
    unary_ = {inputs[0], detail::native(roles_[0]), output, BNNSSample};
    set_arithmetic(static_cast<std::uint32_t>(*p.function), &unary_);
  }
  void set(const FusedBinaryArithmeticParameters& p, const Inputs& inputs,
           const Descriptor& output) {
    const auto [a, b] = exactly<2>(inputs);
    roles_ = {p.input_a_descriptor_type, p.input_b_descriptor_type};
    binary_ = {a, detail::native(roles_[0]), b, detail::native(roles_[1]), output, BNNSSample};
    set_arithmetic(static_cast<std::uint32_t>(*p.function), &binary_);
  }
  void set(const FusedTernaryArithmeticParameters& p, const Inputs& inputs,
           const Descriptor& output) {
    const auto [a, b, c] = exactly<3>(inputs);
    roles_ = {p.input_a_descriptor_type, p.input_b_descriptor_type, p.input_c_descriptor_type};
    ternary_ = {a, detail::native(roles_[0]), b,      detail::native(roles_[1]),
                c, detail::native(roles_[2]), output, BNNSSample};
    set_arithmetic(static_cast<std::uint32_t>(*p.function), &ternary_);
  }
  void set(const FusedNormalizationParameters& p, const Inputs& inputs, const Descriptor& output) {
    detail::require_trainable(p.activation, {p.beta, p.gamma}, "FusedLayer");
    normalization_ = detail::normalization_parameters(*p.type);
    normalization_.i_desc = inputs[0];
    normalization_.o_desc = output;
    normalization_.beta_desc = value_or_zero(p.beta);
    normalization_.gamma_desc = value_or_zero(p.gamma);
    normalization_.momentum = p.momentum;
    normalization_.epsilon = p.epsilon;
    normalization_.activation = p.activation.native();
    const normalization::Batch moving = detail::moving_statistics(*p.type);
    finish(static_cast<BNNSFilterType>(BNNSBatchNorm + p.type->index()), &normalization_,
           {p.beta, p.gamma, moving.moving_mean, moving.moving_variance});
  }
  void set(const FusedQuantizationParameters& p, const Inputs& inputs, const Descriptor& output) {
    set_quantization(BNNSQuantizerFunctionQuantize, p, inputs, output);
  }
  void set(const FusedDequantizationParameters& p, const Inputs& inputs, const Descriptor& output) {
    set_quantization(BNNSQuantizerFunctionDequantize, p, inputs, output);
  }

  template <typename Parameters>
  void set_quantization(BNNSQuantizerFunction function, const Parameters& p, const Inputs& inputs,
                        const Descriptor& output) {
    quantization_.function = function;
    quantization_.i_desc = inputs[0];
    quantization_.o_desc = output;
    quantization_.scale = value_or_zero(p.scale);
    quantization_.bias = value_or_zero(p.bias);
    if (p.axis) quantization_.axis_mask = axis_flags({*p.axis}, "FusedParametersLayer");
    finish(BNNSQuantization, &quantization_, {p.scale, p.bias});
  }

  void set_arithmetic(std::uint32_t function, void* fields) {
    arithmetic_.arithmetic_function = static_cast<BNNSArithmeticFunction>(function);
    arithmetic_.arithmetic_function_fields = fields;
    type_ = BNNSArithmetic;
    native_ = &arithmetic_;
  }
  void finish(BNNSFilterType type, const void* native, std::vector<OptionalParameter> parameters) {
    type_ = type;
    native_ = native;
    parameters_ = std::move(parameters);
    if (roles_.empty()) roles_ = {DescriptorType::sample};
  }

  BNNSFilterType type_ = BNNSConvolution;
  const void* native_ = nullptr;
  std::vector<OptionalParameter> parameters_;
  std::vector<DescriptorType> roles_;
  BNNSLayerParametersConvolution convolution_ = {};
  BNNSLayerParametersFullyConnected connected_ = {};
  BNNSLayerParametersArithmetic arithmetic_ = {};
  BNNSArithmeticUnary unary_ = {};
  BNNSArithmeticBinary binary_ = {};
  BNNSArithmeticTernary ternary_ = {};
  BNNSLayerParametersNormalization normalization_ = {};
  BNNSLayerParametersQuantization quantization_ = {};
};

}  // namespace detail
}  // namespace bnns

#endif
