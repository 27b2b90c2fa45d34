// Two layers in one: a convolution, a fully connected layer or arithmetic, followed by a
// normalization with its activation. One call computes both, and what flows between them is never
// seen. Gradients of all parameters come from one call, too.
#ifndef OPENBNNS_LAYERS_FUSED_HPP
#define OPENBNNS_LAYERS_FUSED_HPP

#include <array>
#include <cstddef>
#include <optional>
#include <variant>
#include <vector>

#include "../parameter_list.hpp"
#include "fused_parameters.hpp"

namespace bnns {

// The gradients of parameters in the order of C. One that is absent is not computed.
struct ComputeNormGradients {
  std::optional<Descriptor> weights = std::nullopt;
  std::optional<Descriptor> bias = std::nullopt;
  std::optional<Descriptor> beta = std::nullopt;
  std::optional<Descriptor> gamma = std::nullopt;
};
struct ArithmeticNormGradients {
  std::optional<Descriptor> beta = std::nullopt;
  std::optional<Descriptor> gamma = std::nullopt;
};
using OptionalDescriptors = std::vector<std::optional<Descriptor>>;
// As a list they must be as many as the layer has parameters.
using ParameterGradients =
    std::variant<ComputeNormGradients, ArithmeticNormGradients, OptionalDescriptors>;

class FusedLayer : public Layer {
 public:
  std::size_t input_count() const noexcept { return inputs_.size(); }
  // 4 behind a convolution or fully connected layer, 2 behind arithmetic.
  std::size_t parameter_gradient_count() const noexcept { return slots_; }

  void apply(std::size_t batch_size, const Descriptor& input, const Descriptor& output,
             LearningPhase phase) {
    forward(batch_size, {&input}, output, phase);
  }
  void apply(const Descriptor& input, const Descriptor& output, LearningPhase phase) {
    forward(common({&input}, output, "FusedLayer::apply"), {&input}, output, phase);
  }

 protected:
  using Inputs = std::vector<const Descriptor*>;

  FusedLayer(const std::vector<Descriptor>& inputs, const Descriptor& between,
             const Descriptor& output, const std::vector<FusableParameters>& layers,
             const FilterParameters& filter_parameters, const char* class_name)
      : FusedLayer(detail::FusedStage(layers[0], inputs, between),
                   detail::FusedStage(layers[1], {between}, output), inputs, output,
                   filter_parameters, class_name) {}

  // Fails where `layers` are not two: the constructor reads them.
  static const std::vector<FusableParameters>& require_two(
      const std::vector<FusableParameters>& layers, const char* class_name) {
    detail::require(layers.size() == 2, Error::Code::unable_to_create_layer, class_name,
                    "there are ", layers.size(), " layers; a fused layer has 2");
    return layers;
  }

  void forward(std::size_t batch_size, const Inputs& inputs, const Descriptor& output,
               LearningPhase phase) {
    constexpr const char* kOperation = "FusedLayer::apply";
    require_ready(batch_size, kOperation);
    require_count(inputs, kOperation);
    Native native;
    for (std::size_t k = 0; k < inputs.size(); ++k) {
      inputs_[k].check(*inputs[k], samples(k, batch_size), kOperation, name(k));
      native.set(k, *inputs[k]);
    }
    output_.check(output, batch_size, kOperation, "output");
    detail::check(BNNSFusedFilterApplyMultiInputBatch(native_handle(), batch_size, inputs.size(),
                                                      native.data.data(), native.stride.data(),
                                                      output.data, detail::batch_stride(output),
                                                      phase == LearningPhase::training),
                  Error::Code::layer_apply_fail, kOperation);
  }

