#include "options.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "choice.h"

namespace program {
namespace {

using namespace bnns::train;

constexpr std::uintmax_t kMaxNetworkFile = 16 << 20;

std::string read_text(const std::string& file) {
  std::error_code error;
  const std::uintmax_t size = std::filesystem::file_size(file, error);
  if (error) throw Error(Error::Kind::file, file, error.message());
  if (size > kMaxNetworkFile) {
    throw Error(
        Error::Kind::network, file,
        fmt::format("it has {} bytes; a description has at most {}", size, kMaxNetworkFile));
  }
  std::ifstream stream(file, std::ios::binary);
  std::string text((std::istreambuf_iterator<char>(stream)), std::istreambuf_iterator<char>());
  if (!stream) throw Error(Error::Kind::file, file, "it cannot be read");
  return text;
}

}  // namespace

DataOptions DataArguments::resolved() const {
  DataOptions result = options;
  if (!image_size.empty()) {
    const char *first = image_size.data(), *last = first + image_size.size();
    const auto width = std::from_chars(first, last, result.image.width);
    const bool has_x = width.ec == std::errc() && width.ptr < last && *width.ptr == 'x';
    const auto height = has_x ? std::from_chars(width.ptr + 1, last, result.image.height) : width;
    if (!has_x || height.ec != std::errc() || height.ptr != last || result.image.width == 0 ||
        result.image.height == 0) {
      throw Error(Error::Kind::usage, "--image-size",
                  fmt::format("is \"{}\"; it must be WIDTHxHEIGHT, such as 32x32", image_size));
    }
  }
  if (delimiter == "tab" || delimiter == "\\t") {
    result.table.delimiter = '\t';
  } else if (delimiter.size() == 1) {
    result.table.delimiter = delimiter[0];
  } else if (!delimiter.empty()) {
    throw Error(Error::Kind::usage, "--delimiter",
                fmt::format("is \"{}\"; it must be one character or \"tab\"", delimiter));
  }
  return result;
}

void add_data_options(CLI::App& app, DataArguments& data) {
  const std::string group = "Data";
  DataOptions& options = data.options;
  app.add_option("--data", data.text,
                 "synthetic-digits[:COUNT], a folder, IMAGES,LABELS or FILE.csv")
      ->required()
      ->type_name("TEXT")
      ->group(group);
  app.add_option("--validation", options.validation_fraction, "part kept for validation")
      ->type_name("FRACTION")
      ->check(CLI::Range(0.0, 1.0).description(""))
      ->capture_default_str()
      ->group(group);
  app.add_option("--test", options.test_fraction, "part kept for the test, where no files are")
      ->type_name("FRACTION")
      ->check(CLI::Range(0.0, 1.0).description(""))
      ->capture_default_str()
      ->group(group);
  app.add_option("--image-size", data.image_size, "size of all images; default: the first one's")
      ->type_name("WxH")
      ->group(group);
  app.add_option("--channels", options.image.channels, "1: grey, 3: colour; default: the first's")
      ->type_name("1|3")
      ->check(CLI::IsMember({1, 3}).description(""))
      ->group(group);
  app.add_option("--target", options.table.target, "column to predict; default: the last one")
      ->type_name("COLUMN")
      ->group(group);
  app.add_option_function<std::string>(
         "--task",
         [&options](const std::string& text) {
           if (text != "classification" && text != "regression") {
             throw CLI::ValidationError(
                 "--task", "is \"" + text + "\"; it must be classification|regression");
           }
           options.table.task = text == "regression" ? Task::regression : Task::classification;
         },
         "what to predict; default: by the column")
      ->type_name("classification|regression")
      ->group(group);
  add_header_option(app, options.table.header)->group(group);
  app.add_option("--delimiter", data.delimiter, "of a table; default: found in its first line")
      ->type_name("CHARACTER")
      ->group(group);
  app.add_option("--ignore", options.table.ignored_columns, "columns to leave out")
      ->type_name("COLUMN")
      ->group(group);
  app.add_option("--category", options.table.category_columns, "columns whose numbers are names")
      ->type_name("COLUMN")
      ->group(group);
}

CLI::Option* add_header_option(CLI::App& app, TableHeader& header) {
  return add_choice<TableHeader>(
      app, "--header", header,
      {{"detect", TableHeader::detect}, {"yes", TableHeader::present}, {"no", TableHeader::absent}},
      "the first line of a table holds names");
}

void add_training_options(CLI::App& app, TrainingOptions& training) {
  const std::string group = "Training";
  OptimizerOptions& optimizer = training.optimizer;
  Schedule& schedule = training.schedule;
  const auto number = [&](const std::string& name, auto& value, const std::string& help,
                          const char* type = "NUMBER") {
    return app.add_option(name, value, help)->type_name(type)->capture_default_str()->group(group);
  };
  number("--epochs", training.epochs, "passes over the training data")
      ->check(CLI::Range(1, 1000000).description(""));
  number("--batch", training.batch_size, "samples per step")
      ->check(CLI::Range(1, 1000000).description(""));
  number("--seed", training.seed, "of weights, order, split; same seed, same result");
  add_threads_option(app, training.threads);
  number("--shards", training.shards, "parts of a batch, summed in a fixed order");
  add_choice<OptimizerOptions::Kind>(app, "--optimizer", optimizer.kind,
                                     {{"adam", OptimizerOptions::Kind::adam},
                                      {"adamw", OptimizerOptions::Kind::adamw},
                                      {"rmsprop", OptimizerOptions::Kind::rmsprop},
                                      {"sgd", OptimizerOptions::Kind::sgd}},
                                     "how a step is made")
      ->group(group);
  number("--learning-rate", optimizer.learning_rate, "size of a step");
  number("--momentum", optimizer.momentum, "of sgd and rmsprop");
  app.add_flag("--nesterov", optimizer.nesterov, "Nesterov's momentum, for sgd")->group(group);
  number("--weight-decay", optimizer.weight_decay, "pulls weights to 0");
  number("--clip-norm", optimizer.clip_norm, "largest norm of the whole gradient; 0: any");
  number("--clip-value", optimizer.clip_value, "largest element of the gradient; 0: any");
  add_choice<Schedule::Kind>(app, "--schedule", schedule.kind,
                             {{"constant", Schedule::Kind::constant},
                              {"step", Schedule::Kind::step},
                              {"cosine", Schedule::Kind::cosine}},
                             "of the learning rate")
      ->group(group);
  number("--warm-up", schedule.warm_up_steps, "steps over which it rises from 0", "STEPS");
  number("--step-epochs", schedule.step_epochs, "step: every so many epochs ...", "EPOCHS");
  number("--step-factor", schedule.step_factor, "... it is multiplied by this", "FACTOR");
  number("--least", schedule.least, "cosine: where its factor ends", "FACTOR");
  add_choice<Loss>(app, "--loss", training.loss,
                   {{"automatic", Loss::automatic},
                    {"softmax", Loss::softmax_cross_entropy},
                    {"sigmoid", Loss::sigmoid_cross_entropy},
                    {"categorical", Loss::categorical_cross_entropy},
                    {"mse", Loss::mean_square_error},
                    {"mae", Loss::mean_absolute_error},
                    {"huber", Loss::huber},
                    {"hinge", Loss::hinge},
                    {"log", Loss::log},
                    {"cosine", Loss::cosine_distance}},
                   "what is made small; automatic: softmax or mse")
      ->group(group);
  number("--huber-delta", training.huber_delta, "where the loss huber turns linear");
  number("--label-smoothing", training.label_smoothing, "share given to all classes", "SHARE");
  app.add_flag("--class-weights", training.class_weights, "rare classes count as much as others")
      ->group(group);
  number("--augment-shift", training.augmentation.max_shift, "move images at random", "PIXELS");
  app.add_flag("--augment-flip", training.augmentation.flip, "mirror half of the images")
      ->group(group);
  number("--patience", training.patience, "stop after so many epochs without progress; 0: never",
         "EPOCHS");
  app.add_flag_callback(
         "--keep-last", [&training] { training.keep_best = false; },
         "keep the last epoch's weights, not the best's")
      ->group(group);
}

void add_threads_option(CLI::App& app, std::size_t& threads) {
  app.add_option("--threads", threads, "0: all cores; results do not depend on it")
      ->type_name("NUMBER")
      ->check(CLI::Range(0, 256).description(""))
      ->capture_default_str()
      ->group("Training");
}

Network open_network(const std::string& name, const SampleShape& input, std::size_t outputs,
                     OutputKind output) {
  const auto& names = Network::names();
  if (std::ranges::find(names, name) != names.end()) {
    return Network::named(name, input, outputs, output);
  }
  std::error_code ignored;
  if (!std::filesystem::exists(name, ignored)) {
    throw Error(Error::Kind::network,
                fmt::format("\"{}\" is neither the name of a network ({}) nor a file", name,
                            fmt::join(names, ", ")));
  }
  return Network::from_json(read_text(name), name);
}

std::string default_network(const DataDescription& data) {
  const SampleShape& shape = data.shape;
  if (data.kind == SampleKind::table || shape.height == 1) return "mlp";
  return shape.channels == 1 && shape.width <= 32 && shape.height <= 32 ? "digits" : "resnet-mini";
}

OutputKind output_kind(Task task) {
  return task == Task::classification ? OutputKind::softmax : OutputKind::values;
}

std::string shape_text(const SampleShape& shape) {
  if (shape.height == 1 && shape.channels == 1) return fmt::format("{}", shape.width);
  return fmt::format("{} x {} x {}", shape.width, shape.height, shape.channels);
}

}  // namespace program
