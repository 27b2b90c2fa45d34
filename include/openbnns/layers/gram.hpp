// The Gram layer: products of the channels of an image, summed over its pixels.
#ifndef OPENBNNS_LAYERS_GRAM_HPP
#define OPENBNNS_LAYERS_GRAM_HPP

#include <optional>

#include "../layer.hpp"

namespace bnns {

struct GramLayerOptions {
  Descriptor input;   // Shape::image_chw(width, height, channels)
  Descriptor output;  // Shape::matrix_row_major(channels, channels)
  float alpha;
  std::optional<FilterParameters> filter_parameters = std::nullopt;
};

// apply and apply_backward are those of UnaryLayer.
class GramLayer : public UnaryLayer {
 public:
  explicit GramLayer(const GramLayerOptions& options) : UnaryLayer(create(options), "GramLayer") {}

 private:
  static BNNSFilter create(const GramLayerOptions& options) {
    const BNNSLayerParametersGram parameters = {
        .alpha = options.alpha, .i_desc = options.input, .o_desc = options.output};
    const detail::NativeFilterParameters native(options.filter_parameters);
    return BNNSFilterCreateLayerGram(&parameters, native.get());
  }
};

}  // namespace bnns

#endif