  void backward(std::size_t batch_size, const Inputs& inputs, const Descriptor& output,
                Descriptor output_gradient, const OptionalDescriptors& input_gradients,
                const ParameterGradients& parameters) {
    constexpr const char* kOperation = "FusedLayer::apply_backward";
    require_ready(batch_size, kOperation);
    require_count(inputs, kOperation);
    detail::require(input_gradients.size() <= inputs.size(), Error::Code::invalid_argument,
                    kOperation, "there are ", input_gradients.size(), " input gradients, and ",
                    inputs.size(), " inputs");
    Native native, strides;
    std::array<Descriptor, 3> deltas;
    std::array<BNNSNDArrayDescriptor*, 3> delta_pointers = {&deltas[0], &deltas[1], &deltas[2]};
    for (std::size_t k = 0; k < inputs.size(); ++k) {
      inputs_[k].check_optional(*inputs[k], samples(k, batch_size), kOperation, name(k));
      native.set(k, *inputs[k]);
      if (k >= input_gradients.size() || !input_gradients[k]) continue;
      deltas[k] = *input_gradients[k];
      detail::require_samples(deltas[k], samples(k, batch_size), kOperation, "an input gradient");
      strides.set(k, deltas[k]);
    }
    output_.check_optional(output, batch_size, kOperation, "output");
    detail::require_samples(output_gradient, batch_size, kOperation, "output_gradient");
    OptionalDescriptors slots = slots_of(parameters, kOperation);
    std::array<BNNSNDArrayDescriptor*, 4> slot_pointers = {};
    for (std::size_t k = 0; k < slots.size(); ++k)
      slot_pointers[k] = detail::pointer_or_null(slots[k]);
    detail::check(
        BNNSFusedFilterApplyBackwardMultiInputBatch(
            native_handle(), batch_size, inputs.size(), native.data.data(), native.stride.data(),
            delta_pointers.data(), strides.stride.data(), output.data, detail::batch_stride(output),
            &output_gradient, detail::batch_stride(output_gradient), slot_pointers.data()),
        Error::Code::layer_apply_fail, kOperation);
  }

  // The batch size of a call that was not told one.
  std::size_t common(const Inputs& inputs, const Descriptor& output, const char* operation) const {
    require_count(inputs, operation);
    const Descriptor none = {};
    const auto sample = [&](std::size_t k) -> const Descriptor& {
      return k < inputs.size() && roles_[k] == DescriptorType::sample ? *inputs[k] : none;
    };
    return detail::common_batch_size(
        operation,
        {{name(0), sample(0)}, {name(1), sample(1)}, {name(2), sample(2)}, {"output", output}});
  }

 private:
  FusedLayer(const detail::FusedStage& first, const detail::FusedStage& second,
             const std::vector<Descriptor>& inputs, const Descriptor& output,
             const FilterParameters& filter_parameters, const char* class_name)
      : Layer(create(first, second, filter_parameters), class_name),
        inputs_(inputs.begin(), inputs.end()),
        roles_(first.roles()),
        output_(output),
        slots_(first.type() == BNNSArithmetic ? 2 : 4) {
    for (const detail::FusedStage* stage : {&first, &second})
      for (const auto& parameter : stage->parameters()) keep(parameter);
  }

  static BNNSFilter create(const detail::FusedStage& first, const detail::FusedStage& second,
                           const FilterParameters& filter_parameters) {
    const BNNSFilterType types[] = {first.type(), second.type()};
    const void* parameters[] = {first.native(), second.native()};
    const BNNSFilterParameters native = detail::native(filter_parameters);
    return BNNSFilterCreateFusedLayer(2, types, parameters, &native);
  }

  struct Native {
    std::array<const void*, 3> data = {};
    std::array<std::size_t, 3> stride = {};
    void set(std::size_t k, const Descriptor& descriptor) {
      data[k] = descriptor.data;
      stride[k] = detail::batch_stride(descriptor);
    }
  };

  const char* name(std::size_t k) const {
    constexpr const char* kNames[] = {"input_a", "input_b", "input_c"};
    return inputs_.size() == 1 ? "input" : kNames[k];
  }
  void require_count(const Inputs& inputs, const char* operation) const {
    detail::require(inputs.size() == inputs_.size(), Error::Code::invalid_argument, operation,
                    "there are ", inputs.size(), " inputs, the layer was made for ",
                    inputs_.size());
  }
  std::size_t samples(std::size_t input, std::size_t batch_size) const {
    return roles_[input] == DescriptorType::sample ? batch_size : 1;
  }
  OptionalDescriptors slots_of(const ParameterGradients& parameters, const char* operation) const {
    OptionalDescriptors slots;
    if (const auto* g = std::get_if<ComputeNormGradients>(&parameters)) {
      slots = {g->weights, g->bias, g->beta, g->gamma};
    } else if (const auto* a = std::get_if<ArithmeticNormGradients>(&parameters)) {
      slots = {a->beta, a->gamma};
    } else {
      slots = std::get<OptionalDescriptors>(parameters);
    }
    const bool none = std::ranges::none_of(slots, [](const auto& s) { return s.has_value(); });
    detail::require(none || slots.size() == slots_, Error::Code::invalid_argument, operation,
                    "there are ", slots.size(), " parameter gradients, the layer has ", slots_,
                    " parameters; one that is not wanted is std::nullopt");
    if (none) slots.assign(slots_, std::nullopt);
    return slots;
  }

