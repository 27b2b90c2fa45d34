// Self-attention with several "heads": each row of a sequence becomes a mean of all rows, weighted
// by how well they fit it. Parameters are those of PyTorch's MultiheadAttention.
#include "train/layers/other.h"

namespace bnns::train::impl {
namespace {

constexpr FieldRule kFields[] = {{"heads", FieldRule::Type::integer, 1, 4096, 1}};
constexpr std::size_t kParts = 3;  // queries, keys, values

SampleShape output(const Fields& fields, const SampleShape& input) {
  if (input.channels != 1) {
    fields.fail("it takes a sequence of rows; its input is " + text_of(input));
  }
  if (input.width % fields.integer("heads") != 0) {
    fields.fail("\"heads\" is " + std::to_string(fields.integer("heads")) +
                "; it must divide the row of " + std::to_string(input.width));
  }
  return input;
}

std::vector<ParameterRule> parameters(const Fields&, const SampleShape& input, const SampleShape&) {
  const std::size_t width = input.width;
  const auto weights = [&](const char* name, std::size_t rows) {
    return ParameterRule{.name = name,
                         .dimensions = {rows, width},
                         .shape = Shape::matrix_row_major(width, rows),
                         .initial = ParameterRule::Initial::weights,
                         .fan_in = width,
                         .fan_out = rows};
  };
  const auto bias = [](const char* name, std::size_t count) {
    return ParameterRule{.name = name, .dimensions = {count}, .shape = Shape::vector(count)};
  };
  return {weights("in_proj_weight", kParts * width), bias("in_proj_bias", kParts * width),
          weights("out_proj.weight", width), bias("out_proj.bias", width)};
}

double multiply_adds(const ResolvedLayer& layer) {
  const auto rows = static_cast<double>(layer.input.height);
  const auto width = static_cast<double>(layer.input.width);
  return 4 * rows * width * width + 2 * rows * rows * width;
}

class AttentionStage final : public Stage {
 public:
  explicit AttentionStage(const StageContext& context)
      : width_(context.layers[0].input.width),
        rows_(context.layers[0].input.height),
        heads_(context.layers[0].fields.integer("heads")),
        values_(all(context,
                    [&](const std::string& name) {
                      return context.parameters.values(context.parameters.entry(name)).data();
                    })),
        gradients_(all(context,
                       [&](const std::string& name) {
                         const auto gradient = context.parameters.gradient(name);
                         return gradient ? static_cast<float*>(gradient->data) : nullptr;
                       })),
        layer_({.query = sequence(nullptr, 1),
                .key = sequence(nullptr, 1),
                .value = sequence(nullptr, 1),
                .output = sequence(nullptr, 1),
                .query_weights = ParameterDescriptor(weights(values_, 0)),
                .key_weights = ParameterDescriptor(weights(values_, 1)),
                .value_weights = ParameterDescriptor(weights(values_, 2)),
                .output_weights = ParameterDescriptor(joined(values_)),
                .query_bias = ParameterDescriptor(bias(values_, 0)),
                .key_bias = ParameterDescriptor(bias(values_, 1)),
                .value_bias = ParameterDescriptor(bias(values_, 2)),
                .output_bias = ParameterDescriptor(joined_bias(values_)),
                .filter_parameters = context.filter_parameters}) {}

  void forward(const Pass& pass, const Descriptor& in, const Descriptor& out) override {
    const Descriptor x = sequence(in.data, pass.samples);
    layer_.apply(pass.samples, {.query = x,
                                .key = x,
                                .value = x,
                                .output = sequence(out.data, pass.samples),
                                .cache = pass.training ? &cache_ : nullptr});
  }
  void backward(const Pass& pass, const Descriptor& in, const Descriptor&,
                const Descriptor& out_delta, const std::optional<Descriptor>& in_delta) override {
    const Descriptor x = sequence(in.data, pass.samples);
    MultiheadAttentionBackwardArguments a = {
        .query = x,
        .key = x,
        .value = x,
        .output_gradient = sequence(out_delta.data, pass.samples),
        .cache = pass.training ? &cache_ : nullptr};
    if (in_delta) {  // the sum of the three
      a.query_gradient = a.key_gradient = a.value_gradient = sequence(in_delta->data, pass.samples);
    }
    if (gradients_.in_weights) {
      a.query_weights_gradient = weights(gradients_, 0);
      a.key_weights_gradient = weights(gradients_, 1);
      a.value_weights_gradient = weights(gradients_, 2);
      a.query_bias_gradient = bias(gradients_, 0);
      a.key_bias_gradient = bias(gradients_, 1);
      a.value_bias_gradient = bias(gradients_, 2);
      a.output_weights_gradient = joined(gradients_);
      a.output_bias_gradient = joined_bias(gradients_);
    }
    layer_.apply_backward(pass.samples, a);
  }

 private:
  struct Arrays {
    float *in_weights, *in_bias, *out_weights, *out_bias;
  };
  template <typename Find>
  static Arrays all(const StageContext& context, const Find& find) {
    const std::string& path = context.layers[0].path;
    return {find(path + ".in_proj_weight"), find(path + ".in_proj_bias"),
            find(path + ".out_proj.weight"), find(path + ".out_proj.bias")};
  }

  Descriptor sequence(void* data, std::size_t samples) const {
    return Descriptor(
        make_descriptor(BNNSDataTypeFloat32, Shape::matrix_row_major(width_, rows_), data),
        samples);
  }
  // Of queries, keys or values: a row of weights for each column of each head.
  Descriptor weights(const Arrays& arrays, std::size_t part) const {
    return make_descriptor(BNNSDataTypeFloat32,
                           Shape::tensor_last_major<3>({width_, width_ / heads_, heads_}),
                           arrays.in_weights + part * width_ * width_);
  }
  Descriptor bias(const Arrays& arrays, std::size_t part) const {
    return make_descriptor(BNNSDataTypeFloat32, Shape::matrix_last_major(width_ / heads_, heads_),
                           arrays.in_bias + part * width_);
  }
  // PyTorch has a row for each output, the layer one for each column of the joined heads.
  Descriptor joined(const Arrays& arrays) const {
    return make_descriptor(BNNSDataTypeFloat32, Shape::matrix_column_major(width_, width_),
                           arrays.out_weights);
  }
  Descriptor joined_bias(const Arrays& arrays) const {
    return make_descriptor(BNNSDataTypeFloat32, Shape::vector(width_), arrays.out_bias);
  }

  std::size_t width_, rows_, heads_;
  Arrays values_, gradients_;  // gradients are null where the layer is frozen
  MultiheadAttentionCache cache_;
  MultiheadAttentionLayer layer_;
};

MadeStage make(const StageContext& context) {
  return {std::make_unique<AttentionStage>(context)};
}

}  // namespace

constexpr LayerKind kAttention = {.name = "attention",
                                  .fields = kFields,
                                  .output = output,
                                  .parameters = parameters,
                                  .multiply_adds = multiply_adds,
                                  .make = make};

}  // namespace bnns::train::impl
