// The dropout layer: elements that are 0 with a probability, the others scaled up.
#ifndef OPENBNNS_LAYERS_DROPOUT_HPP
#define OPENBNNS_LAYERS_DROPOUT_HPP

#include <cstdint>

#include "../layer.hpp"

namespace bnns {

struct DropoutLayerOptions {
  Required<Descriptor, field::input> input;
  Required<Descriptor, field::output> output;
  Required<float, field::rate> rate;          // the probability of 0, below 1
  Required<std::uint32_t, field::seed> seed;  // 0: another one for every layer
  // Bit k: elements that differ only along dimension k are kept or dropped together.
  Required<std::uint8_t, field::control> control;
  FilterParameters filter_parameters = {};
};

// apply and apply_backward are those of UnaryLayer. Every apply draws anew, and apply_backward
// belongs to the last one; it looks at neither input nor output.
class DropoutLayer : public UnaryLayer {
 public:
  explicit DropoutLayer(const DropoutLayerOptions& options)
      : UnaryLayer(create(options), "DropoutLayer", options.input, options.output) {}

 private:
  static BNNSFilter create(const DropoutLayerOptions& options) {
    const BNNSLayerParametersDropout parameters = {.i_desc = *options.input,
                                                   .o_desc = *options.output,
                                                   .rate = options.rate,
                                                   .seed = options.seed,
                                                   .control = options.control};
    const BNNSFilterParameters native = detail::native(options.filter_parameters);
    return BNNSFilterCreateLayerDropout(&parameters, &native);
  }
};

}  // namespace bnns

#endif
