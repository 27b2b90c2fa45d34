// A description as JSON, and back. Every field is checked; an unknown one is refused.
#include <fmt/format.h>

#include <cmath>

#include "openbnns/train/error.hpp"
#include "openbnns/train/network.hpp"
#include "train/files/json.h"

namespace bnns::train {
namespace {

using Json = nlohmann::json;
// Fields are written in the order they are given.
using Written = nlohmann::ordered_json;

[[noreturn]] void fail(const std::string& where, const std::string& text) {
  throw Error(Error::Kind::network, where, text);
}

Written json_of(double number) {
  if (number == std::floor(number) && std::abs(number) < 1e15) {
    return static_cast<std::int64_t>(number);
  }
  return number;
}

Written json_of(const FieldValue& value) {
  if (const auto* number = std::get_if<double>(&value)) return json_of(*number);
  if (const auto* flag = std::get_if<bool>(&value)) return *flag;
  if (const auto* text = std::get_if<std::string>(&value)) return *text;
  Written list = Written::array();
  for (const double number : std::get<FieldPair>(value)) list.push_back(json_of(number));
  return list;
}

Written json_of(const std::vector<LayerDescription>& layers) {
  Written list = Written::array();
  for (const LayerDescription& layer : layers) {
    Written json = {{"layer", layer.kind}};
    if (!layer.name.empty()) json["name"] = layer.name;
    for (const auto& [name, value] : layer.fields) json[name] = json_of(value);
    if (!layer.inside.empty()) json["inside"] = json_of(layer.inside);
    if (layer.frozen) json["frozen"] = true;
    list.push_back(std::move(json));
  }
  return list;
}

FieldValue field_of(const Json& json, const std::string& where) {
  if (json.is_boolean()) return json.get<bool>();
  if (json.is_number()) return json.get<double>();
  if (json.is_string()) return json.get<std::string>();
  if (json.is_array() && json.size() == 2 && json[0].is_number() && json[1].is_number()) {
    return FieldPair{json[0].get<double>(), json[1].get<double>()};
  }
  fail(where, fmt::format("is {}; a field is a number, a pair of numbers, true, false or a text",
                          json.dump().substr(0, 60)));
}

std::string text_of(const Json& json, const std::string& where) {
  if (!json.is_string())
    fail(where, fmt::format("is {}; it must be a text", json.dump().substr(0, 60)));
  return json.get<std::string>();
}

std::vector<LayerDescription> layers_of(const Json& json, const std::string& where, int depth) {
  if (!json.is_array()) fail(where, "is not a list of layers");
  if (depth > 16) fail(where, "blocks are nested too deep");
  std::vector<LayerDescription> layers;
  for (std::size_t k = 0; k < json.size(); ++k) {
    const std::string place = fmt::format("{}[{}]", where, k);
    if (!json[k].is_object()) fail(place, "is not an object {\"layer\": ...}");
    LayerDescription layer;
    for (const auto& [name, value] : json[k].items()) {
      const std::string field = place + "." + name;
      if (name == "layer") {
        layer.kind = text_of(value, field);
      } else if (name == "name") {
        layer.name = text_of(value, field);
      } else if (name == "inside") {
        layer.inside = layers_of(value, field, depth + 1);
      } else if (name == "frozen") {
        if (!value.is_boolean()) fail(field, "must be true or false");
        layer.frozen = value.get<bool>();
      } else {
        layer.fields[name] = field_of(value, field);
      }
    }
    if (layer.kind.empty()) fail(place, "the field \"layer\" must be given: the kind of layer");
    layers.push_back(std::move(layer));
  }
  return layers;
}

// [width, height, channels], [width, height] or [columns].
SampleShape input_of(const Json& json, const std::string& where) {
  const std::string rule = "must be [columns], [width, height] or [width, height, channels]";
  if (!json.is_array() || json.empty() || json.size() > 3) fail(where, rule);
  std::size_t sizes[3] = {1, 1, 1};
  for (std::size_t k = 0; k < json.size(); ++k) {
    if (!json[k].is_number_unsigned()) fail(where, rule);
    sizes[k] = json[k].get<std::size_t>();
  }
  return {sizes[0], sizes[1], sizes[2]};
}

}  // namespace

std::string Network::to_json() const {
  const NetworkDescription& d = description();
  Written input = Written::array({d.input.width});
  if (d.input.height != 1 || d.input.channels != 1) {
    input.push_back(d.input.height);
    input.push_back(d.input.channels);
  }
  const Written json = {{"input", std::move(input)},
                        {"layers", json_of(d.layers)},
                        {"output", d.output == OutputKind::softmax ? "softmax" : "values"}};
  return json.dump(2);
}

Network Network::from_json(std::string_view text, const std::string& where) {
  const Json json = impl::parse_json(text, where, Error::Kind::network);
  if (!json.is_object()) fail(where, "is not a JSON object");
  NetworkDescription description;
  bool has_input = false, has_layers = false;
  for (const auto& [name, value] : json.items()) {
    const std::string field = where + ": " + name;
    if (name == "input") {
      description.input = input_of(value, field);
      has_input = true;
    } else if (name == "layers") {
      description.layers = layers_of(value, field, 0);
      has_layers = true;
    } else if (name == "output") {
      const std::string output = text_of(value, field);
      if (output != "softmax" && output != "values") {
        fail(field, fmt::format("is \"{}\"; it must be \"softmax\" or \"values\"", output));
      }
      description.output = output == "softmax" ? OutputKind::softmax : OutputKind::values;
    } else {
      fail(field, "there is no such field; there are input, layers and output");
    }
  }
  if (!has_input || !has_layers) {
    fail(where, fmt::format("the field \"{}\" must be given", has_input ? "layers" : "input"));
  }
  if (description.layers.empty()) fail(where, "it has no layers");
  try {
    return from_description(description);
  } catch (const Error& error) {
    throw Error(error.kind(), where, error.what());
  }
}

}  // namespace bnns::train
