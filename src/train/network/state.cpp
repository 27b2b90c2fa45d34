#include "train/network/state.h"

#include <utility>

#include "train/layers/activation.h"
#include "train/layers/normalization.h"

namespace bnns::train::impl {
namespace {

// Whether the values of layer k go through a rectifier before the next layer with weights.
bool is_before_rectifier(std::span<const ResolvedLayer> layers, std::size_t k) {
  for (const ResolvedLayer& next : layers.subspan(k + 1)) {
    if (is_rectifier(*next.kind)) return true;
    if (is_activation(*next.kind) || next.kind->has_inside) return false;
    if (!next.parameters.empty() && !is_normalization(*next.kind)) return false;
  }
  return false;
}

void collect(std::span<const ResolvedLayer> layers, std::vector<ParameterSet::Entry>& entries) {
  for (std::size_t k = 0; k < layers.size(); ++k) {
    const ResolvedLayer& layer = layers[k];
    for (const ParameterRule& rule : layer.parameters) {
      std::size_t count = 1;
      for (const std::size_t dimension : rule.dimensions) count *= dimension;
      entries.push_back({.name = layer.path + "." + rule.name,
                         .rule = rule,
                         .offset = 0,
                         .count = count,
                         .frozen = layer.frozen,
                         .before_rectifier = is_before_rectifier(layers, k)});
    }
    collect(layer.inside, entries);
  }
}

}  // namespace

NetworkState::NetworkState(NetworkDescription network_description)
    : description(std::move(network_description)) {
  resolve_again();
}

NetworkState::NetworkState(const NetworkState& other)
    : description(other.description),
      layers(other.layers),
      info(other.info),
      preprocessing(other.preprocessing) {
  if (other.made) made = std::make_unique<ParameterSet>(*other.made);
}

void NetworkState::resolve_again() {
  made.reset();
  layers = description.layers.empty() ? std::vector<ResolvedLayer>{}
                                      : resolve(description.layers, description.input);
}

ParameterSet& NetworkState::parameters() {
  if (!made) {
    std::vector<ParameterSet::Entry> entries;
    collect(layers, entries);
    made = std::make_unique<ParameterSet>(std::move(entries));
    made->initialize(0);
  }
  return *made;
}

}  // namespace bnns::train::impl
