// openbnns eval: how good a model is on data.
#include <fmt/format.h>
#include <openbnns/train.hpp>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <memory>
#include <system_error>

#include "choice.h"
#include "commands.h"
#include "metrics.h"
#include "options.h"
#include "output.h"

namespace program {
namespace {

using namespace bnns::train;

enum class Part { automatic, training, validation, test, all };

struct EvalArguments {
  std::string model;
  DataArguments data;
  Part part = Part::automatic;
  TrainingOptions training;
  bool seed_given = false, validation_given = false, test_given = false;
  bool json = false;
};

double fraction_of(const Network& network, const char* note, double otherwise) {
  const auto found = network.info().notes.find(note);
  if (found == network.info().notes.end()) return otherwise;
  double value = otherwise;
  const std::string& text = found->second;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value >= 0 && value <= 1 ? value : otherwise;
}

// The names of the classes decide what the outputs mean.
void require_same_outputs(const Network& network, const DataDescription& data,
                          const std::string& text) {
  const ModelInfo& info = network.info();
  if (info.task != data.task) {
    throw Error(Error::Kind::data, text,
                info.task == Task::classification
                    ? "it holds numbers to predict; the model predicts classes (see --task)"
                    : "it holds classes; the model predicts numbers (see --task)");
  }
  const auto& wanted = info.task == Task::classification ? info.class_names : info.target_names;
  const auto& found = info.task == Task::classification ? data.class_names : data.target_names;
  if (wanted != found) {
    throw Error(Error::Kind::data, text,
                fmt::format("its outputs are {}; those of the model are {}", fmt::join(found, ", "),
                            fmt::join(wanted, ", ")));
  }
}

// A table other than that of the training data: columns, categories and classes are the model's.
Data open_other_table(const EvalArguments& arguments, const Network& network) {
  const Data data =
      read_table(arguments.data.text, network.preprocessing(), arguments.data.resolved().table);
  std::vector<float> targets(data.description().target_count());
  for (std::size_t row = 0; row < data.size(); ++row) {
    data.read_targets(row, targets);
    if (std::ranges::none_of(targets, [](float target) { return std::isnan(target); })) continue;
    const std::string& column = network.preprocessing().description().target_column;
    throw Error(
        Error::Kind::data, arguments.data.text,
        fmt::format("row {} has no value in column \"{}\" that the model can be measured "
                    "with; it must be {}",
                    row + 1, column,
                    network.info().task == Task::classification
                        ? fmt::format("one of {}", fmt::join(network.info().class_names, ", "))
                        : "a number"));
  }
  return data;
}

// The data the model was trained on is split as it was then, and its test part taken; of other
// data all.
Data open_part(const EvalArguments& arguments, const Network& network, std::string& name) {
  const ModelInfo& info = network.info();
  DataOptions options = arguments.data.resolved();
  options.seed = arguments.seed_given ? arguments.training.seed : info.seed;
  if (!arguments.validation_given) {
    options.validation_fraction =
        fraction_of(network, "validation fraction", options.validation_fraction);
  }
  if (!arguments.test_given) {
    options.test_fraction = fraction_of(network, "test fraction", options.test_fraction);
  }
  Part part = arguments.part;
  if (part == Part::automatic) {
    const auto trained_on = info.notes.find("data");
    const bool same = trained_on != info.notes.end() && trained_on->second == arguments.data.text;
    part = same ? Part::test : Part::all;
  }
  std::error_code ignored;
  if (part == Part::all && std::filesystem::is_regular_file(arguments.data.text, ignored) &&
      network.preprocessing().description().kind == SampleKind::table) {
    name = "all rows";
    return open_other_table(arguments, network);
  }
  if (part == Part::all) options.validation_fraction = options.test_fraction = 0;
  const DataSplit split = open_data(arguments.data.text, options);
  switch (part) {
    case Part::training:
      name = "training part";
      return split.training;
    case Part::validation:
      name = "validation part";
      return split.validation;
    case Part::test:
      name = "test part";
      return split.test;
    default:
      break;
  }
  name = split.test.empty() ? "all samples" : "test files";
  return split.test.empty() ? split.training : split.test;
}

int eval(const EvalArguments& arguments) {
  Network network = Network::load(arguments.model);
  std::string part;
  const Data data = open_part(arguments, network, part);
  if (data.empty()) {
    throw Error(Error::Kind::data, arguments.data.text, fmt::format("its {} is empty", part));
  }
  require_same_outputs(network, data.description(), arguments.data.text);
  const Metrics metrics = evaluate(network, data, arguments.training);
  const Task task = network.info().task;
  if (arguments.json) {
    nlohmann::ordered_json json = {
        {"model", arguments.model}, {"data", arguments.data.text}, {"part", part}};
    add_metrics(json, "", metrics, task);
    if (task == Task::classification) add_classes(json, metrics, network.info().class_names);
    print(json_line(json));
    return kDone;
  }
  print(fmt::format("{} on {}, {}\n{}\n", arguments.model, arguments.data.text, part,
                    metrics_text(metrics, task)));
  if (task == Task::classification) {
    print('\n' + class_tables(metrics, network.info().class_names));
  }
  return kDone;
}

constexpr const char* kExamples = R"(Examples:
  openbnns eval openbnns-model.safetensors --data synthetic-digits
  openbnns eval flowers.safetensors --data other-flowers.csv --json

Data that the model was trained on is split as it was then, and the test part is
measured; of other data all samples are. --part chooses.
)";

}  // namespace

void add_eval(CLI::App& program, Command& chosen) {
  const auto arguments = std::make_shared<EvalArguments>();
  CLI::App& app = *program.add_subcommand("eval", "Measures a model on data");
  app.footer(kExamples);
  app.add_option("model", arguments->model, "a model or a checkpoint")
      ->required()
      ->type_name("MODEL");
  add_data_options(app, arguments->data);
  add_choice<Part>(app, "--part", arguments->part,
                   {{"auto", Part::automatic},
                    {"training", Part::training},
                    {"validation", Part::validation},
                    {"test", Part::test},
                    {"all", Part::all}},
                   "which samples are measured")
      ->group("Data");
  app.add_option("--seed", arguments->training.seed, "of the split; default: the model's")
      ->type_name("NUMBER")
      ->group("Data");
  add_threads_option(app, arguments->training.threads);
  app.add_flag("--json", arguments->json, "one line of JSON");
  app.callback([&chosen, &app, arguments] {
    arguments->seed_given = app.count("--seed") > 0;
    arguments->validation_given = app.count("--validation") > 0;
    arguments->test_given = app.count("--test") > 0;
    chosen = [arguments] { return eval(*arguments); };
  });
}

}  // namespace program
