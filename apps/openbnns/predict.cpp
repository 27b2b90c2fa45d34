// openbnns predict: what a model says about pictures and tables.
#include "predict.h"

#include <fmt/format.h>
#include <openbnns/train.hpp>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <numeric>

#include "commands.h"
#include "options.h"
#include "output.h"

namespace program {
namespace {

using namespace bnns::train;

enum class Form { text, csv, json };

struct PredictArguments {
  std::string model;
  std::vector<std::string> files;
  std::size_t top = 3, threads = 0;
  bool csv = false, json = false;
  TableOptions table;

  Form form() const { return json ? Form::json : csv ? Form::csv : Form::text; }
};

bool is_table(const Network& network) {
  return network.preprocessing().description().kind == SampleKind::table;
}

Data samples_of(const std::string& file, const Network& network, const TableOptions& options) {
  const Preprocessing& preprocessing = network.preprocessing();
  if (is_table(network)) return read_table(file, preprocessing, options);
  const DataDescription& description = preprocessing.description();
  return Data::arrays(description, read_image(file, preprocessing),
                      std::vector<float>(description.target_count(), 0));
}

// RFC 4180.
std::string csv_cell(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + '"';
}

class Printer {
 public:
  Printer(const Network& network, const PredictArguments& arguments)
      : info_(network.info()), form_(arguments.form()), rows_(is_table(network)) {
    classes_ = info_.task == Task::classification;
    top_ = classes_ ? std::min(arguments.top, info_.class_names.size()) : 0;
  }

  void head() const {
    if (form_ != Form::csv) return;
    std::string line = rows_ ? "file,row" : "file";
    for (std::size_t n = 1; n <= top_; ++n) {
      const std::string number = n == 1 ? "" : fmt::format("_{}", n);
      line += fmt::format(",prediction{0},probability{0}", number);
    }
    if (!classes_) {
      for (const std::string& name : info_.target_names) line += ',' + csv_cell(name);
    }
    print(line + '\n');
  }

  // `row` counts from 1.
  void sample(const std::string& file, std::size_t row, std::span<const float> outputs) const {
    std::vector<Ranked> best;
    if (classes_) best = best_classes(outputs, top_);
    switch (form_) {
      case Form::text:
        text(file, row, outputs, best);
        break;
      case Form::csv:
        csv(file, row, outputs, best);
        break;
      case Form::json:
        json(file, row, outputs, best);
        break;
    }
  }

 private:
  void text(const std::string& file, std::size_t row, std::span<const float> outputs,
            const std::vector<Ranked>& best) const {
    std::string line = rows_ ? fmt::format("{}, row {}: ", file, row) : file + ": ";
    for (std::size_t n = 0; n < best.size(); ++n) {
      line += fmt::format("{}{} {}", n ? ", " : "", info_.class_names[best[n].index],
                          percent(best[n].probability));
    }
    if (!classes_) {
      for (std::size_t n = 0; n < outputs.size(); ++n) {
        line += fmt::format("{}{} {:.6g}", n ? ", " : "", info_.target_names[n], outputs[n]);
      }
    }
    print(line + '\n');
  }

  void csv(const std::string& file, std::size_t row, std::span<const float> outputs,
           const std::vector<Ranked>& best) const {
    std::string line = csv_cell(file);
    if (rows_) line += fmt::format(",{}", row);
    for (const Ranked& one : best) {
      line += fmt::format(",{},{}", csv_cell(info_.class_names[one.index]), one.probability);
    }
    if (!classes_) {
      for (const float value : outputs) line += fmt::format(",{}", value);
    }
    print(line + '\n');
  }

  void json(const std::string& file, std::size_t row, std::span<const float> outputs,
            const std::vector<Ranked>& best) const {
    nlohmann::ordered_json line = {{"file", file}};
    if (rows_) line["row"] = row;
    if (classes_) {
      line["predictions"] = nlohmann::ordered_json::array();
      for (const Ranked& one : best) {
        line["predictions"].push_back(
            {{"name", info_.class_names[one.index]}, {"probability", one.probability}});
      }
    } else {
      for (std::size_t n = 0; n < outputs.size(); ++n) {
        line["values"][info_.target_names[n]] = outputs[n];
      }
    }
    print(json_line(line));
  }

  const ModelInfo& info_;
  Form form_;
  bool rows_, classes_ = true;
  std::size_t top_ = 0;
};

// Rows of a table are predicted so many at a time.
constexpr std::size_t kBlock = 4096;

// A file that cannot be read does not keep the others from being predicted; the first error decides
// the exit status.
int run_predict(const PredictArguments& arguments) {
  Network network = Network::load(arguments.model);
  const Printer printer(network, arguments);
  printer.head();
  int status = kDone;
  for (const std::string& file : arguments.files) {
    try {
      const Data data = samples_of(file, network, arguments.table);
      for (std::size_t start = 0; start < data.size(); start += kBlock) {
        std::vector<std::size_t> rows(std::min(kBlock, data.size() - start));
        std::iota(rows.begin(), rows.end(), start);
        const std::vector<float> outputs = predict(network, data.subset(rows), arguments.threads);
        const std::size_t count = network.output_count();
        for (std::size_t n = 0; n < rows.size(); ++n) {
          printer.sample(file, start + n + 1, std::span(outputs).subspan(n * count, count));
        }
      }
    } catch (const Error& error) {
      print_error(error.what());
      if (status == kDone) status = status_of(error.kind());
    }
  }
  return status;
}

constexpr const char* kExamples = R"(Examples:
  openbnns predict openbnns-model.safetensors photo.png scan.jpg
  openbnns predict houses.safetensors new-houses.csv --csv > prices.csv
  openbnns predict flowers.safetensors new.csv --json --top 1
)";

}  // namespace

std::vector<Ranked> best_classes(std::span<const float> probabilities, std::size_t count) {
  std::vector<Ranked> all;
  for (std::size_t n = 0; n < probabilities.size(); ++n) all.push_back({n, probabilities[n]});
  std::ranges::stable_sort(all, std::greater(), &Ranked::probability);
  all.resize(std::min(count, all.size()));
  return all;
}

void add_predict(CLI::App& program, Command& chosen) {
  const auto arguments = std::make_shared<PredictArguments>();
  CLI::App& app = *program.add_subcommand("predict", "Applies a model to pictures or tables");
  app.footer(kExamples);
  app.add_option("model", arguments->model, "a model or a checkpoint")
      ->required()
      ->type_name("MODEL");
  app.add_option("files", arguments->files, "pictures (PNG, PGM, PPM, JPEG) or CSV tables")
      ->required()
      ->type_name("FILES");
  app.add_option("--top", arguments->top, "classes to tell of each sample, the likeliest first")
      ->type_name("NUMBER")
      ->check(CLI::Range(1, 1000000).description(""))
      ->capture_default_str();
  auto* csv = app.add_flag("--csv", arguments->csv, "a table with a line of names");
  app.add_flag("--json", arguments->json, "one line of JSON per sample")->excludes(csv);
  add_header_option(app, arguments->table.header);
  add_threads_option(app, arguments->threads);
  app.callback([&chosen, arguments] { chosen = [arguments] { return run_predict(*arguments); }; });
}

}  // namespace program
