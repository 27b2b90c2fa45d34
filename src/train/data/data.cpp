#include <algorithm>
#include <cmath>
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
    std::copy_n(targets_.begin() + static_cast<std::ptrdiff_t>(index * targets.size()),
                targets.size(), targets.begin());
  }

 private:
  DataDescription description_;
  std::vector<float> values_, targets_;
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

Data Data::subset(std::span<const std::size_t> indices) const {
  std::vector<std::size_t> selection;
  selection.reserve(indices.size());
  for (const std::size_t index : indices) selection.push_back(selection_.at(index));
  return Data(source_, std::move(selection));
}

}  // namespace bnns::train
