// openbnns info: what is in a model, a checkpoint or the description of a network.
#include <fmt/format.h>
#include <openbnns/train.hpp>

#include <array>
#include <cstdint>
#include <fstream>
#include <memory>

#include "commands.h"
#include "options.h"
#include "output.h"

namespace program {
namespace {

using namespace bnns::train;

// Model files begin with eight bytes, the length of their header; its upper ones are 0.
bool is_json(const std::string& file) {
  std::ifstream stream(file, std::ios::binary);
  std::array<char, 8> head = {};
  stream.read(head.data(), head.size());
  const auto count = static_cast<std::size_t>(stream.gcount());
  for (std::size_t n = 0; n < count; ++n) {
    if (head[n] == '\0') return false;
  }
  for (std::size_t n = 0; n < count; ++n) {
    if (head[n] == '{') return true;
    if (head[n] != ' ' && head[n] != '\n' && head[n] != '\r' && head[n] != '\t') return false;
  }
  return false;
}

// Of a checkpoint that has been read already, and so is a right one: how far the run was.
nlohmann::json run_of(const std::string& file) {
  std::ifstream stream(file, std::ios::binary);
  std::uint64_t length = 0;
  for (int n = 0; n < 8; ++n) {
    length |= static_cast<std::uint64_t>(static_cast<unsigned char>(stream.get())) << (8 * n);
  }
  if (!stream || length > (std::uint64_t{100} << 20)) return nullptr;
  std::string header(static_cast<std::size_t>(length), ' ');
  stream.read(header.data(), static_cast<std::streamsize>(length));
  const auto json = nlohmann::json::parse(header, nullptr, false);
  if (!json.is_object() || !json.contains("__metadata__")) return nullptr;
  const auto& metadata = json["__metadata__"];
  if (!metadata.is_object() || !metadata.contains("run") || !metadata["run"].is_string()) {
    return nullptr;
  }
  const auto run = nlohmann::json::parse(metadata["run"].get<std::string>(), nullptr, false);
  return run.is_object() ? run : nlohmann::json(nullptr);
}

nlohmann::ordered_json layers_json(const Network& network) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const LayerSummary& layer : network.layers()) {
    list.push_back({{"path", layer.path},
                    {"kind", layer.kind},
                    {"output", {layer.output.width, layer.output.height, layer.output.channels}},
                    {"parameters", layer.parameters},
                    {"bytes", layer.bytes},
                    {"multiply_adds", layer.multiply_adds},
                    {"frozen", layer.frozen}});
  }
  return list;
}

struct InfoArguments {
  std::string file;
  bool json = false;
};

int info(const InfoArguments& arguments) {
  const bool description = is_json(arguments.file);
  const Network network = description ? open_network(arguments.file, {}, 0, OutputKind::softmax)
                                      : Network::load(arguments.file);
  const nlohmann::json run = description ? nlohmann::json(nullptr) : run_of(arguments.file);
  const char* kind = description ? "network" : run.is_object() ? "checkpoint" : "model";
  const ModelInfo& about = network.info();
  const bool classes = about.task == Task::classification;
  const auto& names = classes ? about.class_names : about.target_names;
  if (arguments.json) {
    nlohmann::ordered_json json = {{"file", arguments.file}, {"kind", kind}};
    if (!description) {
      json["task"] = classes ? "classification" : "regression";
      json[classes ? "class_names" : "target_names"] = names;
      json["seed"] = about.seed;
      json["notes"] = about.notes;
    }
    if (run.is_object()) json["run"] = run;
    json["parameters"] = network.parameter_count();
    json["layers"] = layers_json(network);
    json["network"] = nlohmann::ordered_json::parse(network.to_json());
    print(json_line(json));
    return kDone;
  }
  std::string text = fmt::format("{}: {}\n", arguments.file, kind);
  if (!description) {
    text += fmt::format("{:<20} {}\n", classes ? "classes" : "predicts", fmt::join(names, ", "));
    text += fmt::format("{:<20} {}\n", "seed", about.seed);
    for (const auto& [key, value] : about.notes) text += fmt::format("{:<20} {}\n", key, value);
  }
  if (run.is_object()) {
    text += fmt::format("{:<20} {} epochs, {} steps of the next one\n", "done so far",
                        run.value("epoch", 0), run.value("step", 0));
  }
  print(text + '\n' + network.summary());
  return kDone;
}

constexpr const char* kExamples = R"(Examples:
  openbnns info openbnns-model.safetensors
  openbnns info network.json
  openbnns info openbnns-model.checkpoint --json
)";

}  // namespace

void add_info(CLI::App& program, Command& chosen) {
  const auto arguments = std::make_shared<InfoArguments>();
  CLI::App& app = *program.add_subcommand("info", "Tells what is in a model or a network file");
  app.footer(kExamples);
  app.add_option("file", arguments->file, "a model, a checkpoint or the JSON file of a network")
      ->required()
      ->type_name("FILE");
  app.add_flag("--json", arguments->json, "one line of JSON");
  app.callback([&chosen, arguments] { chosen = [arguments] { return info(*arguments); }; });
}

}  // namespace program
