#include "openbnns/train/preprocessing.hpp"

#include <algorithm>
#include <cmath>

#include "train/data/fail.h"
#include "train/data/image.h"
#include "train/data/table.h"

namespace bnns::train {
namespace {

constexpr std::size_t kEnoughValues = std::size_t{1} << 24;
constexpr std::size_t kLeastSamples = 1024;

// Mean and sum of squared deviations of what was added so far; missing values do not count. Parts
// are added with their own moments, which keeps what is always the same at deviation 0 exactly.
class Moments {
 public:
  void add(std::span<const float> values) {
    double count = 0, sum = 0, squares = 0;
    for (const float v : values) {
      if (std::isnan(v)) continue;
      ++count;
      sum += v;
    }
    if (count == 0) return;
    const double mean = sum / count;
    for (const float v : values) {
      if (!std::isnan(v)) squares += (v - mean) * (v - mean);
    }
    const double difference = mean - mean_, total = count_ + count;
    mean_ += difference * count / total;
    squares_ += squares + difference * difference * count_ * count / total;
    count_ = total;
  }

  Standardization result() const {
    const double deviation = count_ > 0 ? std::sqrt(squares_ / count_) : 0;
    return {.mean = mean_, .deviation = deviation > 0 && std::isfinite(deviation) ? deviation : 1};
  }

 private:
  double count_ = 0, mean_ = 0, squares_ = 0;
};

// Images, and numbers with more than one row or channel, are standardised by channel.
bool is_by_channel(const DataDescription& d) {
  return d.kind == SampleKind::image ||
         (d.kind == SampleKind::numbers && (d.shape.height > 1 || d.shape.channels > 1));
}

void reset_categories(const DataDescription& d, std::vector<Standardization>& values) {
  std::size_t next = 0;
  for (const TableColumn& column : d.columns) {
    if (!column.categories.empty()) {
      std::fill_n(values.begin() + static_cast<std::ptrdiff_t>(next), column.count(),
                  Standardization{});
    }
    next += column.count();
  }
}

std::vector<Standardization> results(const std::vector<Moments>& moments) {
  std::vector<Standardization> all;
  all.reserve(moments.size());
  for (const Moments& m : moments) all.push_back(m.result());
  return all;
}

float standardized(float value, const Standardization& s) {
  return std::isnan(value) ? 0.0f : static_cast<float>((value - s.mean) / s.deviation);
}

}  // namespace

Preprocessing Preprocessing::learn(const Data& training) {
  const DataDescription& d = training.description();
  Preprocessing result;
  result.description_ = d;
  if (d.kind == SampleKind::ids && d.task == Task::classification) return result;
  const std::size_t groups = is_by_channel(d) ? d.shape.channels : d.shape.count();
  const std::size_t group_size = d.shape.count() / groups;
  std::vector<Moments> of_values(groups), of_targets(d.target_names.size());
  std::vector<float> values(d.shape.count()), targets(d.target_count());
  const std::size_t samples =
      std::min(training.size(), std::max(kLeastSamples, kEnoughValues / values.size()));
  for (std::size_t i = 0; i < samples; ++i) {
    training.read(i * training.size() / samples, values, targets);
    for (std::size_t g = 0; g < groups; ++g) {
      of_values[g].add(std::span(values).subspan(g * group_size, group_size));
    }
    for (std::size_t t = 0; t < of_targets.size(); ++t) of_targets[t].add({&targets[t], 1});
  }
  result.values_ = results(of_values);
  reset_categories(d, result.values_);
  if (d.kind == SampleKind::ids) result.values_.clear();
  if (d.task == Task::regression) result.targets_ = results(of_targets);
  return result;
}

void Preprocessing::apply(std::span<float> values) const {
  if (values_.empty()) return;
  const std::size_t group_size = description_.shape.count() / values_.size();
  if (values.size() != description_.shape.count()) {
    impl::fail(Error::Kind::usage, "Preprocessing::apply", "there are {} values; samples have {}",
               values.size(), description_.shape.count());
  }
  for (std::size_t g = 0; g < values_.size(); ++g) {
    const Standardization s = values_[g];
    for (float& v : values.subspan(g * group_size, group_size)) v = standardized(v, s);
  }
}

void Preprocessing::apply_to_targets(std::span<float> targets) const {
  for (std::size_t t = 0; t < std::min(targets.size(), targets_.size()); ++t) {
    const Standardization& s = targets_[t];
    targets[t] = static_cast<float>((targets[t] - s.mean) / s.deviation);
  }
}

void Preprocessing::restore_targets(std::span<float> targets) const {
  for (std::size_t t = 0; t < std::min(targets.size(), targets_.size()); ++t) {
    const Standardization& s = targets_[t];
    targets[t] = static_cast<float>(targets[t] * s.deviation + s.mean);
  }
}

std::vector<float> read_image(const std::string& file, const Preprocessing& preprocessing) {
  const DataDescription& d = preprocessing.description();
  if (d.kind != SampleKind::image || (d.shape.channels != 1 && d.shape.channels != 3)) {
    impl::fail(Error::Kind::usage, file,
               "the network was not trained on pictures with 1 or 3 channels");
  }
  std::vector<float> values(d.shape.count());
  impl::read_image_values(file, d.shape, true, values);
  return values;
}

Data read_table(const std::string& file, const Preprocessing& preprocessing,
                const TableOptions& options) {
  if (preprocessing.description().kind != SampleKind::table) {
    impl::fail(Error::Kind::usage, file, "the network was not trained on tables");
  }
  return impl::open_known_table(file, preprocessing.description(), options);
}

}  // namespace bnns::train
