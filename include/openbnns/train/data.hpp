// Samples for training: where they come from, how they are split, how they are read.
#ifndef OPENBNNS_TRAIN_DATA_HPP
#define OPENBNNS_TRAIN_DATA_HPP

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "api.hpp"

namespace bnns::train {

enum class Task { classification, regression };

// What the values of a sample are, and so what Preprocessing does with them.
enum class SampleKind {
  numbers,  // any numbers, all of one kind
  image,    // pixels in [0, 1]
  table,    // a row of a table; a missing number is NaN
  ids,      // whole numbers that name something, for an embedding; they are left as they are
};

// The form of one sample. A row of a table with n numbers is {n, 1, 1}.
struct SampleShape {
  std::size_t width = 1;
  std::size_t height = 1;
  std::size_t channels = 1;

  std::size_t count() const noexcept { return width * height * channels; }
  friend bool operator==(const SampleShape&, const SampleShape&) = default;
};

// A column of a table that is part of the input. A column of text has categories; each of them is
// one value of the sample, 1 where the row has that text and 0 elsewhere.
struct TableColumn {
  std::string name;
  std::vector<std::string> categories;  // sorted; empty: the column is one number

  std::size_t count() const noexcept { return categories.empty() ? 1 : categories.size(); }
  friend bool operator==(const TableColumn&, const TableColumn&) = default;
};

// What is known of a set of samples before any of them is read.
struct DataDescription {
  Task task = Task::classification;
  SampleShape shape;
  std::vector<std::string> class_names;   // classification: one per class
  std::vector<std::string> target_names;  // regression: one per predicted number
  SampleKind kind = SampleKind::numbers;
  std::vector<TableColumn> columns;  // tables: in the order of the values
  std::string target_column;         // tables: the name of the column of the truth

  friend bool operator==(const DataDescription&, const DataDescription&) = default;
  // Numbers that a network predicts for a sample.
  std::size_t output_count() const noexcept {
    return task == Task::classification ? class_names.size() : target_names.size();
  }
  // Numbers that are stored as the truth of a sample: one class index, or the predicted numbers.
  std::size_t target_count() const noexcept {
    return task == Task::classification ? 1 : target_names.size();
  }
};

// Samples that are read by their index, in any order, by one thread at a time. Whoever has another
// kind of data derives from it.
class OPENBNNS_TRAIN_API DataSource {
 public:
  virtual ~DataSource() = default;
  virtual const DataDescription& description() const = 0;
  virtual std::size_t size() const = 0;
  // Writes description().shape.count() values, channel by channel and row by row, and
  // description().target_count() targets. Throws Error.
  virtual void read(std::size_t index, std::span<float> values, std::span<float> targets) = 0;
  // The targets alone. A source overrides it where they cost less than the whole sample.
  virtual void read_targets(std::size_t index, std::span<float> targets);
  // A hash of the content beyond the description, for Data::checksum(): here of all samples as they
  // are read. A source overrides it where something that costs less tells it from others.
  virtual std::uint64_t fingerprint();

 private:
  friend class Data;
  std::optional<std::uint64_t> known_fingerprint_;
};

// A selection of the samples of a source; copies share the source.
class OPENBNNS_TRAIN_API Data {
 public:
  Data() = default;
  explicit Data(std::shared_ptr<DataSource> source);
  Data(std::shared_ptr<DataSource> source, std::vector<std::size_t> selection);

  // Arrays in memory: samples one after the other. Targets are class indices, or
  // description.target_names.size() numbers per sample.
  static Data arrays(DataDescription description, std::vector<float> values,
                     std::vector<float> targets);

  bool empty() const noexcept { return selection_.empty(); }
  std::size_t size() const noexcept { return selection_.size(); }
  const DataDescription& description() const;
  void read(std::size_t index, std::span<float> values, std::span<float> targets) const;
  void read_targets(std::size_t index, std::span<float> targets) const;
  // The samples of these indices, in this order.
  Data subset(std::span<const std::size_t> indices) const;
  // Classification: the class of a sample; an Error if its target is none.
  std::size_t class_of(std::size_t index) const;
  // Classification: the number of samples of each class.
  std::vector<std::size_t> class_counts() const;
  // Tells other data from that of an earlier run or of another rank: a hash of the description, the
  // content of the source and the selection. The source is looked at once; docs/data.md says what
  // is compared of each kind. 0 without samples.
  std::uint64_t checksum() const;

 private:
  std::shared_ptr<DataSource> source_;
  std::vector<std::size_t> selection_;
};

}  // namespace bnns::train

#endif
