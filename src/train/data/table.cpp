#include "train/data/table.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "train/content_hash.h"
#include "train/data/csv_columns.h"
#include "train/data/csv_file.h"
#include "train/data/csv_value.h"
#include "train/data/fail.h"

namespace bnns::train::impl {
namespace {

constexpr float kMissing = std::numeric_limits<float>::quiet_NaN();

// Where the columns of the description are in the file.
struct TablePlaces {
  static constexpr std::size_t kNone = std::numeric_limits<std::size_t>::max();

  std::vector<std::size_t> inputs;
  std::size_t target = kNone;
};

class Table final : public DataSource {
 public:
  Table(CsvFile file, DataDescription description, TablePlaces places)
      : file_(std::move(file)), description_(std::move(description)), places_(std::move(places)) {
    for (std::size_t i = 0; i < description_.class_names.size(); ++i) {
      classes_.emplace(description_.class_names[i], i);
    }
  }

  const DataDescription& description() const override { return description_; }
  std::size_t size() const override { return file_.size(); }
  void read(std::size_t index, std::span<float> values, std::span<float> targets) override {
    const CsvParser& row = file_.row(index);
    std::size_t next = 0;
    for (std::size_t i = 0; i < description_.columns.size(); ++i) {
      const TableColumn& column = description_.columns[i];
      const std::span<float> part = values.subspan(next, column.count());
      const std::size_t place = places_.inputs[i];
      if (column.categories.empty()) {
        part[0] = number(row, place, index);
      } else {
        select(column.categories, row.field(place), part);
      }
      next += part.size();
    }
    targets[0] = target(row, index);
  }
  void read_targets(std::size_t index, std::span<float> targets) override {
    targets[0] = target(file_.row(index), index);
  }
  std::uint64_t fingerprint() override {
    ContentHash hash;
    file_.add_to(hash);
    return hash.value();
  }

 private:
  static void select(const std::vector<std::string>& categories, std::string_view text,
                     std::span<float> values) {
    std::ranges::fill(values, 0.0f);
    if (csv_value(text).kind == CsvKind::missing) return;
    const auto found = std::ranges::lower_bound(categories, text);
    if (found != categories.end() && *found == text) {
      values[static_cast<std::size_t>(found - categories.begin())] = 1;
    }
  }

  float number(const CsvParser& row, std::size_t place, std::size_t index) const {
    const CsvValue value = csv_value(row.field(place));
    if (value.kind == CsvKind::missing) return kMissing;
    if (value.kind != CsvKind::number) {
      fail_data(fmt::format("{}: line {}, column {}", file_.path(), file_.line_of(index),
                            in_quotes(file_.names()[place])),
                "{} {}", in_quotes(row.field(place)), why_no_number(value.kind));
    }
    return static_cast<float>(value.number);
  }

  float target(const CsvParser& row, std::size_t index) const {
    if (places_.target == TablePlaces::kNone) return kMissing;
    if (description_.task == Task::regression) return number(row, places_.target, index);
    const auto found = classes_.find(class_name_of(row.field(places_.target)));
    return found == classes_.end() ? kMissing : static_cast<float>(found->second);
  }

  CsvFile file_;
  DataDescription description_;
  TablePlaces places_;
  std::unordered_map<std::string, std::size_t> classes_;
};

TablePlaces find_by_name(const CsvFile& file, const DataDescription& description) {
  TablePlaces places;
  for (const TableColumn& column : description.columns) {
    const std::size_t place = file.find(column.name);
    if (place == file.names().size()) {
      fail_data(file.path(), "there is no column {}; the network was trained with it",
                in_quotes(column.name));
    }
    places.inputs.push_back(place);
  }
  const std::size_t target = file.find(description.target_column);
  if (target < file.names().size()) places.target = target;
  return places;
}

}  // namespace

Data open_known_table(const std::string& path, const DataDescription& description,
                      const TableOptions& options) {
  CsvFile file(path, options, &description.columns.at(0).name);
  const std::size_t inputs = description.columns.size();
  TablePlaces places;
  if (!file.has_header() && file.names().size() == inputs) {
    for (std::size_t i = 0; i < inputs; ++i) places.inputs.push_back(i);
  } else {
    places = find_by_name(file, description);
  }
  file.for_each_row([](const CsvParser&) {});
  return Data(std::make_shared<Table>(std::move(file), description, std::move(places)));
}

}  // namespace bnns::train::impl

namespace bnns::train {

Data open_table(const std::string& path, const TableOptions& options) {
  impl::CsvFile file(path, options);
  impl::TablePlaces places{.target = impl::find_target(file, options)};
  DataDescription description = impl::describe_table(file, options, places.target);
  for (const TableColumn& column : description.columns) {
    places.inputs.push_back(file.find(column.name));
  }
  return Data(
      std::make_shared<impl::Table>(std::move(file), std::move(description), std::move(places)));
}

}  // namespace bnns::train
