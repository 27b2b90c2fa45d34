// Weights [outputs, inputs] times all values of a sample, plus a bias.
#include "train/layers/weighted.h"

namespace bnns::train::impl {
namespace {

constexpr FieldRule kFields[] = {{"outputs", FieldRule::Type::integer, 1, kLargest},
                                 {"bias", FieldRule::Type::flag, 0, 1, 1}};

SampleShape output(const Fields& fields, const SampleShape&) {
  return {.width = fields.integer("outputs")};
}

std::vector<ParameterRule> parameters(const Fields& fields, const SampleShape& input,
                                      const SampleShape&) {
  const std::size_t inputs = input.count(), outputs = fields.integer("outputs");
  std::vector<ParameterRule> rules = {{.name = "weight",
                                       .dimensions = {outputs, inputs},
                                       .shape = Shape::matrix_row_major(inputs, outputs),
                                       .initial = ParameterRule::Initial::weights,
                                       .fan_in = inputs,
                                       .fan_out = outputs}};
  if (fields.flag("bias")) {
    rules.push_back({.name = "bias", .dimensions = {outputs}, .shape = Shape::vector(outputs)});
  }
  return rules;
}

double multiply_adds(const ResolvedLayer& layer) {
  return static_cast<double>(layer.input.count()) * static_cast<double>(layer.output.width);
}

MadeStage make(const StageContext& context) {
  const ResolvedLayer& layer = context.layers[0];
  return make_weighted(
      context, Shape::vector(layer.input.count()), Shape::vector(layer.output.width),
      FusedFullyConnectedParameters{.weights = weights_of(context), .bias = bias_of(context)});
}

}  // namespace

constexpr LayerKind kFullyConnected = {.name = "fully_connected",
                                       .fields = kFields,
                                       .output = output,
                                       .parameters = parameters,
                                       .multiply_adds = multiply_adds,
                                       .make = make};

}  // namespace bnns::train::impl
