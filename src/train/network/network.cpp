// Network: the description is built layer by layer; errors are found as each is added.
#include "openbnns/train/network.hpp"

#include <algorithm>
#include <utility>

#include "openbnns/train/error.hpp"
#include "train/network/runner.h"
#include "train/network/state.h"

namespace bnns::train {
namespace {

FieldValue value_of(std::size_t number) {
  return static_cast<double>(number);
}
FieldValue value_of(const Pair& pair) {
  if (pair.x == pair.y) return value_of(pair.x);
  return FieldPair{static_cast<double>(pair.x), static_cast<double>(pair.y)};
}

bool freeze_in(std::vector<LayerDescription>& layers, const std::string& prefix,
               const std::string& path, bool frozen) {
  bool found = false;
  for (std::size_t k = 0; k < layers.size(); ++k) {
    LayerDescription& layer = layers[k];
    const std::string own = prefix + (layer.name.empty() ? std::to_string(k) : layer.name);
    const bool below = own == path || own.starts_with(path + ".");
    if (below) layer.frozen = frozen;
    found |= below | freeze_in(layer.inside, own + ".", path, frozen);
  }
  return found;
}

}  // namespace

Network::Network(std::unique_ptr<impl::NetworkState> state) : state_(std::move(state)) {}
Network::Network(const Network& other)
    : state_(std::make_unique<impl::NetworkState>(*other.state_)) {}
Network::Network(Network&&) noexcept = default;
Network& Network::operator=(const Network& other) {
  if (this != &other) state_ = std::make_unique<impl::NetworkState>(*other.state_);
  return *this;
}
Network& Network::operator=(Network&&) noexcept = default;
Network::~Network() = default;

Network Network::from_description(const NetworkDescription& description) {
  return Network(std::make_unique<impl::NetworkState>(description));
}

Network Network::image(std::size_t width, std::size_t height, std::size_t channels) {
  return from_description({.input = {width, height, channels}, .layers = {}});
}

Network Network::table(std::size_t columns) {
  return image(columns, 1, 1);
}

Network& Network::add(LayerDescription layer) {
  auto changed = std::make_unique<impl::NetworkState>(state_->description);
  changed->description.layers.push_back(std::move(layer));
  changed->resolve_again();
  changed->info = state_->info;
  state_ = std::move(changed);
  return *this;
}

Network& Network::convolution(std::size_t channels, Pair kernel, const ConvolutionFields& fields) {
  LayerDescription layer = {.kind = "convolution", .name = fields.name};
  layer.fields = {{"channels", value_of(channels)}, {"kernel", value_of(kernel)}};
  const auto set = [&](const char* name, const Pair& pair, std::size_t standard) {
    if (pair.x != standard || pair.y != standard) layer.fields[name] = value_of(pair);
  };
  set("stride", fields.stride, 1);
  set("padding", fields.padding, 0);
  set("dilation", fields.dilation, 1);
  set("groups", fields.groups, 1);
  if (!fields.bias) layer.fields["bias"] = false;
  return add(std::move(layer));
}

Network& Network::transposed_convolution(std::size_t channels, Pair kernel, Pair stride,
                                         Pair padding) {
  return add({.kind = "transposed_convolution",
              .fields = {{"channels", value_of(channels)},
                         {"kernel", value_of(kernel)},
                         {"stride", value_of(stride)},
                         {"padding", value_of(padding)}}});
}

Network& Network::fully_connected(std::size_t outputs) {
  return add({.kind = "fully_connected", .fields = {{"outputs", value_of(outputs)}}});
}
Network& Network::batch_norm() {
  return add({.kind = "batch_norm"});
}
Network& Network::instance_norm() {
  return add({.kind = "instance_norm"});
}
Network& Network::layer_norm() {
  return add({.kind = "layer_norm"});
}
Network& Network::group_norm(std::size_t groups) {
  return add({.kind = "group_norm", .fields = {{"groups", value_of(groups)}}});
}
Network& Network::activation(const std::string& kind) {
  return add({.kind = kind});
}
Network& Network::max_pool(Pair kernel) {
  return add({.kind = "max_pool", .fields = {{"kernel", value_of(kernel)}}});
}
Network& Network::average_pool(Pair kernel) {
  return add({.kind = "average_pool", .fields = {{"kernel", value_of(kernel)}}});
}
Network& Network::l2_pool(Pair kernel) {
  return add({.kind = "l2_pool", .fields = {{"kernel", value_of(kernel)}}});
}
Network& Network::global_max_pool() {
  return add({.kind = "global_max_pool"});
}
Network& Network::global_average_pool() {
  return add({.kind = "global_average_pool"});
}
Network& Network::padding(Pair around, double value) {
  return add({.kind = "padding",
              .fields = {{"x", value_of(around.x)}, {"y", value_of(around.y)}, {"value", value}}});
}
Network& Network::reflect_padding(Pair around) {
  return add({.kind = "reflect_padding",
              .fields = {{"x", value_of(around.x)}, {"y", value_of(around.y)}}});
}
Network& Network::symmetric_padding(Pair around) {
  return add({.kind = "symmetric_padding",
              .fields = {{"x", value_of(around.x)}, {"y", value_of(around.y)}}});
}
Network& Network::nearest_resize(Pair factor) {
  return add({.kind = "nearest_resize", .fields = {{"factor", value_of(factor)}}});
}
Network& Network::linear_resize(Pair factor, bool align_corners) {
  return add({.kind = "linear_resize",
              .fields = {{"factor", value_of(factor)}, {"align_corners", align_corners}}});
}
Network& Network::embedding(std::size_t items, std::size_t width, bool positions) {
  LayerDescription layer = {.kind = "embedding",
                            .fields = {{"items", value_of(items)}, {"width", value_of(width)}}};
  if (positions) layer.fields["positions"] = true;
  return add(std::move(layer));
}
Network& Network::lstm(std::size_t outputs, bool last) {
  LayerDescription layer = {.kind = "lstm", .fields = {{"outputs", value_of(outputs)}}};
  if (last) layer.fields["last"] = true;
  return add(std::move(layer));
}
Network& Network::attention(std::size_t heads) {
  return add({.kind = "attention", .fields = {{"heads", value_of(heads)}}});
}
Network& Network::dropout(double rate) {
  return add({.kind = "dropout", .fields = {{"rate", rate}}});
}
Network& Network::flatten() {
  return add({.kind = "flatten"});
}
Network& Network::residual(std::vector<LayerDescription> inside) {
  return add({.kind = "residual", .inside = std::move(inside)});
}

Network& Network::softmax_classifier(std::size_t classes) {
  fully_connected(classes);
  state_->description.output = OutputKind::softmax;
  return *this;
}
Network& Network::regression(std::size_t outputs) {
  fully_connected(outputs);
  state_->description.output = OutputKind::values;
  return *this;
}

Network Network::with_outputs(std::size_t outputs, OutputKind output) const {
  NetworkDescription changed = description();
  if (changed.layers.empty() || changed.layers.back().kind != "fully_connected") {
    throw Error(Error::Kind::network, "Network::with_outputs",
                "the last layer is not fully connected; it cannot be replaced");
  }
  changed.layers.back().fields["outputs"] = value_of(outputs);
  changed.layers.back().frozen = false;
  changed.output = output;
  Network network = from_description(changed);
  network.initialize(info().seed);
  Network from(*this);
  const auto old = from.parameters();
  for (ParameterView& view : network.parameters()) {
    const auto same = [&](const ParameterView& o) {
      return o.name == view.name && o.dimensions == view.dimensions;
    };
    const auto found = std::ranges::find_if(old, same);
    if (found != old.end()) std::ranges::copy(found->values, view.values.begin());
  }
  network.set_preprocessing(preprocessing());
  return network;
}

const NetworkDescription& Network::description() const {
  return state_->description;
}

SampleShape Network::input_shape() const {
  return state_->description.input;
}

std::size_t Network::output_count() const {
  return state_->layers.empty() ? input_shape().count() : state_->layers.back().output.count();
}

void Network::initialize(std::uint64_t seed) {
  state_->parameters().initialize(seed);
  state_->info.seed = seed;
}

std::vector<ParameterView> Network::parameters() {
  std::vector<ParameterView> views;
  impl::ParameterSet& set = state_->parameters();
  for (const auto& entry : set.entries()) {
    views.push_back({.name = entry.name,
                     .dimensions = entry.rule.dimensions,
                     .values = set.values(entry),
                     .is_state = entry.rule.is_state,
                     .frozen = entry.frozen});
  }
  return views;
}

void Network::freeze(const std::string& path, bool frozen) {
  impl::NetworkState changed(state_->description);
  if (!freeze_in(changed.description.layers, "", path, frozen)) {
    throw Error(Error::Kind::network, "there is no layer \"" + path + "\" to freeze");
  }
  changed.resolve_again();
  // Freezing changes no shape: the values move over one by one.
  impl::ParameterSet& from = state_->parameters();
  impl::ParameterSet& to = changed.parameters();
  to.weights().copy_from(from.weights().values());
  to.state().copy_from(from.state().values());
  changed.info = state_->info;
  changed.preprocessing = state_->preprocessing;
  state_ = std::make_unique<impl::NetworkState>(changed);
}

const Preprocessing& Network::preprocessing() const {
  return state_->preprocessing;
}
void Network::set_preprocessing(Preprocessing preprocessing) {
  state_->preprocessing = std::move(preprocessing);
}

ModelInfo& Network::info() {
  return state_->info;
}
const ModelInfo& Network::info() const {
  return state_->info;
}

std::vector<float> Network::predict(std::span<const float> samples) const {
  const std::size_t count = input_shape().count();
  if (samples.empty() || samples.size() % count != 0) {
    throw Error(Error::Kind::data, "Network::predict",
                "there are " + std::to_string(samples.size()) + " values; a sample has " +
                    std::to_string(count));
  }
  Network copy(*this);  // filters read parameters where they are, and predict() is const
  std::vector<float> prepared(samples.begin(), samples.end());
  for (std::size_t at = 0; at < prepared.size(); at += count) {
    preprocessing().apply(std::span(prepared).subspan(at, count));
  }
  std::vector<float> results = impl::predict_all(copy, prepared);
  impl::finish_predictions(*this, results);
  return results;
}

}  // namespace bnns::train
