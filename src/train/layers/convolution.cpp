// Convolution, weights [channels, inputs / groups, height, width], and transposed convolution,
// weights [channels, inputs, height, width], in files [inputs, channels, ...] as PyTorch has them.
// Windows, strides and padding are {x, y} pairs.
#include "train/layers/weighted.h"

namespace bnns::train::impl {
namespace {

using Type = FieldRule::Type;

constexpr double kWindow = 4096;
constexpr FieldRule kFields[] = {{"channels", Type::integer, 1, kLargest},
                                 {"kernel", Type::pair, 1, kWindow},
                                 {"stride", Type::pair, 1, kWindow, 1},
                                 {"padding", Type::pair, 0, kWindow, 0},
                                 {"dilation", Type::pair, 1, kWindow, 1},
                                 {"groups", Type::integer, 1, kLargest, 1},
                                 {"bias", Type::flag, 0, 1, 1}};
constexpr FieldRule kTransposedFields[] = {{"channels", Type::integer, 1, kLargest},
                                           {"kernel", Type::pair, 1, kWindow},
                                           {"stride", Type::pair, 1, kWindow, 1},
                                           {"padding", Type::pair, 0, kWindow, 0},
                                           {"bias", Type::flag, 0, 1, 1}};

std::string pair_text(std::size_t size, std::size_t padding, std::size_t extent) {
  return "the image has " + std::to_string(size) + " pixels and " + std::to_string(padding) +
         " of padding on each side; the window spans " + std::to_string(extent);
}

SampleShape convolution_output(const Fields& fields, const SampleShape& input) {
  const std::size_t groups = fields.integer("groups"), channels = fields.integer("channels");
  if (input.channels % groups != 0 || channels % groups != 0) {
    fields.fail("\"groups\" is " + std::to_string(groups) + "; it must divide the " +
                std::to_string(input.channels) + " channels of the input and the " +
                std::to_string(channels) + " of the output");
  }
  const std::size_t sizes[] = {input.width, input.height};
  std::size_t result[2];
  for (std::size_t k = 0; k < 2; ++k) {
    const std::size_t extent = (fields.pair("kernel")[k] - 1) * fields.pair("dilation")[k] + 1;
    const std::size_t padding = fields.pair("padding")[k], padded = sizes[k] + 2 * padding;
    if (padded < extent) fields.fail(pair_text(sizes[k], padding, extent));
    result[k] = (padded - extent) / fields.pair("stride")[k] + 1;
  }
  return {.width = result[0], .height = result[1], .channels = channels};
}

SampleShape transposed_output(const Fields& fields, const SampleShape& input) {
  const std::size_t sizes[] = {input.width, input.height};
  std::size_t result[2];
  for (std::size_t k = 0; k < 2; ++k) {
    const std::size_t whole = (sizes[k] - 1) * fields.pair("stride")[k] + fields.pair("kernel")[k];
    const std::size_t padding = fields.pair("padding")[k];
    if (whole <= 2 * padding) fields.fail(pair_text(sizes[k], padding, whole));
    result[k] = whole - 2 * padding;
  }
  return {.width = result[0], .height = result[1], .channels = fields.integer("channels")};
}

void add_bias(std::vector<ParameterRule>& rules, const Fields& fields) {
  if (!fields.flag("bias")) return;
  const std::size_t channels = fields.integer("channels");
  rules.push_back({.name = "bias", .dimensions = {channels}, .shape = Shape::vector(channels)});
}

std::vector<ParameterRule> convolution_parameters(const Fields& fields, const SampleShape& input,
                                                  const SampleShape&) {
  const auto [width, height] = fields.pair("kernel");
  const std::size_t channels = fields.integer("channels"), groups = fields.integer("groups"),
                    inputs = input.channels / groups;
  std::vector<ParameterRule> rules = {
      {.name = "weight",
       .dimensions = {channels, inputs, height, width},
       .shape = Shape::convolution_weights_oihw(width, height, inputs, channels),
       .initial = ParameterRule::Initial::weights,
       .fan_in = inputs * width * height,
       .fan_out = channels / groups * width * height}};
  add_bias(rules, fields);
  return rules;
}

std::vector<ParameterRule> transposed_parameters(const Fields& fields, const SampleShape& input,
                                                 const SampleShape&) {
  const auto [width, height] = fields.pair("kernel");
  const std::size_t channels = fields.integer("channels"), window = width * height;
  std::vector<ParameterRule> rules = {
      {.name = "weight",
       .dimensions = {channels, input.channels, height, width},
       .shape = Shape::convolution_weights_oihw(width, height, input.channels, channels),
       .initial = ParameterRule::Initial::weights,
       .fan_in = input.channels * window,
       .fan_out = channels * window,
       .swapped_in_files = true}};
  add_bias(rules, fields);
  return rules;
}

double multiply_adds(const ResolvedLayer& layer, const SampleShape& small) {
  double weights = 1;
  for (const std::size_t d : layer.parameters[0].dimensions) weights *= static_cast<double>(d);
  return weights * static_cast<double>(small.width * small.height);
}

FusedConvolutionParameters parameters_of(const StageContext& context) {
  const Fields& fields = context.layers[0].fields;
  const auto [x_stride, y_stride] = fields.pair("stride");
  const auto [x_padding, y_padding] = fields.pair("padding");
  return {.weights = weights_of(context),
          .bias = bias_of(context),
          .stride = {x_stride, y_stride},
          .padding = ConvolutionPadding::symmetric(x_padding, y_padding)};
}

MadeStage make_convolution(const StageContext& context) {
  const ResolvedLayer& layer = context.layers[0];
  FusedConvolutionParameters p = parameters_of(context);
  const auto [x_dilation, y_dilation] = layer.fields.pair("dilation");
  p.dilation_stride = {x_dilation, y_dilation};
  p.group_count = layer.fields.integer("groups");
  return make_weighted(context, image_of(layer.input), image_of(layer.output), p);
}

MadeStage make_transposed(const StageContext& context) {
  const ResolvedLayer& layer = context.layers[0];
  FusedConvolutionParameters p = parameters_of(context);
  p.type = ConvolutionType::transposed;
  return make_weighted(context, image_of(layer.input), image_of(layer.output), p);
}

}  // namespace

constexpr LayerKind kConvolution = {
    .name = "convolution",
    .fields = kFields,
    .output = convolution_output,
    .parameters = convolution_parameters,
    .multiply_adds = [](const ResolvedLayer& l) { return multiply_adds(l, l.output); },
    .make = make_convolution};
constexpr LayerKind kTransposedConvolution = {
    .name = "transposed_convolution",
    .fields = kTransposedFields,
    .output = transposed_output,
    .parameters = transposed_parameters,
    .multiply_adds = [](const ResolvedLayer& l) { return multiply_adds(l, l.input); },
    .make = make_transposed};

}  // namespace bnns::train::impl
