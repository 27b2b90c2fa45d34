// Windows that slide over an image: maximum, average (padding counts, as in PyTorch), L2 norm.
// Without a stride windows lie side by side.
#include "train/layers/pooling.h"

namespace bnns::train::impl {
namespace {

using Type = FieldRule::Type;

constexpr double kWindow = 4096;
constexpr FieldRule kFields[] = {{"kernel", Type::pair, 1, kWindow},
                                 {"stride", Type::pair, 0, kWindow, 0},
                                 {"padding", Type::pair, 0, kWindow, 0}};

std::array<std::size_t, 2> stride_of(const Fields& fields) {
  std::array<std::size_t, 2> stride = fields.pair("stride");
  for (std::size_t k = 0; k < 2; ++k)
    if (stride[k] == 0) stride[k] = fields.pair("kernel")[k];
  return stride;
}

SampleShape output(const Fields& fields, const SampleShape& input) {
  const std::size_t sizes[] = {input.width, input.height};
  std::size_t result[2];
  for (std::size_t k = 0; k < 2; ++k) {
    const std::size_t window = fields.pair("kernel")[k], padding = fields.pair("padding")[k];
    if (2 * padding > window) {
      fields.fail("\"padding\" is " + std::to_string(padding) +
                  "; it must be at most half the window of " + std::to_string(window));
    }
    if (sizes[k] + 2 * padding < window) {
      fields.fail("the window of " + std::to_string(window) + " is larger than the image of " +
                  text_of(input) + " with its padding");
    }
    result[k] = (sizes[k] + 2 * padding - window) / stride_of(fields)[k] + 1;
  }
  return {.width = result[0], .height = result[1], .channels = input.channels};
}

class PoolingStage final : public Stage {
 public:
  PoolingStage(const StageContext& context, const PoolingType& type)
      : layer_(options(context, type)) {}

  void forward(const Pass& pass, const Descriptor& in, const Descriptor& out) override {
    layer_.apply(pass.samples, in, out);
  }
  void backward(const Pass& pass, const Descriptor& in, const Descriptor& out,
                const Descriptor& out_delta, const std::optional<Descriptor>& in_delta) override {
    if (!in_delta) return;
    layer_.apply_backward(
        pass.samples,
        {.input = in, .output = out, .output_gradient = out_delta, .input_gradient = in_delta});
  }

 private:
  static PoolingLayerOptions options(const StageContext& context, const PoolingType& type) {
    const ResolvedLayer& layer = context.layers[0];
    const auto [width, height] = layer.fields.pair("kernel");
    const auto [x_padding, y_padding] = layer.fields.pair("padding");
    const auto stride = stride_of(layer.fields);
    return {.type = type,
            .input = image_of(layer.input),
            .output = image_of(layer.output),
            .kernel_size = {width, height},
            .stride = {stride[0], stride[1]},
            .padding = ConvolutionPadding::symmetric(x_padding, y_padding),
            .filter_parameters = context.filter_parameters};
  }

  PoolingLayer layer_;
};

template <typename Type>
MadeStage make(const StageContext& context) {
  return {std::make_unique<PoolingStage>(context, Type{})};
}

}  // namespace

constexpr LayerKind kMaxPool = {
    .name = "max_pool", .fields = kFields, .output = output, .make = make<pooling::Max>};
constexpr LayerKind kAveragePool = {
    .name = "average_pool", .fields = kFields, .output = output, .make = make<pooling::Average>};
constexpr LayerKind kL2Pool = {
    .name = "l2_pool", .fields = kFields, .output = output, .make = make<pooling::L2Norm>};

}  // namespace bnns::train::impl
