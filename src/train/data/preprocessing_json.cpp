// Preprocessing as text. Everything is checked on the way back: the text comes from a model file.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <set>
#include <utility>

#include "openbnns/train/preprocessing.hpp"
#include "train/data/fail.h"
#include "train/files/json.h"

namespace bnns::train {
namespace {

using nlohmann::json;

constexpr impl::JsonLimits kLimits = {.bytes = std::size_t{256} << 20, .depth = 6};
constexpr std::size_t kMaxValues = std::size_t{1} << 26;

constexpr std::pair<const char*, Task> kTasks[] = {{"classification", Task::classification},
                                                   {"regression", Task::regression}};
constexpr std::pair<const char*, SampleKind> kKinds[] = {{"numbers", SampleKind::numbers},
                                                         {"image", SampleKind::image},
                                                         {"table", SampleKind::table},
                                                         {"ids", SampleKind::ids}};

template <class Table, class Value>
const char* name_in(const Table& table, Value value) {
  return std::ranges::find(table, value, &std::pair<const char*, Value>::second)->first;
}

json numbers(const std::vector<Standardization>& all, double Standardization::*field) {
  json list = json::array();
  for (const Standardization& s : all) list.push_back(s.*field);
  return list;
}

// Reads the fields of an object; each must be there, and no other.
class Fields {
 public:
  Fields(const json& object, std::string where, std::initializer_list<const char*> names)
      : object_(object), where_(std::move(where)) {
    if (!object.is_object()) fail("it must be an object");
    for (const char* name : names) {
      if (!object.contains(name)) fail(fmt::format("there is no field \"{}\"", name));
    }
    for (const auto& [name, value] : object.items()) {
      if (std::ranges::find(names, std::string_view(name)) == names.end()) {
        fail(fmt::format("there is a field {} that is not known", impl::in_quotes(name)));
      }
    }
  }

  [[noreturn]] void fail(const std::string& text) const {
    throw Error(Error::Kind::model, where_, text);
  }
  [[noreturn]] void fail(const char* field, const std::string& rule) const {
    const std::string value = object_.at(field).dump(-1, ' ', true, json::error_handler_t::replace);
    fail(fmt::format("{} is {}; {}", field, value.size() > 60 ? value.substr(0, 60) + "..." : value,
                     rule));
  }

  const json& list(const char* field) const {
    if (!object_.at(field).is_array()) fail(field, "it must be a list");
    return object_.at(field);
  }
  std::string text(const char* field) const {
    if (!object_.at(field).is_string()) fail(field, "it must be text");
    return object_.at(field).get<std::string>();
  }
  std::vector<std::string> texts(const char* field) const {
    std::vector<std::string> result;
    for (const json& element : list(field)) {
      if (!element.is_string()) fail(field, "it must be a list of texts");
      result.push_back(element.get<std::string>());
    }
    const std::set<std::string_view> different(result.begin(), result.end());
    if (different.size() != result.size()) fail(field, "no text may be in it twice");
    return result;
  }
  std::vector<double> doubles(const char* field, std::size_t count) const {
    std::vector<double> result;
    for (const json& element : list(field)) {
      if (!element.is_number()) fail(field, "it must be a list of numbers");
      result.push_back(element.get<double>());
    }
    if (result.size() != count) fail(field, fmt::format("it must have {} numbers", count));
    return result;
  }
  template <class Table>
  auto choice(const char* field, const Table& table) const {
    const std::string name = text(field);
    for (const auto& [known, value] : table) {
      if (name == known) return value;
    }
    std::string rule = "it must be one of";
    for (const auto& [known, value] : table) rule += std::string(" ") + known;
    fail(field, rule);
  }

