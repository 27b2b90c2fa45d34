// The Gram layer: products of the channels of an image, summed over its pixels.
#ifndef OPENBNNS_LAYERS_GRAM_HPP
#define OPENBNNS_LAYERS_GRAM_HPP

#include "../layer.hpp"

namespace bnns {

struct GramLayerOptions {
  Required<Descriptor, field::input> input;    // Shape::image_chw(width, height, channels)
  Required<Descriptor, field::output> output;  // Shape::matrix_row_major(channels, channels)
  Required<float, field::alpha> alpha;
  FilterParameters filter_parameters = {};
};

// apply and apply_backward are those of UnaryLayer.
class GramLayer : public UnaryLayer {
 public:
  explicit GramLayer(const GramLayerOptions& options)
      : UnaryLayer(create(options), "GramLayer", options.input, options.output) {}

 private:
  static BNNSFilter create(const GramLayerOptions& options) {
    const BNNSLayerParametersGram parameters = {
        .alpha = options.alpha, .i_desc = *options.input, .o_desc = *options.output};
    const BNNSFilterParameters native = detail::native(options.filter_parameters);
    return BNNSFilterCreateLayerGram(&parameters, &native);
  }
};

}  // namespace bnns

#endif
