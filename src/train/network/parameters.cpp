#include "train/network/parameters.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "openbnns/train/error.hpp"
#include "train/counter_random.h"

namespace bnns::train::impl {
namespace {

constexpr std::size_t kAlignment = 16;  // floats: a cache line

// Lays the entries out in their array and returns its length, at least 1.
std::size_t lay_out(std::vector<ParameterSet::Entry>& entries, bool state) {
  std::size_t end = 0;
  for (auto& entry : entries) {
    if (entry.rule.is_state != state) continue;
    entry.offset = end;
    end += (entry.count + kAlignment - 1) / kAlignment * kAlignment;
  }
  return std::max<std::size_t>(end, 1);
}

Tensor copy_of(const Tensor& tensor) {
  return Tensor::from(tensor.values(), tensor.shape());
}

}  // namespace

ParameterSet::ParameterSet(std::vector<Entry> entries)
    : entries_(std::move(entries)),
      weights_(Shape::vector(lay_out(entries_, false))),
      state_(Shape::vector(lay_out(entries_, true))) {}

ParameterSet::ParameterSet(const ParameterSet& other)
    : entries_(other.entries_), weights_(copy_of(other.weights_)), state_(copy_of(other.state_)) {}

void ParameterSet::initialize(std::uint64_t seed) {
  for (std::size_t k = 0; k < entries_.size(); ++k) {
    const Entry& entry = entries_[k];
    const ParameterRule& rule = entry.rule;
    const std::span<float> target = values(entry);
    if (rule.initial != ParameterRule::Initial::weights) {
      std::ranges::fill(target, rule.initial == ParameterRule::Initial::ones ? 1.0f : 0.0f);
      continue;
    }
    const double fans = entry.before_rectifier ? static_cast<double>(rule.fan_in)
                                               : static_cast<double>(rule.fan_in + rule.fan_out);
    const auto bound = static_cast<float>(std::sqrt(6 / fans));
    const CounterRandom random({seed, k});
    for (std::size_t i = 0; i < target.size(); ++i) {
      target[i] = (2 * random.uniform(i) - 1) * bound;
    }
  }
}

const ParameterSet::Entry& ParameterSet::entry(std::string_view name) const {
  const auto found = std::ranges::find(entries_, name, &Entry::name);
  if (found == entries_.end()) {
    throw Error(Error::Kind::network, "there is no parameter \"" + std::string(name) + '"');
  }
  return *found;
}

std::span<float> ParameterSet::values(const Entry& entry) {
  Tensor& tensor = entry.rule.is_state ? state_ : weights_;
  return tensor.values().subspan(entry.offset, entry.count);
}

std::span<const float> ParameterSet::values(const Entry& entry) const {
  const Tensor& tensor = entry.rule.is_state ? state_ : weights_;
  return tensor.values().subspan(entry.offset, entry.count);
}

Tensor& ParameterSet::gradients() {
  if (!gradients_) gradients_.emplace(weights_.shape());
  return *gradients_;
}

ParameterDescriptor ParameterSet::value(const std::string& name) {
  const Entry& found = entry(name);
  const Tensor& tensor = found.rule.is_state ? state_ : weights_;
  return ParameterDescriptor(
      make_descriptor(BNNSDataTypeFloat32, found.rule.shape, values(found).data()), tensor.owner());
}

std::optional<Descriptor> ParameterSet::gradient(const std::string& name) {
  const Entry& found = entry(name);
  if (!found.is_trained()) return std::nullopt;
  return make_descriptor(BNNSDataTypeFloat32, found.rule.shape, gradients().data() + found.offset);
}

DescriptorList ParameterSet::trained_parts(Tensor& like_weights) {
  DescriptorList list;
  for (const Entry& entry : entries_) {
    if (!entry.is_trained()) continue;
    list.push_back(make_descriptor(BNNSDataTypeFloat32, Shape::vector(entry.count),
                                   like_weights.data() + entry.offset));
  }
  return list;
}

DescriptorList ParameterSet::trained_values() {
  return trained_parts(weights_);
}

DescriptorList ParameterSet::trained_gradients() {
  return trained_parts(gradients());
}

std::size_t ParameterSet::weight_count() const noexcept {
  std::size_t count = 0;
  for (const Entry& entry : entries_) count += entry.rule.is_state ? 0 : entry.count;
  return count;
}

}  // namespace bnns::train::impl
