// Images of another size: every channel is resized, to the nearest pixel or linearly between
// pixels. Either the new "size" is given, or a "factor".
#include "train/layers/other.h"

namespace bnns::train::impl {
namespace {

using Type = FieldRule::Type;

constexpr FieldRule kFields[] = {{"size", Type::pair, 0, kLargest, 0},
                                 {"factor", Type::pair, 0, 4096, 0}};
constexpr FieldRule kLinearFields[] = {
    kFields[0], kFields[1], {"align_corners", Type::flag, 0, 1, 0}};

SampleShape output(const Fields& fields, const SampleShape& input) {
  const std::size_t sizes[] = {input.width, input.height};
  std::size_t result[2];
  for (std::size_t k = 0; k < 2; ++k) {
    const std::size_t size = fields.pair("size")[k], factor = fields.pair("factor")[k];
    if ((size == 0) == (factor == 0)) {
      fields.fail("one of the fields \"size\" and \"factor\" must be given, and be at least 1");
    }
    result[k] = size > 0 ? size : sizes[k] * factor;
  }
  return {.width = result[0], .height = result[1], .channels = input.channels};
}

class ResizeStage final : public Stage {
 public:
  ResizeStage(const StageContext& context, InterpolationMethod method, bool aligns_corners)
      : input_(context.layers[0].input),
        output_(context.layers[0].output),
        layer_({.interpolation_method = method,
                .input = image_of(context.layers[0].input),
                .output = image_of(context.layers[0].output),
                .aligns_corners = aligns_corners,
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
  SampleShape input_, output_;
  ResizeLayer layer_;
};

MadeStage make_nearest(const StageContext& context) {
  return {std::make_unique<ResizeStage>(context, InterpolationMethod::nearest_neighbor, false)};
}
MadeStage make_linear(const StageContext& context) {
  return {std::make_unique<ResizeStage>(context, InterpolationMethod::linear,
                                        context.layers[0].fields.flag("align_corners"))};
}

}  // namespace

constexpr LayerKind kNearestResize = {
    .name = "nearest_resize", .fields = kFields, .output = output, .make = make_nearest};
constexpr LayerKind kLinearResize = {
    .name = "linear_resize", .fields = kLinearFields, .output = output, .make = make_linear};

}  // namespace bnns::train::impl
