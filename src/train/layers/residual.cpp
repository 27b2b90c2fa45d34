// The sum of what the layers inside make of the input, and of the input itself. Where the shapes
// differ, the input goes through a 1 x 1 convolution without bias, "shortcut", first; its stride
// follows from the sizes. An activation behind the block joins the sum.
#include <utility>

#include "train/layers/activation.h"
#include "train/layers/other.h"
#include "train/network/sequence.h"

namespace bnns::train::impl {
namespace {

bool needs_shortcut(const SampleShape& input, const SampleShape& output) {
  return !(input == output);
}

// The stride with which a window of 1 turns `input` pixels into `output`; 0 if there is none.
std::size_t stride_between(std::size_t input, std::size_t output) {
  const std::size_t stride = (input + output - 1) / output;
  return (input - 1) / stride + 1 == output ? stride : 0;
}

std::vector<ParameterRule> parameters(const Fields& fields, const SampleShape& input,
                                      const SampleShape& output) {
  if (!needs_shortcut(input, output)) return {};
  if (stride_between(input.width, output.width) == 0 ||
      stride_between(input.height, output.height) == 0) {
    fields.fail("the layers inside turn " + text_of(input) + " into " + text_of(output) +
                "; no 1 x 1 convolution does the same");
  }
  return {{.name = "shortcut.weight",
           .dimensions = {output.channels, input.channels, 1, 1},
           .shape = Shape::convolution_weights_oihw(1, 1, input.channels, output.channels),
           .initial = ParameterRule::Initial::weights,
           .fan_in = input.channels,
           .fan_out = output.channels}};
}

class ResidualStage final : public Stage {
 public:
  ResidualStage(const StageContext& context, const std::optional<ActivationFunction>& end)
      : input_(impl::shape_of(context.layers[0].input)),
        output_(impl::shape_of(context.layers[0].output)),
        inside_(context.layers[0].inside, context.layers[0].input, context),
        body_(output_, context.batch_size),
        sum_delta_(output_, context.batch_size),
        body_delta_(input_, context.batch_size),
        sum_({.input_a = output_,
              .input_b = output_,
              .output = output_,
              .function = ArithmeticBinaryFunction::add,
              .activation = end.value_or(ActivationFunction::identity()),
              .filter_parameters = context.filter_parameters}),
        join_({.input_a = input_,
               .input_b = input_,
               .output = input_,
               .function = ArithmeticBinaryFunction::add,
               .filter_parameters = context.filter_parameters}) {
    const ResolvedLayer& layer = context.layers[0];
    if (!needs_shortcut(layer.input, layer.output)) return;
    weights_delta_ = context.parameters.gradient(layer.path + ".shortcut.weight");
    through_.emplace(output_, context.batch_size);
    shortcut_delta_.emplace(input_, context.batch_size);
    shortcut_.emplace(ConvolutionLayerOptions{
        .input = image_of(layer.input),
        .output = image_of(layer.output),
        .weights = context.parameters.value(layer.path + ".shortcut.weight"),
        .stride = {stride_between(layer.input.width, layer.output.width),
                   stride_between(layer.input.height, layer.output.height)},
        .filter_parameters = context.filter_parameters});
  }

  void forward(const Pass& pass, const Descriptor& in, const Descriptor& out) override {
    inside_.forward(pass, in, body_);
    if (shortcut_) shortcut_->apply(pass.samples, in, *through_);
    sum_.apply(pass.samples, body_, shortcut_ ? Descriptor(*through_) : in, out);
  }

  void backward(const Pass& pass, const Descriptor& in, const Descriptor& out,
                const Descriptor& out_delta, const std::optional<Descriptor>& in_delta) override {
    // Both summands have the same gradient.
    sum_.apply_backward(pass.samples, {.input_a = body_,
                                       .input_b = shortcut_ ? Descriptor(*through_) : in,
                                       .output = out,
                                       .output_gradient = out_delta,
                                       .input_a_gradient = sum_delta_});
    const auto wanted = [&](Tensor& tensor) {
      return in_delta ? std::optional<Descriptor>(tensor) : std::nullopt;
    };
    inside_.backward(pass, in, body_, sum_delta_, wanted(body_delta_));
    if (shortcut_) {
      shortcut_->apply_backward(pass.samples, {.input = in,
                                               .output_gradient = sum_delta_,
                                               .input_gradient = wanted(*shortcut_delta_),
                                               .weights_gradient = weights_delta_});
    }
    if (!in_delta) return;
    join_.apply(pass.samples, body_delta_, shortcut_ ? *shortcut_delta_ : sum_delta_, *in_delta);
  }

 private:
  Shape input_, output_;
  Sequence inside_;
  Tensor body_, sum_delta_, body_delta_;
  std::optional<Tensor> through_, shortcut_delta_;
  BinaryArithmeticLayer sum_, join_;
  std::optional<ConvolutionLayer> shortcut_;
  std::optional<Descriptor> weights_delta_;
};

double multiply_adds(const ResolvedLayer& layer) {
  if (layer.parameters.empty()) return 0;
  return static_cast<double>(layer.input.channels) * static_cast<double>(layer.output.count());
}

MadeStage make(const StageContext& context) {
  const auto end = fusable_activation(context.layers, 1);
  return {std::make_unique<ResidualStage>(context, end), std::size_t{end ? 2u : 1u}};
}

}  // namespace

// The output is that of the layers inside; resolve() knows it.
constexpr LayerKind kResidual = {.name = "residual",
                                 .output = same_shape,
                                 .parameters = parameters,
                                 .multiply_adds = multiply_adds,
                                 .make = make,
                                 .has_inside = true};

}  // namespace bnns::train::impl
