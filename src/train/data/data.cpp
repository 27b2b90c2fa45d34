#include <algorithm>
#include <bit>
#include <cmath>
#include <initializer_list>
#include <numeric>
#include <utility>

#include "openbnns/train/data.hpp"
#include "openbnns/train/error.hpp"

namespace bnns::train {
namespace {

class ArraySource final : public DataSource {
 public:
  ArraySource(DataDescription description, std::vector<float> values, std::vector<float> targets)
      : description_(std::move(description)),
        values_(std::move(values)),
        targets_(std::move(targets)) {}

  const DataDescription& description() const override { return description_; }
  std::size_t size() const override { return targets_.size() / description_.target_count(); }
  void read(std::size_t index, std::span<float> values, std::span<float> targets) override {
    std::copy_n(values_.begin() + static_cast<std::ptrdiff_t>(index * values.size()), values.size(),
                values.begin());
    read_targets(index, targets);
  }
  void read_targets(std::size_t index, std::span<float> targets) override {
    std::copy_n(targets_.begin() + static_cast<std::ptrdiff_t>(index * targets.size()),
                targets.size(), targets.begin());
  }

 private:
  DataDescription description_;
  std::vector<float> values_, targets_;
};

// A sum that depends on the order of what is added (FNV-1a, over numbers instead of bytes).
class Checksum {
 public:
  void add(std::uint64_t number) {
    state_ = (state_ ^ number) * 0x100000001B3;
    state_ ^= state_ >> 32;
  }
  void add(std::initializer_list<std::uint64_t> numbers) {
    for (const std::uint64_t number : numbers) add(number);
  }
  void add(const std::string& text) {
    add(text.size());
    for (const char c : text) add(static_cast<unsigned char>(c));
  }
  void add(const std::vector<std::string>& texts) {
    add(texts.size());
    for (const std::string& text : texts) add(text);
  }
  std::uint64_t value() const { return state_; }

 private:
  std::uint64_t state_ = 0xCBF29CE484222325;
};

std::vector<std::size_t> all_of(const DataSource& source) {
  std::vector<std::size_t> selection(source.size());
  std::iota(selection.begin(), selection.end(), std::size_t{0});
  return selection;
}

void require(bool condition, const std::string& text) {
  if (!condition) throw Error(Error::Kind::data, "Data::arrays", text);
}

}  // namespace

void DataSource::read_targets(std::size_t index, std::span<float> targets) {
  std::vector<float> values(description().shape.count());
  read(index, values, targets);
}

Data::Data(std::shared_ptr<DataSource> source) : Data(source, all_of(*source)) {}

Data::Data(std::shared_ptr<DataSource> source, std::vector<std::size_t> selection)
    : source_(std::move(source)), selection_(std::move(selection)) {}

Data Data::arrays(DataDescription description, std::vector<float> values,
                  std::vector<float> targets) {
  const std::size_t outputs = description.output_count(), per_sample = description.target_count();
  require(outputs > 0, "there are no class names and no target names");
  require(targets.size() % per_sample == 0, "there are " + std::to_string(targets.size()) +
                                                " targets; " + std::to_string(per_sample) +
                                                " belong to each sample");
  const std::size_t samples = targets.size() / per_sample, count = description.shape.count();
  require(count > 0 && values.size() / count == samples && values.size() % count == 0,
          "there are " + std::to_string(values.size()) + " values; " + std::to_string(samples) +
              " samples of " + std::to_string(count) + " need another number");
  for (std::size_t i = 0; i < values.size(); ++i) {
    const bool missing = description.kind == SampleKind::table && std::isnan(values[i]);
    require(std::isfinite(values[i]) || missing,
            "value " + std::to_string(i % count) + " of sample " + std::to_string(i / count) +
                " is " + std::to_string(values[i]) + "; it must be finite");
  }
  for (std::size_t i = 0; i < targets.size(); ++i) {
    require(std::isfinite(targets[i]), "target " + std::to_string(i) + " is " +
                                           std::to_string(targets[i]) + "; it must be finite");
  }
  if (description.task == Task::classification) {
    for (std::size_t n = 0; n < samples; ++n) {
      require(targets[n] >= 0 && targets[n] < static_cast<float>(outputs) &&
                  targets[n] == std::floor(targets[n]),
              "target " + std::to_string(n) + " is " + std::to_string(targets[n]) +
                  "; it must be the index of one of " + std::to_string(outputs) + " classes");
    }
  }
  return Data(
      std::make_shared<ArraySource>(std::move(description), std::move(values), std::move(targets)));
}

const DataDescription& Data::description() const {
  if (!source_) throw Error(Error::Kind::data, "Data", "it is empty and has no description");
  return source_->description();
}

void Data::read(std::size_t index, std::span<float> values, std::span<float> targets) const {
  source_->read(selection_.at(index), values, targets);
}

void Data::read_targets(std::size_t index, std::span<float> targets) const {
  source_->read_targets(selection_.at(index), targets);
}

Data Data::subset(std::span<const std::size_t> indices) const {
  std::vector<std::size_t> selection;
  selection.reserve(indices.size());
  for (const std::size_t index : indices) selection.push_back(selection_.at(index));
  return Data(source_, std::move(selection));
}

std::size_t Data::class_of(std::size_t index) const {
  const DataDescription& d = description();
  if (d.task != Task::classification) {
    throw Error(Error::Kind::usage, "Data::class_of", "the data is for regression");
  }
  float target = 0;
  read_targets(index, {&target, 1});
  if (!(target >= 0 && target < static_cast<float>(d.class_names.size()))) {
    throw Error(Error::Kind::data, "Data::class_of",
                "the target of sample " + std::to_string(index) + " is " + std::to_string(target) +
                    "; it must be the index of one of " + std::to_string(d.class_names.size()) +
                    " classes");
  }
  return static_cast<std::size_t>(target);
}

std::vector<std::size_t> Data::class_counts() const {
  std::vector<std::size_t> counts(description().class_names.size());
  for (std::size_t n = 0; n < size(); ++n) ++counts[class_of(n)];
  return counts;
}

std::uint64_t Data::checksum() const {
  if (empty()) return 0;
  constexpr std::size_t kSamples = 64;
  Checksum sum;
  const DataDescription& d = description();
  sum.add({static_cast<std::uint64_t>(d.task), static_cast<std::uint64_t>(d.kind), d.shape.width,
           d.shape.height, d.shape.channels, size()});
  sum.add(d.class_names);
  sum.add(d.target_names);
  sum.add(d.target_column);
  for (const TableColumn& column : d.columns) {
    sum.add(column.name);
    sum.add(column.categories);
  }
  std::vector<float> values(d.shape.count()), targets(d.target_count());
  const std::size_t samples = std::min(size(), kSamples);
  for (std::size_t i = 0; i < samples; ++i) {
    read(i * size() / samples, values, targets);
    for (const float value : values) sum.add(std::bit_cast<std::uint32_t>(value));
    for (const float target : targets) sum.add(std::bit_cast<std::uint32_t>(target));
  }
  return sum.value();
}

}  // namespace bnns::train
