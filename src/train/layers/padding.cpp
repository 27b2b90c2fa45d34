// Cells around an image: a value, or the mirror image of what is inside, without its edge (reflect)
// or with it (symmetric). "x" is left and right, "y" above and below.
#include "train/layers/other.h"

namespace bnns::train::impl {
namespace {

constexpr double kMost = 4096;
constexpr FieldRule kSides[] = {{"x", FieldRule::Type::pair, 0, kMost, 0},
                                {"y", FieldRule::Type::pair, 0, kMost, 0}};
constexpr FieldRule kSidesAndValue[] = {
    kSides[0], kSides[1], {"value", FieldRule::Type::number, -1e30, 1e30, 0}};

SampleShape output(const Fields& fields, const SampleShape& input) {
  const auto x = fields.pair("x"), y = fields.pair("y");
  return {.width = input.width + x[0] + x[1],
          .height = input.height + y[0] + y[1],
          .channels = input.channels};
}

// `edge`: cells at the edge that have no mirror image.
template <std::size_t edge>
SampleShape mirrored_output(const Fields& fields, const SampleShape& input) {
  for (const auto& [name, size] : {std::pair("x", input.width), std::pair("y", input.height)}) {
    for (const std::size_t cells : fields.pair(name)) {
      if (cells + edge <= size) continue;
      fields.fail("\"" + std::string(name) + "\" has " + std::to_string(cells) + " cells; of " +
                  std::to_string(size) + " at most " + std::to_string(size - edge) +
                  " can be mirrored");
    }
  }
  return output(fields, input);
}

class PaddingStage final : public Stage {
 public:
  PaddingStage(const StageContext& context, const PaddingMode& mode)
      : input_(context.layers[0].input),
        output_(context.layers[0].output),
        layer_({.input = image_of(context.layers[0].input),
                .output = image_of(context.layers[0].output),
                .mode = mode,
                .size = {side(context, "x"), side(context, "y")},
                .filter_parameters = context.filter_parameters}) {}

  void forward(const Pass& pass, const Descriptor& in, const Descriptor& out) override {
    layer_.apply(pass.samples, as_image(in, input_, pass.samples),
                 as_image(out, output_, pass.samples));
  }
  void backward(const Pass& pass, const Descriptor&, const Descriptor&, const Descriptor& out_delta,
                const std::optional<Descriptor>& in_delta) override {
    if (!in_delta) return;
    layer_.apply_backward(pass.samples,
                          {.output_gradient = as_image(out_delta, output_, pass.samples),
                           .input_gradient = as_image(*in_delta, input_, pass.samples)});
  }

 private:
  static AxisPadding side(const StageContext& context, std::string_view name) {
    const auto [before, after] = context.layers[0].fields.pair(name);
    return {before, after};
  }

  SampleShape input_, output_;
  PaddingLayer layer_;
};

MadeStage make_constant(const StageContext& context) {
  const auto value = static_cast<float>(context.layers[0].fields.number("value"));
  return {std::make_unique<PaddingStage>(context, PaddingMode::constant_scalar(value))};
}
MadeStage make_reflect(const StageContext& context) {
  return {std::make_unique<PaddingStage>(context, PaddingMode::reflect())};
}
MadeStage make_symmetric(const StageContext& context) {
  return {std::make_unique<PaddingStage>(context, PaddingMode::symmetric())};
}

}  // namespace

constexpr LayerKind kPadding = {
    .name = "padding", .fields = kSidesAndValue, .output = output, .make = make_constant};
constexpr LayerKind kReflectPadding = {.name = "reflect_padding",
                                       .fields = kSides,
                                       .output = mirrored_output<1>,
                                       .make = make_reflect};
constexpr LayerKind kSymmetricPadding = {.name = "symmetric_padding",
                                         .fields = kSides,
                                         .output = mirrored_output<0>,
                                         .make = make_symmetric};

}  // namespace bnns::train::impl
