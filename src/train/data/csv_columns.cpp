#include "train/data/csv_columns.h"

#include <algorithm>
#include <set>

#include "train/data/csv_value.h"
#include "train/data/fail.h"

namespace bnns::train::impl {
namespace {

constexpr std::size_t kMaxInputs = 1'000'000;
constexpr std::size_t kMaxClasses = 10'000;
// A target of whole numbers is a class if there are at most so many different ones, and at least
// twice as many rows.
constexpr std::size_t kMaxNumberedClasses = 20;
// A column of numbers in which fewer than one value in ten is text is a mistake, no category.
constexpr std::size_t kFewTexts = 10;

struct Column {
  bool is_used = true;
  bool is_target = false;
  bool is_text = false;
  std::size_t values = 0, texts = 0;  // values: those that are not missing
  CsvKind first_kind = CsvKind::text;
  std::string first_text;
  std::uint64_t first_line = 0;
  bool is_whole = true;
  std::set<double> whole_numbers;  // of the target, up to one more than may be classes
  std::set<std::string> categories;
};

class Columns {
 public:
  Columns(CsvFile& file, const TableOptions& options, std::size_t target)
      : file_(file), options_(options), target_(target), columns_(file.names().size()) {
    columns_[target].is_target = true;
    for (const std::string& name : options.ignored_columns) {
      const std::size_t i = require_column(name, "ignored_columns");
      if (i == target) {
        fail(Error::Kind::usage, "ignored_columns", "{} is the target", in_quotes(name));
      }
      columns_[i].is_used = false;
    }
    for (const std::string& name : options.category_columns) {
      columns_[require_column(name, "category_columns")].is_text = true;
    }
  }

  DataDescription describe() {
    file_.for_each_row([&](const CsvParser& row) { look_at(row); });
    for (std::size_t i = 0; i < columns_.size(); ++i) decide(i);
    const Task task = decide_task();
    if (std::ranges::any_of(columns_, [](const Column& c) { return c.is_used && c.is_text; })) {
      file_.for_each_row([&](const CsvParser& row) { collect(row); });
    }
    DataDescription description{
        .task = task, .kind = SampleKind::table, .target_column = file_.names()[target_]};
    std::size_t inputs = 0;
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      const Column& column = columns_[i];
      if (!column.is_used || column.is_target) continue;
      description.columns.push_back(
          {.name = file_.names()[i],
           .categories = {column.categories.begin(), column.categories.end()}});
      inputs += description.columns.back().count();
    }
    if (inputs == 0 || inputs > kMaxInputs) {
      fail_data(file_.path(),
                "the columns beside the target {} make {} input values; "
                "there must be between 1 and {}",
                in_quotes(file_.names()[target_]), inputs, kMaxInputs);
    }
    description.shape = {.width = inputs};
    if (task == Task::classification) {
      description.class_names = class_names();
    } else {
      description.target_names = {file_.names()[target_]};
    }
    return description;
  }

 private:
  std::size_t require_column(const std::string& name, const char* option) const {
    const std::size_t i = file_.find(name);
    if (i == columns_.size()) {
      fail(Error::Kind::usage, option, "{} has no column {}", file_.path(), in_quotes(name));
    }
    return i;
  }

  std::string place(std::uint64_t line, std::size_t column) const {
    return fmt::format("{}: line {}, column {}", file_.path(), line,
                       in_quotes(file_.names()[column]));
  }

  void look_at(const CsvParser& row) {
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      Column& column = columns_[i];
      if (!column.is_used) continue;
      const CsvValue value = csv_value(row.field(i));
      if (value.kind == CsvKind::missing) {
        if (!column.is_target) continue;
        fail_data(place(row.line(), i), "the target is {}; every row must have one",
                  row.field(i).empty() ? "missing" : in_quotes(row.field(i)));
      }
      ++column.values;
      if (value.kind != CsvKind::number) {
        if (column.texts++ == 0) {
          column.first_kind = value.kind;
          column.first_text = row.field(i);
          column.first_line = row.line();
        }
      } else if (column.is_target) {
        column.is_whole = column.is_whole && is_whole(value.number);
        if (column.is_whole && column.whole_numbers.size() <= kMaxClasses) {
          column.whole_numbers.insert(value.number);
        }
      }
    }
  }

