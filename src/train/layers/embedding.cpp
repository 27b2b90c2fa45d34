// Ids become rows: a sample of T ids is a sequence of T rows with "width" trained numbers each, as
// an image of T rows. Ids are the numbers of the sample, from 0 to "items" - 1; anything else is an
// Error. "positions" adds a trained row for each place in the sequence.
#include <algorithm>
#include <cmath>
#include <cstdint>

#include "openbnns/train/error.hpp"
#include "train/layers/other.h"

namespace bnns::train::impl {
namespace {

using Type = FieldRule::Type;

constexpr FieldRule kFields[] = {{"items", Type::integer, 1, kLargest},
                                 {"width", Type::integer, 1, kLargest},
                                 {"positions", Type::flag, 0, 1, 0}};

SampleShape output(const Fields& fields, const SampleShape& input) {
  if (!is_vector(input)) {
    fields.fail("it takes a sequence of ids; its input is " + text_of(input));
  }
  return {.width = fields.integer("width"), .height = input.width};
}

std::vector<ParameterRule> parameters(const Fields& fields, const SampleShape& input,
                                      const SampleShape&) {
  const std::size_t items = fields.integer("items"), width = fields.integer("width");
  std::vector<ParameterRule> rules = {{.name = "weight",
                                       .dimensions = {items, width},
                                       .shape = Shape::matrix_last_major(width, items),
                                       .initial = ParameterRule::Initial::weights,
                                       .fan_in = width,
                                       .fan_out = width}};
  if (fields.flag("positions")) {
    rules.push_back({.name = "position",
                     .dimensions = {input.width, width},
                     .shape = Shape::matrix_last_major(width, input.width),
                     .initial = ParameterRule::Initial::weights,
                     .fan_in = width,
                     .fan_out = width});
  }
  return rules;
}

class EmbeddingStage final : public Stage {
 public:
  explicit EmbeddingStage(const StageContext& context)
      : items_(context.layers[0].fields.integer("items")),
        steps_(context.layers[0].input.width),
        row_(context.layers[0].output.count()),
        where_(context.layers[0].fields.where()),
        ids_(context.batch_size * steps_),
        gradient_(context.parameters.gradient(context.layers[0].path + ".weight")),
        layer_({.input = id_shape(nullptr, 1),
                .output = rows_shape(context),
                .dictionary = context.parameters.value(context.layers[0].path + ".weight"),
                .filter_parameters = context.filter_parameters}) {
    if (!context.layers[0].fields.flag("positions")) return;
    const std::string name = context.layers[0].path + ".position";
    positions_ = context.parameters.values(context.parameters.entry(name));
    if (const auto gradient = context.parameters.gradient(name)) {
      position_gradient_ = {static_cast<float*>(gradient->data), row_};
    }
  }

  void forward(const Pass& pass, const Descriptor& in, const Descriptor& out) override {
    read(static_cast<const float*>(in.data), pass.samples * steps_);
    layer_.apply(pass.samples, id_shape(ids_.data(), pass.samples), rows(out, pass.samples));
    if (positions_.empty()) return;
    auto* values = static_cast<float*>(out.data);
    for (std::size_t n = 0; n < pass.samples; ++n, values += row_)
      for (std::size_t k = 0; k < row_; ++k) values[k] += positions_[k];
  }
  void backward(const Pass& pass, const Descriptor&, const Descriptor&, const Descriptor& out_delta,
                const std::optional<Descriptor>& in_delta) override {
    if (gradient_) {
      layer_.apply_backward(pass.samples, {.input = id_shape(ids_.data(), pass.samples),
                                           .output_gradient = rows(out_delta, pass.samples),
                                           .weights_gradient = *gradient_});
    }
    if (!position_gradient_.empty()) {
      std::ranges::fill(position_gradient_, 0.0f);
      const auto* delta = static_cast<const float*>(out_delta.data);
      for (std::size_t n = 0; n < pass.samples; ++n, delta += row_)
        for (std::size_t k = 0; k < row_; ++k) position_gradient_[k] += delta[k];
    }
    if (in_delta) std::fill_n(static_cast<float*>(in_delta->data), pass.samples * steps_, 0.0f);
  }

 private:
  Descriptor id_shape(std::int32_t* ids, std::size_t samples) const {
    return Descriptor(make_descriptor(BNNSDataTypeInt32, Shape::vector(steps_), ids), samples);
  }
  static Shape rows_shape(const StageContext& context) {
    const SampleShape& shape = context.layers[0].output;
    return Shape::matrix_last_major(shape.width, shape.height);
  }
  Descriptor rows(const Descriptor& like, std::size_t samples) const {
    return Descriptor(make_descriptor(BNNSDataTypeFloat32,
                                      Shape::matrix_last_major(row_ / steps_, steps_), like.data),
                      samples);
  }
  void read(const float* values, std::size_t count) {
    for (std::size_t k = 0; k < count; ++k) {
      // A comparison that is false for NaN.
      if (!(values[k] >= 0 && values[k] < static_cast<float>(items_)) ||
          values[k] != std::floor(values[k])) {
        throw Error(Error::Kind::data, where_,
                    "a sample has the id " + std::to_string(values[k]) +
                        "; ids are whole numbers from 0 to " + std::to_string(items_ - 1));
      }
      ids_[k] = static_cast<std::int32_t>(values[k]);
    }
  }

  std::size_t items_, steps_, row_;
  std::string where_;
  std::vector<std::int32_t> ids_;
  std::optional<Descriptor> gradient_;
  std::span<const float> positions_;
  std::span<float> position_gradient_;
  EmbeddingLayer layer_;
};

MadeStage make(const StageContext& context) {
  return {std::make_unique<EmbeddingStage>(context)};
}

}  // namespace

constexpr LayerKind kEmbedding = {.name = "embedding",
                                  .fields = kFields,
                                  .output = output,
                                  .parameters = parameters,
                                  .make = make,
                                  .takes_ids = true};

}  // namespace bnns::train::impl
