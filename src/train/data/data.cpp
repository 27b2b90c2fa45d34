#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "openbnns/train/data.hpp"
#include "openbnns/train/error.hpp"
#include "train/content_hash.h"

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
  std::uint64_t fingerprint() override {
    ContentHash hash;
    hash.add(std::as_bytes(std::span(values_)));
    hash.add(std::as_bytes(std::span(targets_)));
    return hash.value();
  }

 private:
  DataDescription description_;
  std::vector<float> values_, targets_;
};

void add(ContentHash& hash, const std::vector<std::string>& texts) {
  hash.add(texts.size());
  for (const std::string& text : texts) hash.add(text);
}

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

std::uint64_t DataSource::fingerprint() {
  ContentHash hash;
  std::vector<float> values(description().shape.count()), targets(description().target_count());
  for (std::size_t index = 0; index < size(); ++index) {
    read(index, values, targets);
    hash.add(std::as_bytes(std::span(values)));
    hash.add(std::as_bytes(std::span(targets)));
  }
  return hash.value();
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
  std::optional<std::uint64_t>& fingerprint = source_->known_fingerprint_;
  if (!fingerprint) fingerprint = source_->fingerprint();
  ContentHash hash;
  const DataDescription& d = description();
  for (const std::size_t number :
       {static_cast<std::size_t>(d.task), static_cast<std::size_t>(d.kind), d.shape.width,
        d.shape.height, d.shape.channels}) {
    hash.add(number);
  }
  add(hash, d.class_names);
  add(hash, d.target_names);
  hash.add(d.target_column);
  for (const TableColumn& column : d.columns) {
    hash.add(column.name);
    add(hash, column.categories);
  }
  hash.add(*fingerprint);
  hash.add(std::as_bytes(std::span(selection_)));
  return hash.value();
}

}  // namespace bnns::train