  // Whether a column is text.
  void decide(std::size_t i) {
    Column& column = columns_[i];
    if (!column.is_used || column.is_text || column.texts == 0) return;
    // Infinities and decimal commas are meant as numbers, however few others there are.
    const bool is_meant_as_number = column.first_kind != CsvKind::text;
    if (is_meant_as_number || column.texts * kFewTexts < column.values) {
      fail_data(place(column.first_line, i), "{} {}{}", in_quotes(column.first_text),
                why_no_number(column.first_kind),
                is_meant_as_number ? ""
                                   : fmt::format("; {} of the {} values of the column are",
                                                 column.values - column.texts, column.values));
    }
    column.is_text = true;
  }

  Task decide_task() {
    Column& target = columns_[target_];
    const std::size_t distinct = target.whole_numbers.size();
    const bool is_whole = target.is_whole && target.texts == 0;
    if (options_.task == Task::regression && target.texts == 0 && target.is_text) {
      fail(Error::Kind::usage, "category_columns", "{} is the target; regression needs numbers",
           in_quotes(file_.names()[target_]));
    }
    if (options_.task == Task::regression && target.is_text) {
      fail_data(place(target.first_line, target_), "{} {}; regression needs numbers",
                in_quotes(target.first_text), why_no_number(target.first_kind));
    }
    if (options_.task == Task::classification && !target.is_text && !is_whole) {
      fail_data(file_.path(),
                "the target column {} has numbers with fractions; classes must be whole numbers "
                "or text",
                in_quotes(file_.names()[target_]));
    }
    const bool few = is_whole && distinct <= kMaxNumberedClasses && 2 * distinct <= target.values;
    const Task task =
        options_.task.value_or(target.is_text || few ? Task::classification : Task::regression);
    if (task == Task::classification) target.is_text = true;
    return task;
  }

  void collect(const CsvParser& row) {
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      Column& column = columns_[i];
      if (!column.is_used || !column.is_text) continue;
      const std::string_view text = row.field(i);
      if (csv_value(text).kind == CsvKind::missing) continue;
      require_utf8(file_.path(), row.line(), text);
      column.categories.insert(column.is_target ? class_name_of(text) : std::string(text));
      const std::size_t most = column.is_target ? kMaxClasses : options_.max_categories;
      if (column.categories.size() > most) {
        fail_data(place(row.line(), i), "{} is text number {} of the column; at most {} {}",
                  in_quotes(text), column.categories.size(), most,
                  column.is_target ? "classes" : "categories (see ignored_columns)");
      }
    }
  }

  // Numbers by their value, text by its bytes.
  std::vector<std::string> class_names() const {
    const std::set<std::string>& found = columns_[target_].categories;
    std::vector<std::string> names(found.begin(), found.end());
    const auto is_number = [](const std::string& name) {
      return csv_value(name).kind == CsvKind::number;
    };
    if (std::ranges::all_of(names, is_number)) {
      std::ranges::stable_sort(names, {}, [](const auto& name) { return csv_value(name).number; });
    }
    return names;
  }

  CsvFile& file_;
  const TableOptions& options_;
  std::size_t target_;
  std::vector<Column> columns_;
};

}  // namespace

std::size_t find_target(const CsvFile& file, const TableOptions& options) {
  if (options.target.empty()) return file.names().size() - 1;
  const std::size_t target = file.find(options.target);
  if (target < file.names().size()) return target;
  fail(Error::Kind::usage, "target", "{} has no column {}; it has {}{}", file.path(),
       in_quotes(options.target),
       fmt::join(file.names().begin(),
                 file.names().begin() +
                     static_cast<std::ptrdiff_t>(std::min<std::size_t>(file.names().size(), 20)),
                 ", "),
       file.names().size() > 20 ? ", ..." : "");
}

DataDescription describe_table(CsvFile& file, const TableOptions& options,
                               std::size_t target_column) {
  return Columns(file, options, target_column).describe();
}

}  // namespace bnns::train::impl