  std::vector<detail::Form> inputs_;
  std::vector<DescriptorType> roles_;
  detail::Form output_;
  std::size_t slots_;
};

// ---- Any pair ----

struct FusedParametersLayerOptions {
  DescriptorList inputs;  // 1, 2 or 3
  Required<Descriptor, field::output> output;
  std::vector<FusableParameters> layers;  // exactly 2
  FilterParameters filter_parameters = {};
};

// `inputs` and `output` are those of the forward pass.
struct FusedBackwardArguments {
  DescriptorList inputs;
  Descriptor output = {};
  Required<Descriptor, field::output_gradient> output_gradient;
  OptionalDescriptors input_gradients = {};  // as many as inputs, or fewer
  ParameterGradients parameters = OptionalDescriptors{};
};

class FusedParametersLayer : public FusedLayer {
 public:
  explicit FusedParametersLayer(const FusedParametersLayerOptions& options)
      : FusedLayer(options.inputs, between(options), options.output,
                   require_two(options.layers, kName), options.filter_parameters, kName) {}

  using FusedLayer::apply;
  void apply(std::size_t batch_size, const DescriptorList& inputs, const Descriptor& output,
             LearningPhase phase) {
    forward(batch_size, pointers(inputs), output, phase);
  }
  void apply(std::size_t batch_size, const Descriptor& a, const Descriptor& b,
             const Descriptor& output, LearningPhase phase) {
    forward(batch_size, {&a, &b}, output, phase);
  }
  void apply(std::size_t batch_size, const Descriptor& a, const Descriptor& b, const Descriptor& c,
             const Descriptor& output, LearningPhase phase) {
    forward(batch_size, {&a, &b, &c}, output, phase);
  }
  void apply(const Descriptor& a, const Descriptor& b, const Descriptor& output,
             LearningPhase phase) {
    forward(common({&a, &b}, output, "FusedLayer::apply"), {&a, &b}, output, phase);
  }
  void apply(const Descriptor& a, const Descriptor& b, const Descriptor& c,
             const Descriptor& output, LearningPhase phase) {
    forward(common({&a, &b, &c}, output, "FusedLayer::apply"), {&a, &b, &c}, output, phase);
  }

  // After an apply() with the same batch size in the training phase.
  void apply_backward(std::size_t batch_size, const FusedBackwardArguments& a) {
    backward(batch_size, pointers(a.inputs), a.output, *a.output_gradient, a.input_gradients,
             a.parameters);
  }
  void apply_backward(const FusedBackwardArguments& a) {
    apply_backward(common(pointers(a.inputs), *a.output_gradient, "FusedLayer::apply_backward"), a);
  }

 private:
  static constexpr const char* kName = "FusedParametersLayer";

