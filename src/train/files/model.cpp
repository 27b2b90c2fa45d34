#include "train/files/model.h"

#include <fmt/format.h>

#include <algorithm>

#include "openbnns/openbnns.h"
#include "openbnns/train/error.hpp"
#include "train/files/json.h"
#include "train/files/safetensors.h"
#include "train/files/text.h"
#include "train/network/state.h"

namespace bnns::train {
namespace impl {
namespace {

constexpr const char* kFormat = "openbnns model 1";
constexpr std::string_view kNote = "note ";

[[noreturn]] void fail(const std::string& where, const std::string& text) {
  throw Error(Error::Kind::model, where, text);
}

std::string shape_text(std::span<const std::size_t> shape) {
  return fmt::format("[{}]", fmt::join(shape, ", "));
}

// PyTorch's order of dimensions.
std::vector<std::size_t> file_shape(const ParameterRule& rule) {
  std::vector<std::size_t> shape = rule.dimensions;
  if (rule.swapped_in_files) std::swap(shape[0], shape[1]);
  return shape;
}

// Of values [a, b, rest] the values [b, a, rest].
std::vector<float> swapped(std::span<const float> values, std::size_t a, std::size_t b) {
  std::vector<float> result(values.size());
  const std::size_t rest = values.size() / (a * b);
  for (std::size_t i = 0; i < a; ++i) {
    for (std::size_t j = 0; j < b; ++j) {
      std::copy_n(values.data() + (i * b + j) * rest, rest, result.data() + (j * a + i) * rest);
    }
  }
  return result;
}

// A name may be any bytes; a file holds UTF-8.
std::string json_of(const std::vector<std::string>& names) {
  nlohmann::json list = nlohmann::json::array();
  for (const std::string& name : names) list.push_back(make_utf8(name));
  return list.dump();
}

const std::string& text_of(const TensorFile& content, const std::string& key,
                           const std::string& where) {
  const auto found = content.metadata.find(key);
  if (found == content.metadata.end()) {
    fail(where, fmt::format("its header has no text \"{}\"; it is no model of this program", key));
  }
  return found->second;
}

std::vector<std::string> names_of(const TensorFile& content, const std::string& key,
                                  const std::string& where) {
  const std::string place = where + ": " + key;
  const nlohmann::json json = parse_json(text_of(content, key, where), place, Error::Kind::model);
  std::vector<std::string> names;
  if (!json.is_array()) fail(place, "is not a list of names");
  for (const auto& name : json) {
    if (!name.is_string()) fail(place, "is not a list of names");
    names.push_back(name.get<std::string>());
  }
  return names;
}

void read_info(const TensorFile& content, const std::string& where, Network& network) {
  ModelInfo& info = network.info();
  const std::string& task = text_of(content, "task", where);
  if (task != "classification" && task != "regression") {
    fail(where, fmt::format("task is \"{}\"; it must be \"classification\" or \"regression\"",
                            task.substr(0, 40)));
  }
  info.task = task == "classification" ? Task::classification : Task::regression;
  info.class_names = names_of(content, "class_names", where);
  info.target_names = names_of(content, "target_names", where);
  const std::size_t names =
      info.task == Task::classification ? info.class_names.size() : info.target_names.size();
  if (names != network.output_count()) {
    fail(where,
         fmt::format("it names {} outputs; its network has {}", names, network.output_count()));
  }
  try {
    network.set_preprocessing(Preprocessing::from_json(text_of(content, "preprocessing", where),
                                                       where + ": preprocessing"));
  } catch (const Error& error) {
    throw Error(Error::Kind::model, error.what());
  }
  const SampleShape& shape = network.preprocessing().description().shape;
  const bool learnt = !(network.preprocessing() == Preprocessing());
  if (learnt && !(shape == network.input_shape())) {
    fail(where, "its preprocessing is for samples of another shape than its network takes");
  }
  const std::string& seed = text_of(content, "seed", where);
  const auto digits = std::ranges::all_of(seed, [](char c) { return c >= '0' && c <= '9'; });
  if (seed.empty() || !digits || seed.size() > 19) fail(where, "seed is not a number");
  info.seed = std::stoull(seed);
  for (const auto& [key, value] : content.metadata) {
    if (key.starts_with(kNote)) info.notes[key.substr(kNote.size())] = value;
  }
}

void read_parameters(const TensorFile& content, const std::string& where, ParameterSet& set) {
  for (const auto& entry : set.entries()) {
    const NamedTensor* tensor = content.find(entry.name);
    if (!tensor) fail(where, fmt::format("there is no tensor \"{}\"", entry.name));
    const std::vector<std::size_t> shape = file_shape(entry.rule);
    if (tensor->shape != shape) {
      fail(where, fmt::format("tensor \"{}\" has the shape {}; the network needs {}", entry.name,
                              shape_text(tensor->shape), shape_text(shape)));
    }
    std::vector<float> values = tensor->floats();
    if (entry.rule.swapped_in_files) values = swapped(values, shape[0], shape[1]);
    std::ranges::copy(values, set.values(entry).begin());
  }
}

}  // namespace

TensorFile model_content(Network& network) {
  const ModelInfo& info = network.info();
  TensorFile content;
  content.metadata = {
      {"format", kFormat},
      {"network", network.to_json()},
      {"task", info.task == Task::classification ? "classification" : "regression"},
      {"class_names", json_of(info.class_names)},
      {"target_names", json_of(info.target_names)},
      {"preprocessing", network.preprocessing().to_json()},
      {"seed", std::to_string(info.seed)},
  };
  for (const auto& [key, value] : info.notes) {
    content.metadata[std::string(kNote) + key] = make_utf8(value);
  }
  const ParameterSet& set = network.state().parameters();
  for (const auto& entry : set.entries()) {
    const auto& d = entry.rule.dimensions;
    const std::span<const float> values = set.values(entry);
    content.tensors.push_back(
        entry.rule.swapped_in_files
            ? NamedTensor::of(entry.name, file_shape(entry.rule), swapped(values, d[0], d[1]))
            : NamedTensor::of(entry.name, d, values));
  }
  return content;
}

Network network_of(const TensorFile& content, const std::string& where, const std::string& other) {
  if (const std::string& format = text_of(content, "format", where); format != kFormat) {
    fail(where,
         fmt::format("format is \"{}\"; this version reads \"{}\"", format.substr(0, 40), kFormat));
  }
  Network network = [&] {
    try {
      return Network::from_json(text_of(content, "network", where), where + ": network");
    } catch (const Error& error) {
      throw Error(Error::Kind::model, error.what());
    }
  }();
  // What the network needs must be in the file before it is allocated.
  std::size_t parameters = 0, stored = 0;
  for (const NamedTensor& tensor : content.tensors) {
    if (other.empty() || !tensor.name.starts_with(other)) stored += tensor.count();
  }
  for (const LayerSummary& layer : network.layers()) parameters += layer.parameters;
  if (parameters != stored) {
    fail(where, fmt::format("it holds {} parameters; its network has {}", stored, parameters));
  }
  read_info(content, where, network);
  read_parameters(content, where, network.state().parameters());
  return network;
}

}  // namespace impl

void Network::save(const std::string& file) {
  impl::write_safetensors(file, impl::model_content(*this));
}

Network Network::load(const std::string& file) {
  return impl::network_of(impl::read_safetensors(file), file, "run.");
}

}  // namespace bnns::train
