#include "metrics.h"

#include <fmt/format.h>

#include "output.h"

namespace program {

using bnns::train::Metrics;
using bnns::train::Task;

std::string metrics_text(const Metrics& metrics, Task task) {
  if (task == Task::classification) {
    return fmt::format("loss {}, accuracy {:.2f} % ({} of {})", figure(metrics.loss),
                       100 * metrics.accuracy, metrics.right, metrics.samples);
  }
  return fmt::format("loss {}, MAE {}, RMSE {}, R2 {} ({} samples)", figure(metrics.loss),
                     figure(metrics.mean_absolute_error), figure(metrics.root_mean_square_error),
                     figure(metrics.r_squared), metrics.samples);
}

std::string class_tables(const Metrics& metrics, const std::vector<std::string>& names) {
  using enum Table::Align;
  Table table({left, right, right, right});
  table.add({"class", "samples", "precision", "recall"});
  for (std::size_t n = 0; n < metrics.classes.size() && n < names.size(); ++n) {
    const auto& one = metrics.classes[n];
    table.add({names[n], std::to_string(one.count), percent(one.precision), percent(one.recall)});
  }
  std::string text = table.text();
  constexpr std::size_t kMostColumns = 12;
  if (metrics.confusion.size() > kMostColumns) return text;
  std::vector<Table::Align> columns(metrics.confusion.size() + 1, right);
  columns[0] = left;
  Table confusion(columns);
  std::vector<std::string> head = {"truth \\ prediction"};
  for (std::size_t n = 0; n < metrics.confusion.size(); ++n) head.push_back(names[n].substr(0, 8));
  confusion.add(head);
  for (std::size_t n = 0; n < metrics.confusion.size(); ++n) {
    std::vector<std::string> row = {names[n]};
    for (const std::size_t count : metrics.confusion[n]) {
      row.push_back(count ? std::to_string(count) : ".");
    }
    confusion.add(row);
  }
  return text + '\n' + confusion.text();
}

void add_metrics(nlohmann::ordered_json& json, const std::string& prefix, const Metrics& metrics,
                 Task task) {
  json[prefix + "samples"] = metrics.samples;
  json[prefix + "loss"] = metrics.loss;
  if (task == Task::classification) {
    json[prefix + "accuracy"] = metrics.accuracy;
  } else {
    json[prefix + "mae"] = metrics.mean_absolute_error;
    json[prefix + "rmse"] = metrics.root_mean_square_error;
    json[prefix + "r2"] = metrics.r_squared;
  }
}

void add_classes(nlohmann::ordered_json& json, const Metrics& metrics,
                 const std::vector<std::string>& names) {
  json["classes"] = nlohmann::ordered_json::array();
  for (std::size_t n = 0; n < metrics.classes.size() && n < names.size(); ++n) {
    const auto& one = metrics.classes[n];
    json["classes"].push_back({{"name", names[n]},
                               {"samples", one.count},
                               {"precision", one.precision},
                               {"recall", one.recall}});
  }
  json["confusion"] = metrics.confusion;
}

}  // namespace program
