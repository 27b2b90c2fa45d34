// A network: its description, its parameters, and what is known of the data it was trained on.
#ifndef OPENBNNS_TRAIN_NETWORK_HPP
#define OPENBNNS_TRAIN_NETWORK_HPP

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "api.hpp"
#include "description.hpp"
#include "preprocessing.hpp"

namespace bnns::train {

namespace impl {
struct NetworkState;
}

// One number for both directions, or x and y.
struct Pair {
  constexpr Pair(std::size_t both) : x(both), y(both) {}
  constexpr Pair(std::size_t x_value, std::size_t y_value) : x(x_value), y(y_value) {}
  std::size_t x, y;
};

struct ConvolutionFields {
  Pair stride = 1;
  Pair padding = 0;
  Pair dilation = 1;
  std::size_t groups = 1;
  bool bias = true;
  std::string name = {};
};

struct LayerSummary {
  std::string path;  // "3", or "3.0" inside a block
  std::string kind;
  SampleShape output;
  std::size_t parameters = 0;  // trained and moving ones
  std::size_t bytes = 0;       // parameters and the output of one sample
  double multiply_adds = 0;    // of one sample, forward
  bool frozen = false;
};

// A parameter by PyTorch's name and dimensions.
struct ParameterView {
  std::string name;
  std::vector<std::size_t> dimensions;
  std::span<float> values;
  bool is_state = false;  // a moving statistic
  bool frozen = false;
};

// What a model file says beyond description and parameters.
struct ModelInfo {
  Task task = Task::classification;
  std::vector<std::string> class_names;
  std::vector<std::string> target_names;
  std::uint64_t seed = 0;
  std::map<std::string, std::string> notes;  // version, target, command line, ...
};

// Copies are independent of each other.
class OPENBNNS_TRAIN_API Network {
 public:
  static Network image(std::size_t width, std::size_t height, std::size_t channels = 1);
  static Network table(std::size_t columns);
  // "mlp", "lenet", "resnet-mini", "digits" for samples of this shape.
  static Network named(std::string_view name, const SampleShape& input, std::size_t outputs,
                       OutputKind output = OutputKind::softmax);
  static const std::vector<std::string>& names();
  // `where` stands in errors: the name of a file, for example.
  static Network from_json(std::string_view json, const std::string& where = "network");
  static Network from_description(const NetworkDescription& description);

  Network(const Network&);
  Network(Network&&) noexcept;
  Network& operator=(const Network&);
  Network& operator=(Network&&) noexcept;
  ~Network();

  // Each adds a layer behind the last one. Errors are found here.
  Network& add(LayerDescription layer);
  Network& convolution(std::size_t channels, Pair kernel, const ConvolutionFields& fields = {});
  Network& transposed_convolution(std::size_t channels, Pair kernel, Pair stride = 1,
                                  Pair padding = 0);
  Network& fully_connected(std::size_t outputs);
  Network& batch_norm();
  Network& instance_norm();
  Network& layer_norm();
  Network& group_norm(std::size_t groups);
  Network& activation(const std::string& kind);  // any activation by its name, with its defaults
  Network& relu() { return activation("relu"); }
  Network& sigmoid() { return activation("sigmoid"); }
  Network& tanh() { return activation("tanh"); }
  Network& max_pool(Pair kernel);
  Network& average_pool(Pair kernel);
  Network& l2_pool(Pair kernel);
  Network& global_max_pool();
  Network& global_average_pool();
  Network& padding(Pair around, double value = 0);
  Network& reflect_padding(Pair around);
  Network& symmetric_padding(Pair around);
  // Images `factor` times as large.
  Network& nearest_resize(Pair factor);
  Network& linear_resize(Pair factor, bool align_corners = false);
  // Sequences: ids become rows, which go through cells with a memory, or look at each other.
  Network& embedding(std::size_t items, std::size_t width, bool positions = false);
  Network& lstm(std::size_t outputs, bool last = false);
  Network& attention(std::size_t heads);
  Network& dropout(double rate);
  Network& flatten();
  // The layers of `inside`, whose input is what this network has so far, plus their input.
  Network& residual(std::vector<LayerDescription> inside);
  // The last layer: a score per class, or the predicted numbers.
  Network& softmax_classifier(std::size_t classes);
  Network& regression(std::size_t outputs = 1);

  // A copy whose last layer, which must be fully connected, is a new one; all other parameters are
  // kept. For training on other classes.
  Network with_outputs(std::size_t outputs, OutputKind output) const;

  const NetworkDescription& description() const;
  std::string to_json() const;
  SampleShape input_shape() const;
  std::size_t output_count() const;
  std::vector<LayerSummary> layers() const;
  // A table: layer, output shape, parameters, memory, multiply-adds.
  std::string summary() const;

  // Draws weights from the seed: He's before rectifiers, Glorot's elsewhere. Parameters are made
  // with seed 0 when they are first asked for.
  void initialize(std::uint64_t seed);
  std::vector<ParameterView> parameters();
  std::size_t parameter_count() const;
  // Layers whose path is `path`, or lies below it; they are not trained from here on.
  void freeze(const std::string& path, bool frozen = true);

  // Model files: safetensors with PyTorch's names, replaced as a whole. A checkpoint is read as the
  // model it holds. Throws Error.
  void save(const std::string& file);
  static Network load(const std::string& file);

  // What is done to samples in front of the first layer; fit() learns it.
  const Preprocessing& preprocessing() const;
  void set_preprocessing(Preprocessing preprocessing);

  ModelInfo& info();
  const ModelInfo& info() const;

  // For samples one after the other, as Data gives them, output_count() numbers each: probabilities
  // of the classes, or the predicted values in the units of the data.
  std::vector<float> predict(std::span<const float> samples) const;

  impl::NetworkState& state() noexcept { return *state_; }
  const impl::NetworkState& state() const noexcept { return *state_; }

 private:
  explicit Network(std::unique_ptr<impl::NetworkState> state);
  std::unique_ptr<impl::NetworkState> state_;
};

}  // namespace bnns::train

#endif
