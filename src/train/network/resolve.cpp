// Described layers become resolved ones: kinds found, fields checked, shapes followed through.
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <set>

#include "openbnns/train/error.hpp"
#include "train/layers/kind.h"

namespace bnns::train::impl {
namespace {

constexpr std::size_t kMostLayers = 10000;
constexpr std::size_t kDeepest = 8;
// Values of one sample behind a layer, and of one parameter: 16 GB of floats.
constexpr std::size_t kMostValues = std::size_t{1} << 32;

std::string where_of(const std::string& path, const LayerDescription& layer) {
  return fmt::format("layer {} ({})", path, layer.kind.empty() ? "no kind" : layer.kind);
}

[[noreturn]] void fail(const std::string& where, const std::string& text) {
  throw Error(Error::Kind::network, where, text);
}

void require_name(const std::string& name, const std::string& where) {
  const auto allowed = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  };
  if (!std::ranges::all_of(name, allowed) || name.size() > 64) {
    fail(where, "its name is \"" + name.substr(0, 80) +
                    "\"; a name has up to 64 letters, digits and underscores");
  }
}

// Sizes so large that products overflow are found one dimension at a time.
void require_moderate(std::initializer_list<std::size_t> sizes, const Fields& fields,
                      const char* what) {
  std::size_t count = 1;
  for (const std::size_t size : sizes) {
    if (size == 0 || count > kMostValues / size) {
      fields.fail(fmt::format("{} has the sizes {}; it must have from 1 to {} values", what,
                              fmt::join(sizes, " x "), kMostValues));
    }
    count *= size;
  }
}

std::vector<ResolvedLayer> resolve_list(const std::vector<LayerDescription>& layers,
                                        SampleShape shape, const std::string& prefix,
                                        std::size_t depth, std::size_t& total) {
  std::vector<ResolvedLayer> resolved;
  std::set<std::string> paths;
  for (std::size_t k = 0; k < layers.size(); ++k) {
    const LayerDescription& layer = layers[k];
    const std::string own = layer.name.empty() ? std::to_string(k) : layer.name;
    const std::string path = prefix + own, where = where_of(path, layer);
    require_name(layer.name, where);
    if (!paths.insert(path).second) fail(where, "another layer has the same name");
    if (++total > kMostLayers)
      fail(where, fmt::format("a network has up to {} layers", kMostLayers));

    const LayerKind* kind = find_layer_kind(layer.kind);
    if (!kind) {
      fail(where, fmt::format("there is no such kind of layer; there are: {}",
                              fmt::join(layer_kind_names(), ", ")));
    }
    const Fields fields(layer, kind->fields, where);
    if (kind->has_inside == layer.inside.empty()) {
      fields.fail(kind->has_inside ? "\"inside\" has no layers; it must have at least one"
                                   : "it has no layers inside");
    }
    std::vector<ResolvedLayer> inside;
    if (kind->has_inside) {
      if (depth == kDeepest) fields.fail(fmt::format("blocks nest up to {} deep", kDeepest));
      inside = resolve_list(layer.inside, shape, path + ".", depth + 1, total);
    }
    const SampleShape output =
        kind->has_inside ? inside.back().output : kind->output(fields, shape);
    require_moderate({output.width, output.height, output.channels}, fields, "its output");
    std::vector<ParameterRule> parameters;
    if (kind->parameters) parameters = kind->parameters(fields, shape, output);
    for (const ParameterRule& rule : parameters) {
      std::size_t count = 1;
      for (const std::size_t d : rule.dimensions) {
        require_moderate({count, d}, fields, rule.name.c_str());
        count *= d;
      }
    }
    resolved.push_back({.kind = kind,
                        .fields = fields,
                        .path = path,
                        .input = shape,
                        .output = output,
                        .parameters = std::move(parameters),
                        .inside = std::move(inside),
                        .frozen = layer.frozen});
    shape = output;
  }
  return resolved;
}

}  // namespace

std::vector<ResolvedLayer> resolve(const std::vector<LayerDescription>& layers,
                                   const SampleShape& input, const std::string& path) {
  const std::size_t sizes[] = {input.width, input.height, input.channels};
  for (const std::size_t size : sizes) {
    if (size < 1 || size > static_cast<std::size_t>(kLargest)) {
      fail("input", fmt::format("its sizes are {}; each must be from 1 to {}",
                                fmt::join(sizes, " x "), static_cast<std::size_t>(kLargest)));
    }
  }

  std::size_t total = 0;
  return resolve_list(layers, input, path, 0, total);
}

}  // namespace bnns::train::impl
