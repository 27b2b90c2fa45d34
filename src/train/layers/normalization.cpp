// Values are brought to mean 0 and variance 1, then scaled by "weight" and shifted by "bias".
// "momentum" is the weight of the old moving statistics. A frozen layer keeps its statistics; in
// training it still uses those of the batch.
#include "train/layers/normalization.h"

#include "train/layers/activation.h"

namespace bnns::train::impl {
namespace {

using Type = FieldRule::Type;

constexpr FieldRule kMoving[] = {{"momentum", Type::number, 0, 1, 0.9},
                                 {"epsilon", Type::number, 0, 1, 1e-5}};
constexpr FieldRule kPlain[] = {{"epsilon", Type::number, 0, 1, 1e-5}};
constexpr FieldRule kGroups[] = {{"groups", Type::integer, 1, kLargest},
                                 {"epsilon", Type::number, 0, 1, 1e-5}};

// A vector has as many channels as values.
std::size_t channels_of(const SampleShape& shape) {
  return is_vector(shape) ? shape.width : shape.channels;
}

ParameterRule per_channel(const char* name, const SampleShape& input,
                          ParameterRule::Initial initial, bool is_state) {
  const std::size_t channels = channels_of(input);
  return {.name = name,
          .dimensions = {channels},
          .shape = Shape::vector(channels),
          .initial = initial,
          .is_state = is_state};
}

std::vector<ParameterRule> affine(const Fields&, const SampleShape& input, const SampleShape&) {
  return {per_channel("weight", input, ParameterRule::Initial::ones, false),
          per_channel("bias", input, ParameterRule::Initial::zeros, false)};
}

std::vector<ParameterRule> affine_and_moving(const Fields& fields, const SampleShape& input,
                                             const SampleShape&) {
  std::vector<ParameterRule> rules = affine(fields, input, input);
  rules.push_back(per_channel("running_mean", input, ParameterRule::Initial::zeros, true));
  rules.push_back(per_channel("running_var", input, ParameterRule::Initial::ones, true));
  return rules;
}

std::vector<ParameterRule> affine_of_all(const Fields&, const SampleShape& input,
                                         const SampleShape&) {
  const std::vector<std::size_t> dimensions =
      is_vector(input) ? std::vector{input.width}
                       : std::vector{input.channels, input.height, input.width};
  const Shape shape = impl::shape_of(input);
  return {{.name = "weight",
           .dimensions = dimensions,
           .shape = shape,
           .initial = ParameterRule::Initial::ones},
          {.name = "bias", .dimensions = dimensions, .shape = shape}};
}

SampleShape group_output(const Fields& fields, const SampleShape& input) {
  const std::size_t groups = fields.integer("groups"), channels = channels_of(input);
  if (channels % groups != 0) {
    fields.fail("\"groups\" is " + std::to_string(groups) + "; it must divide the " +
                std::to_string(channels) + " channels");
  }
  return input;
}

NormalizationType type_of(const ResolvedLayer& layer, ParameterSet& parameters) {
  if (layer.kind == &kBatchNorm) {
    return normalization::Batch{parameters.value(layer.path + ".running_mean"),
                                parameters.value(layer.path + ".running_var")};
  }
  if (layer.kind == &kInstanceNorm) return normalization::Instance{};
  if (layer.kind == &kLayerNorm) return normalization::Layer{};
  return normalization::Group{.group_count = layer.fields.integer("groups")};
}

class NormalizationStage final : public Stage {
 public:
  NormalizationStage(const StageContext& context, const std::optional<ActivationFunction>& end)
      : beta_(context.parameters.gradient(context.layers[0].path + ".bias")),
        gamma_(context.parameters.gradient(context.layers[0].path + ".weight")),
        layer_(options(context, end)) {
    layer_.reserve(context.batch_size, 1);
  }

  void forward(const Pass& pass, const Descriptor& in, const Descriptor& out) override {
    layer_.apply(pass.samples, in, out, pass.phase());
  }
  void backward(const Pass& pass, const Descriptor&, const Descriptor& out,
                const Descriptor& out_delta, const std::optional<Descriptor>& in_delta) override {
    layer_.apply_backward(pass.samples, {.output = out,
                                         .output_gradient = out_delta,
                                         .input_gradient = in_delta,
                                         .beta_gradient = beta_,
                                         .gamma_gradient = gamma_});
  }

 private:
  static NormalizationLayerOptions options(const StageContext& context,
                                           const std::optional<ActivationFunction>& end) {
    const ResolvedLayer& layer = context.layers[0];
    const FusedNormalizationParameters p = normalization_parameters(layer, context.parameters);
    return {.type = *p.type,
            .input = impl::shape_of(layer.input),
            .output = impl::shape_of(layer.output),
            .beta = p.beta,
            .gamma = p.gamma,
            .momentum = p.momentum,
            .epsilon = p.epsilon,
            .activation = end.value_or(ActivationFunction::identity()),
            .filter_parameters = context.filter_parameters};
  }

  std::optional<Descriptor> beta_, gamma_;
  NormalizationLayer layer_;
};

MadeStage make(const StageContext& context) {
  const auto end = fusable_activation(context.layers, 1);
  return {std::make_unique<NormalizationStage>(context, end), std::size_t{end ? 2u : 1u}};
}

}  // namespace

constexpr LayerKind kBatchNorm = {.name = "batch_norm",
                                  .fields = kMoving,
                                  .output = same_shape,
                                  .parameters = affine_and_moving,
                                  .make = make};
constexpr LayerKind kInstanceNorm = {.name = "instance_norm",
                                     .fields = kPlain,
                                     .output = same_shape,
                                     .parameters = affine,
                                     .make = make};
constexpr LayerKind kLayerNorm = {.name = "layer_norm",
                                  .fields = kPlain,
                                  .output = same_shape,
                                  .parameters = affine_of_all,
                                  .make = make};
constexpr LayerKind kGroupNorm = {.name = "group_norm",
                                  .fields = kGroups,
                                  .output = group_output,
                                  .parameters = affine,
                                  .make = make};

bool is_normalization(const LayerKind& kind) {
  return &kind == &kBatchNorm || &kind == &kInstanceNorm || &kind == &kLayerNorm ||
         &kind == &kGroupNorm;
}

FusedNormalizationParameters normalization_parameters(const ResolvedLayer& layer,
                                                      ParameterSet& parameters) {
  FusedNormalizationParameters p = {.type = type_of(layer, parameters),
                                    .beta = parameters.value(layer.path + ".bias"),
                                    .gamma = parameters.value(layer.path + ".weight")};
  if (layer.kind == &kBatchNorm) {
    p.momentum = layer.frozen ? 1 : static_cast<float>(layer.fields.number("momentum"));
  }
  p.epsilon = static_cast<float>(layer.fields.number("epsilon"));
  return p;
}

}  // namespace bnns::train::impl
