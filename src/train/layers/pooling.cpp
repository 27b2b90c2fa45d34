// Windows that slide over an image: maximum, average (padding counts, as in PyTorch), L2 norm.
// Without a stride windows lie side by side. Global pooling has one window, the whole image.
#include "train/layers/pooling.h"

namespace bnns::train::impl {
namespace {

constexpr double kWindow = 4096;
constexpr FieldRule kFields[] = {{"kernel", FieldRule::Type::pair, 1, kWindow},
                                 {"stride", FieldRule::Type::pair, 0, kWindow, 0},
                                 {"padding", FieldRule::Type::pair, 0, kWindow, 0}};

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

SampleShape global_output(const Fields&, const SampleShape& input) {
  return {.width = 1, .height = 1, .channels = input.channels};
}

struct Window {
  WindowSize size;
  WindowStride stride = {1, 1};
  ConvolutionPadding padding = ConvolutionPadding::symmetric(0, 0);
};
Window sliding_window(const ResolvedLayer& layer) {
  const auto [width, height] = layer.fields.pair("kernel");
  const auto [x_padding, y_padding] = layer.fields.pair("padding");
  const auto stride = stride_of(layer.fields);
  return {.size = {width, height},
          .stride = {stride[0], stride[1]},
          .padding = ConvolutionPadding::symmetric(x_padding, y_padding)};
}
Window global_window(const ResolvedLayer& layer) {
  return {.size = {layer.input.width, layer.input.height}};
}

class PoolingStage final : public Stage {
 public:
  PoolingStage(const StageContext& context, const PoolingType& type, const Window& window)
      : layer_({.type = type,
                .input = image_of(context.layers[0].input),
                .output = image_of(context.layers[0].output),
                .kernel_size = window.size,
                .stride = window.stride,
                .padding = window.padding,
                .filter_parameters = context.filter_parameters}) {}

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
  PoolingLayer layer_;
};

template <typename Type, Window (*kWindowOf)(const ResolvedLayer&)>
MadeStage make(const StageContext& context) {
  return {std::make_unique<PoolingStage>(context, Type{}, kWindowOf(context.layers[0]))};
}

template <typename Type>
constexpr LayerKind sliding(std::string_view name) {
  return {.name = name, .fields = kFields, .output = output, .make = make<Type, sliding_window>};
}
template <typename Type>
constexpr LayerKind global(std::string_view name) {
  return {.name = name, .output = global_output, .make = make<Type, global_window>};
}

}  // namespace

constexpr LayerKind kMaxPool = sliding<pooling::Max>("max_pool");
constexpr LayerKind kAveragePool = sliding<pooling::Average>("average_pool");
constexpr LayerKind kL2Pool = sliding<pooling::L2Norm>("l2_pool");
constexpr LayerKind kGlobalMaxPool = global<pooling::Max>("global_max_pool");
constexpr LayerKind kGlobalAveragePool = global<pooling::Average>("global_average_pool");

}  // namespace bnns::train::impl
