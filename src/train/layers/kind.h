// A kind of layer. A new kind is one file that defines a LayerKind, and one line in table.cpp.
//
// A described layer is resolved first: its fields are checked, its input and output shapes and its
// parameters follow. Resolved layers then become stages, which run on samples; a stage may stand
// for several layers, for example a convolution with the normalization and activation behind it.
#ifndef OPENBNNS_TRAIN_LAYERS_KIND_H
#define OPENBNNS_TRAIN_LAYERS_KIND_H

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "openbnns/openbnns.hpp"
#include "train/layers/fields.h"
#include "train/network/parameters.h"

namespace bnns::train::impl {

struct LayerKind;

struct ResolvedLayer {
  const LayerKind* kind;
  Fields fields;
  std::string path;  // prefix of its parameters' names: "3" or "encoder.0"
  SampleShape input;
  SampleShape output;
  std::vector<ParameterRule> parameters;
  std::vector<ResolvedLayer> inside;
  bool frozen;
};

// One pass over the samples of a shard.
struct Pass {
  std::size_t samples = 0;
  bool training = false;
  // The key of what is drawn at random.
  std::uint64_t seed = 0, epoch = 0, step = 0;
  std::size_t first_sample = 0;  // place of the shard's first sample in the batch

  LearningPhase phase() const {
    return training ? LearningPhase::training : LearningPhase::inference;
  }
};

class Stage {
 public:
  virtual ~Stage() = default;
  virtual void forward(const Pass& pass, const Descriptor& in, const Descriptor& out) = 0;
  // After forward with the same pass. Sets the gradients of the parameters, and that of the input
  // unless it is not wanted.
  virtual void backward(const Pass& pass, const Descriptor& in, const Descriptor& out,
                        const Descriptor& out_delta, const std::optional<Descriptor>& in_delta) = 0;
};

struct StageContext {
  std::span<const ResolvedLayer> layers;  // the one to make, and all behind it
  ParameterSet& parameters;
  std::size_t batch_size;  // the largest one
  FilterParameters filter_parameters;
};

struct MadeStage {
  std::unique_ptr<Stage> stage;  // null: the data stays as it is, only its shape changes
  std::size_t layers = 1;        // how many it stands for
};

struct LayerKind {
  std::string_view name;
  std::span<const FieldRule> fields = {};
  // The output shape; fails through fields.fail() if the input does not suit the layer.
  SampleShape (*output)(const Fields&, const SampleShape& input);
  std::vector<ParameterRule> (*parameters)(const Fields&, const SampleShape& input,
                                           const SampleShape& output) = nullptr;
  // Multiply-adds of a sample, forward.
  double (*multiply_adds)(const ResolvedLayer&) = nullptr;
  MadeStage (*make)(const StageContext&);
  bool has_inside = false;  // takes a list of layers, "inside"
  bool takes_ids = false;   // its input is not numbers but ids below the field "items"
};

// NULL if there is none of that name.
const LayerKind* find_layer_kind(std::string_view name);
std::vector<std::string_view> layer_kind_names();

// Throws Error::Kind::network.
std::vector<ResolvedLayer> resolve(const std::vector<LayerDescription>& layers,
                                   const SampleShape& input, const std::string& path = "");

inline SampleShape same_shape(const Fields&, const SampleShape& input) {
  return input;
}

inline bool is_vector(const SampleShape& shape) {
  return shape.height == 1 && shape.channels == 1;
}
inline Shape image_of(const SampleShape& shape) {
  return Shape::image_chw(shape.width, shape.height, shape.channels);
}
// Vectors stay vectors: n values, not an image of one row.
inline Shape shape_of(const SampleShape& shape) {
  return is_vector(shape) ? Shape::vector(shape.width) : image_of(shape);
}
// The memory of samples as images, vectors as images of one row.
inline Descriptor as_image(const Descriptor& samples, const SampleShape& shape, std::size_t count) {
  return Descriptor(make_descriptor(BNNSDataTypeFloat32, image_of(shape), samples.data), count);
}
inline std::string text_of(const SampleShape& shape) {
  if (is_vector(shape)) return std::to_string(shape.width);
  return std::to_string(shape.width) + " x " + std::to_string(shape.height) + " x " +
         std::to_string(shape.channels);
}

}  // namespace bnns::train::impl

#endif
