// The embedding layer: items of a dictionary, chosen by indices.
#ifndef OPENBNNS_LAYERS_EMBEDDING_HPP
#define OPENBNNS_LAYERS_EMBEDDING_HPP

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>

#include "../layer.hpp"

namespace bnns {

// The p-norm, with the p of `value`.
struct Norm {
  float value = 2;

  static constexpr Norm l1() { return {1}; }
  static constexpr Norm l2() { return {2}; }
  static constexpr Norm l_infinity() { return {std::numeric_limits<float>::infinity()}; }
  static constexpr Norm taxicab() { return l1(); }
  static constexpr Norm euclidean() { return l2(); }
  static constexpr Norm maximum() { return l_infinity(); }
};

struct EmbeddingLayerOptions {
  Required<Descriptor, field::input> input;    // indices, of any integer type
  Required<Descriptor, field::output> output;  // the sizes of an item, then those of input
  // The sizes of an item, then the number of items: Shape::matrix_last_major(width, items)
  Required<ParameterDescriptor, field::dictionary> dictionary;
  std::optional<std::size_t> padding_index = std::nullopt;  // this item reads as zeros
  float maximum_norm = 0;  // longer items are scaled to it; 0: items are as they are
  Norm norm_type = Norm::l2();
  bool scales_gradient_by_frequency = false;  // divided by the number of times an item was chosen
  FilterParameters filter_parameters = {};
};

struct EmbeddingBackwardArguments {
  Required<Descriptor, field::input> input;
  Descriptor output = {};  // not looked at
  Required<Descriptor, field::output_gradient> output_gradient;
  Required<Descriptor, field::weights_gradient> weights_gradient;  // like the dictionary
};

class EmbeddingLayer : public UnaryLayer {
 public:
  explicit EmbeddingLayer(const EmbeddingLayerOptions& options)
      : UnaryLayer(create(options), "EmbeddingLayer", options.input, options.output,
                   {options.dictionary}) {}

  // Indices have no gradient. That of the dictionary is summed over the batch.
  void apply_backward(std::size_t batch_size, const EmbeddingBackwardArguments& arguments) {
    backward(batch_size, {.input = *arguments.input, .output_gradient = arguments.output_gradient},
             *arguments.weights_gradient, std::nullopt, kOperation);
  }
  void apply_backward(const EmbeddingBackwardArguments& arguments) {
    apply_backward(
        detail::common_batch_size(kOperation, {{"input", *arguments.input},
                                               {"output_gradient", *arguments.output_gradient}}),
        arguments);
  }

 private:
  static constexpr const char* kOperation = "EmbeddingLayer::apply_backward";

  static BNNSFilter create(const EmbeddingLayerOptions& options) {
    const BNNSLayerParametersEmbedding parameters = {
        .flags = options.scales_gradient_by_frequency ? BNNSEmbeddingFlagScaleGradientByFrequency
                                                      : BNNSEmbeddingFlags{},
        .i_desc = *options.input,
        .o_desc = *options.output,
        .dictionary = *options.dictionary,
        .padding_idx = options.padding_index.value_or(SIZE_MAX),
        .max_norm = options.maximum_norm,
        .norm_type = options.norm_type.value};
    const BNNSFilterParameters native = detail::native(options.filter_parameters);
    return BNNSFilterCreateLayerEmbedding(&parameters, &native);
  }
};

}  // namespace bnns

#endif