  // What flows between the layers: the output, behind one input with the type of that input, so
  // that a quantization has something to quantize.
  static Descriptor between(const FusedParametersLayerOptions& options) {
    detail::require(!options.inputs.empty() && options.inputs.size() <= 3,
                    Error::Code::unable_to_create_layer, kName, "there are ", options.inputs.size(),
                    " inputs; a fused layer has 1 to 3");
    Descriptor result = *options.output;
    result.data = nullptr;
    if (options.inputs.size() == 1) result.data_type = options.inputs[0].data_type;
    return result;
  }
  static Inputs pointers(const DescriptorList& inputs) {
    Inputs result;
    for (const Descriptor& input : inputs) result.push_back(&input);
    return result;
  }
};

// ---- The two pairs that most networks have ----

struct FusedConvolutionNormalizationLayerOptions {
  Required<Descriptor, field::input> input;
  Required<Descriptor, field::output> output;
  Required<ParameterDescriptor, field::convolution_weights> convolution_weights;
  std::optional<ParameterDescriptor> convolution_bias = std::nullopt;
  WindowStride convolution_stride = 1;
  WindowStride convolution_dilation_stride = 1;
  ConvolutionPadding convolution_padding = 0;
  Required<NormalizationType, field::normalization> normalization;
  std::optional<ParameterDescriptor> normalization_beta = std::nullopt;
  std::optional<ParameterDescriptor> normalization_gamma = std::nullopt;
  float normalization_momentum = 0;
  float normalization_epsilon = 1e-5f;
  ActivationFunction normalization_activation = ActivationFunction::identity();
  FilterParameters filter_parameters = {};
};

struct FusedFullyConnectedNormalizationLayerOptions {
  Required<Descriptor, field::input> input;
  Required<Descriptor, field::output> output;
  Required<ParameterDescriptor, field::fully_connected_weights> fully_connected_weights;
  std::optional<ParameterDescriptor> fully_connected_bias = std::nullopt;
  Required<NormalizationType, field::normalization> normalization;
  std::optional<ParameterDescriptor> normalization_beta = std::nullopt;
  std::optional<ParameterDescriptor> normalization_gamma = std::nullopt;
  float normalization_momentum = 0;
  float normalization_epsilon = 1e-5f;
  ActivationFunction normalization_activation = ActivationFunction::identity();
  FilterParameters filter_parameters = {};
};

struct FusedNormalizationBackwardArguments {
  Descriptor input = {};
  Descriptor output = {};
  Required<Descriptor, field::output_gradient> output_gradient;
  std::optional<Descriptor> input_gradient = std::nullopt;
  std::optional<Descriptor> weights_gradient = std::nullopt;
  std::optional<Descriptor> bias_gradient = std::nullopt;
  std::optional<Descriptor> beta_gradient = std::nullopt;
  std::optional<Descriptor> gamma_gradient = std::nullopt;
};

namespace detail {

class FusedNormalizationLayer : public FusedLayer {
 public:
  // After an apply() with the same batch size in the training phase.
  void apply_backward(std::size_t batch_size, const FusedNormalizationBackwardArguments& a) {
    backward(batch_size, {&a.input}, a.output, *a.output_gradient, {a.input_gradient},
             ComputeNormGradients{a.weights_gradient, a.bias_gradient, a.beta_gradient,
                                  a.gamma_gradient});
  }
  void apply_backward(const FusedNormalizationBackwardArguments& a) {
    apply_backward(common({&a.input}, *a.output_gradient, "FusedLayer::apply_backward"), a);
  }

 protected:
  template <typename Options>
  FusedNormalizationLayer(const FusableParameters& first, const Options& o, const char* class_name)
      : FusedLayer({*o.input}, *o.output, *o.output,
                   {first, FusedNormalizationParameters{.type = *o.normalization,
                                                        .beta = o.normalization_beta,
                                                        .gamma = o.normalization_gamma,
                                                        .momentum = o.normalization_momentum,
                                                        .epsilon = o.normalization_epsilon,
                                                        .activation = o.normalization_activation}},
                   o.filter_parameters, class_name) {}
};

}  // namespace detail

class FusedConvolutionNormalizationLayer : public detail::FusedNormalizationLayer {
 public:
  explicit FusedConvolutionNormalizationLayer(const FusedConvolutionNormalizationLayerOptions& o)
      : FusedNormalizationLayer(
            FusedConvolutionParameters{.weights = *o.convolution_weights,
                                       .bias = o.convolution_bias,
                                       .stride = o.convolution_stride,
                                       .dilation_stride = o.convolution_dilation_stride,
                                       .padding = o.convolution_padding},
            o, "FusedConvolutionNormalizationLayer") {}
};

class FusedFullyConnectedNormalizationLayer : public detail::FusedNormalizationLayer {
 public:
  explicit FusedFullyConnectedNormalizationLayer(
      const FusedFullyConnectedNormalizationLayerOptions& o)
      : FusedNormalizationLayer(FusedFullyConnectedParameters{.weights = *o.fully_connected_weights,
                                                              .bias = o.fully_connected_bias},
                                o, "FusedFullyConnectedNormalizationLayer") {}
};

}  // namespace bnns

#endif
