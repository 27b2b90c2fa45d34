#include "train/layers/weighted.h"

#include <algorithm>
#include <utility>

#include "train/layers/activation.h"
#include "train/layers/normalization.h"

namespace bnns::train::impl {
namespace {

bool has_bias(const StageContext& context) {
  const std::vector<ParameterRule>& rules = context.layers[0].parameters;
  return std::ranges::find(rules, "bias", &ParameterRule::name) != rules.end();
}

struct Gradients {
  explicit Gradients(const StageContext& context) {
    const std::string& path = context.layers[0].path;
    weights = context.parameters.gradient(path + ".weight");
    if (has_bias(context)) bias = context.parameters.gradient(path + ".bias");
  }

  std::optional<Descriptor> weights, bias;
};

// The layer alone, or with the activation behind it.
class PlainStage final : public Stage {
 public:
  PlainStage(ConvolutionLayer layer, const Gradients& gradients)
      : gradients_(gradients), layer_(std::move(layer)) {}

  void forward(const Pass& pass, const Descriptor& in, const Descriptor& out) override {
    layer_.apply(pass.samples, in, out);
  }
  void backward(const Pass& pass, const Descriptor& in, const Descriptor& out,
                const Descriptor& out_delta, const std::optional<Descriptor>& in_delta) override {
    layer_.apply_backward(pass.samples, {.input = in,
                                         .output = out,
                                         .output_gradient = out_delta,
                                         .input_gradient = in_delta,
                                         .weights_gradient = gradients_.weights,
                                         .bias_gradient = gradients_.bias});
  }

 private:
  Gradients gradients_;
  ConvolutionLayer layer_;
};

// With the normalization behind it, and perhaps an activation behind that.
class NormalizedStage final : public Stage {
 public:
  NormalizedStage(const StageContext& context, const Shape& input, const Shape& output,
                  const FusableParameters& first, const FusedNormalizationParameters& second)
      : layer_({.inputs = {Descriptor(input)},
                .output = output,
                .layers = {first, second},
                .filter_parameters = context.filter_parameters}) {
    const Gradients gradients(context);
    const std::string& path = context.layers[1].path;
    gradients_ = {.weights = gradients.weights,
                  .bias = gradients.bias,
                  .beta = context.parameters.gradient(path + ".bias"),
                  .gamma = context.parameters.gradient(path + ".weight")};
    layer_.reserve(context.batch_size, 1);
  }

  void forward(const Pass& pass, const Descriptor& in, const Descriptor& out) override {
    layer_.apply(pass.samples, in, out, pass.phase());
  }
  void backward(const Pass& pass, const Descriptor& in, const Descriptor& out,
                const Descriptor& out_delta, const std::optional<Descriptor>& in_delta) override {
    layer_.apply_backward(pass.samples, {.inputs = {in},
                                         .output = out,
                                         .output_gradient = out_delta,
                                         .input_gradients = {in_delta},
                                         .parameters = gradients_});
  }

 private:
  FusedParametersLayer layer_;
  ComputeNormGradients gradients_;
};

ConvolutionLayer layer_of(const FusedConvolutionParameters& p, const Shape& input,
                          const Shape& output, const ActivationFunction& activation,
                          const FilterParameters& filter_parameters) {
  return ConvolutionLayer({.type = p.type,
                           .input = input,
                           .output = output,
                           .weights = *p.weights,
                           .bias = p.bias,
                           .activation = activation,
                           .stride = p.stride,
                           .dilation_stride = p.dilation_stride,
                           .padding = p.padding,
                           .group_count = p.group_count,
                           .filter_parameters = filter_parameters});
}

ConvolutionLayer layer_of(const FusedFullyConnectedParameters& p, const Shape& input,
                          const Shape& output, const ActivationFunction& activation,
                          const FilterParameters& filter_parameters) {
  return FullyConnectedLayer({.input = input,
                              .output = output,
                              .weights = *p.weights,
                              .bias = p.bias,
                              .activation = activation,
                              .filter_parameters = filter_parameters});
}

template <typename Parameters>
MadeStage make(const StageContext& context, const Shape& input, const Shape& output,
               const Parameters& p) {
  const bool normalized = context.layers.size() > 1 && is_normalization(*context.layers[1].kind);
  const auto end = fusable_activation(context.layers, normalized ? 2 : 1);
  const std::size_t consumed = 1u + (normalized ? 1 : 0) + (end ? 1 : 0);
  const ActivationFunction activation = end.value_or(ActivationFunction::identity());
  if (!normalized) {
    return {
        std::make_unique<PlainStage>(
            layer_of(p, input, output, activation, context.filter_parameters), Gradients(context)),
        consumed};
  }
  FusedNormalizationParameters second =
      normalization_parameters(context.layers[1], context.parameters);
  second.activation = activation;
  return {std::make_unique<NormalizedStage>(context, input, output, p, second), consumed};
}

}  // namespace

ParameterDescriptor weights_of(const StageContext& context) {
  return context.parameters.value(context.layers[0].path + ".weight");
}

std::optional<ParameterDescriptor> bias_of(const StageContext& context) {
  if (!has_bias(context)) return std::nullopt;
  return context.parameters.value(context.layers[0].path + ".bias");
}

MadeStage make_weighted(const StageContext& context, const Shape& input, const Shape& output,
                        const FusedConvolutionParameters& parameters) {
  return make(context, input, output, parameters);
}

MadeStage make_weighted(const StageContext& context, const Shape& input, const Shape& output,
                        const FusedFullyConnectedParameters& parameters) {
  return make(context, input, output, parameters);
}

}  // namespace bnns::train::impl
