// The permute layer: the axes of a tensor in another order.
#ifndef OPENBNNS_LAYERS_PERMUTE_HPP
#define OPENBNNS_LAYERS_PERMUTE_HPP

#include <algorithm>
#include <cstddef>
#include <vector>

#include "../layer.hpp"

namespace bnns {

struct PermuteLayerOptions {
  Required<Descriptor, field::input> input;
  Required<Descriptor, field::output> output;
  // Axis k of the output is axis permutation[k] of the input, in the order of the sizes of shapes.
  std::vector<std::size_t> permutation = {};
  FilterParameters filter_parameters = {};
};

// apply and apply_backward are those of UnaryLayer.
class PermuteLayer : public UnaryLayer {
 public:
  explicit PermuteLayer(const PermuteLayerOptions& options)
      : UnaryLayer(create(options), "PermuteLayer", options.input, options.output) {}

 private:
  static BNNSFilter create(const PermuteLayerOptions& options) {
    const std::size_t axes = rank(static_cast<DataLayout>(options.input->layout));
    detail::require(options.permutation.size() == axes && axes <= Shape::max_rank,
                    Error::Code::invalid_argument, "PermuteLayer", "permutation has ",
                    options.permutation.size(), " entries, the input has ", axes, " axes");
    BNNSLayerParametersPermute parameters = {};
    parameters.i_desc = *options.input;
    parameters.o_desc = *options.output;
    std::copy(options.permutation.begin(), options.permutation.end(), parameters.permutation);
    const BNNSFilterParameters native = detail::native(options.filter_parameters);
    return BNNSFilterCreateLayerPermute(&parameters, &native);
  }
};

}  // namespace bnns

#endif