 private:
  const json& object_;
  std::string where_;
};

SampleShape read_shape(const Fields& fields) {
  std::size_t sizes[3] = {}, product = 1, i = 0;
  const json& list = fields.list("shape");
  for (const json& size : list) {
    const bool is_good = i < 3 && size.is_number_unsigned() && size.get<std::uint64_t>() > 0 &&
                         size.get<std::uint64_t>() <= kMaxValues / product;
    if (!is_good) break;
    sizes[i] = size.get<std::size_t>();
    product *= sizes[i++];
  }
  if (list.size() != 3 || i != 3) {
    fields.fail("shape",
                fmt::format("it must be width, height and channels, each at least 1, of at "
                            "most {} values",
                            kMaxValues));
  }
  return {.width = sizes[0], .height = sizes[1], .channels = sizes[2]};
}

std::vector<TableColumn> read_columns(const Fields& fields, const std::string& where,
                                      const DataDescription& d) {
  std::vector<TableColumn> columns;
  std::size_t count = 0;
  for (const json& element : fields.list("columns")) {
    const Fields column(element, fmt::format("{}: columns[{}]", where, columns.size()),
                        {"name", "categories"});
    columns.push_back({column.text("name"), column.texts("categories")});
    if (!std::ranges::is_sorted(columns.back().categories)) {
      column.fail("categories", "they must be sorted");
    }
    count += columns.back().count();
  }
  const SampleShape row = {.width = count};
  if (d.kind == SampleKind::table ? d.shape != row : count != 0) {
    fields.fail("columns",
                fmt::format("they have {} values; that does not fit kind and shape", count));
  }
  return columns;
}

std::vector<Standardization> read_standardizations(const Fields& fields, const char* mean_field,
                                                   const char* deviation_field, std::size_t count) {
  const std::vector<double> means = fields.doubles(mean_field, count);
  const std::vector<double> deviations = fields.doubles(deviation_field, count);
  std::vector<Standardization> result;
  for (std::size_t i = 0; i < count; ++i) {
    if (!std::isfinite(means[i])) fields.fail(mean_field, "its numbers must be finite");
    if (!(deviations[i] > 0 && std::isfinite(deviations[i]))) {
      fields.fail(deviation_field, "its numbers must be finite and above 0");
    }
    result.push_back({.mean = means[i], .deviation = deviations[i]});
  }
  return result;
}

}  // namespace

std::string Preprocessing::to_json() const {
  const DataDescription& d = description_;
  json columns = json::array();
  for (const TableColumn& column : d.columns) {
    columns.push_back({{"name", column.name}, {"categories", column.categories}});
  }
  const json object = {{"task", name_in(kTasks, d.task)},
                       {"kind", name_in(kKinds, d.kind)},
                       {"shape", {d.shape.width, d.shape.height, d.shape.channels}},
                       {"class_names", d.class_names},
                       {"target_names", d.target_names},
                       {"columns", columns},
                       {"target_column", d.target_column},
                       {"mean", numbers(values_, &Standardization::mean)},
                       {"deviation", numbers(values_, &Standardization::deviation)},
                       {"target_mean", numbers(targets_, &Standardization::mean)},
                       {"target_deviation", numbers(targets_, &Standardization::deviation)}};
  return object.dump(-1, ' ', false, json::error_handler_t::replace);
}

Preprocessing Preprocessing::from_json(std::string_view text, const std::string& where) {
  const json object = impl::parse_json(text, where, Error::Kind::model, kLimits);
  const Fields fields(object, where,
                      {"task", "kind", "shape", "class_names", "target_names", "columns",
                       "target_column", "mean", "deviation", "target_mean", "target_deviation"});
  Preprocessing result;
  DataDescription& d = result.description_;
  d.task = fields.choice("task", kTasks);
  d.kind = fields.choice("kind", kKinds);
  d.shape = read_shape(fields);
  d.class_names = fields.texts("class_names");
  d.target_names = fields.texts("target_names");
  d.columns = read_columns(fields, where, d);
  d.target_column = fields.text("target_column");
  // One for each channel, one for each value, or none at all.
  const std::size_t count = fields.list("mean").size();
  const bool is_by_channel = d.kind != SampleKind::table && count == d.shape.channels;
  if (count != 0 && !is_by_channel && count != d.shape.count()) {
    fields.fail("mean", "it must have a number for each channel, for each value, or none");
  }
  result.values_ = read_standardizations(fields, "mean", "deviation", count);
  const std::size_t targets = fields.list("target_mean").size();
  if (targets != 0 && (d.task != Task::regression || targets != d.target_names.size())) {
    fields.fail("target_mean", "it must have a number for each target of a regression, or none");
  }
  result.targets_ = read_standardizations(fields, "target_mean", "target_deviation", targets);
  return result;
}

}  // namespace bnns::train
