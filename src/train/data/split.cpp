// Cutting data into parts for training, validation and test.
#include "train/data/split.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include "openbnns/train/open_data.hpp"
#include "train/counter_random.h"
#include "train/data/fail.h"

namespace bnns::train {
namespace {

constexpr std::uint64_t kSplitKey = 0x53504C4954;

// The samples of one class; of all, for regression.
using Group = std::vector<std::size_t>;

std::vector<Group> groups_of(const Data& data) {
  if (data.description().task == Task::regression) {
    Group all(data.size());
    for (std::size_t n = 0; n < all.size(); ++n) all[n] = n;
    return {std::move(all)};
  }
  std::vector<Group> groups(data.description().class_names.size());
  for (std::size_t n = 0; n < data.size(); ++n) {
    groups[data.class_of(n)].push_back(n);
  }
  return groups;
}

void shuffle(Group& group, const CounterRandom& random) {
  for (std::size_t n = group.size(); n > 1; --n) {
    std::swap(group[n - 1], group[random.bits(n) % n]);
  }
}

// At least one sample stays for training.
std::size_t share(std::size_t count, double fraction, std::size_t left) {
  const auto wanted = static_cast<std::size_t>(std::llround(static_cast<double>(count) * fraction));
  return std::min(wanted, left - std::min<std::size_t>(left, 1));
}

void check_fraction(const char* name, double fraction) {
  if (!(fraction >= 0 && fraction < 1)) {
    impl::fail(Error::Kind::usage, name, "it is {}; it must be at least 0 and below 1", fraction);
  }
}

Data part(const Data& data, Group& indices) {
  std::ranges::sort(indices);
  return data.subset(indices);
}

}  // namespace

DataSplit split_data(const Data& data, double validation_fraction, double test_fraction,
                     std::uint64_t seed) {
  check_fraction("validation_fraction", validation_fraction);
  check_fraction("test_fraction", test_fraction);
  if (validation_fraction + test_fraction >= 1) {
    impl::fail(Error::Kind::usage, "validation_fraction + test_fraction",
               "they are {} and {}; something must be left for training", validation_fraction,
               test_fraction);
  }
  Group training, validation, test;
  std::vector<Group> groups = groups_of(data);
  for (std::size_t g = 0; g < groups.size(); ++g) {
    Group& group = groups[g];
    shuffle(group, CounterRandom{seed, kSplitKey, g});
    const auto begin = group.begin();
    const std::size_t for_test = share(group.size(), test_fraction, group.size());
    const std::size_t for_validation =
        share(group.size(), validation_fraction, group.size() - for_test);
    const auto first = begin + static_cast<std::ptrdiff_t>(for_test);
    const auto second = first + static_cast<std::ptrdiff_t>(for_validation);
    test.insert(test.end(), begin, first);
    validation.insert(validation.end(), first, second);
    training.insert(training.end(), second, group.end());
  }
  return {part(data, training), part(data, validation), part(data, test)};
}

namespace impl {

void check_samples(const std::string& where, const Data& data) {
  if (data.size() < 2) {
    fail_data(where, "there is {} sample; training needs at least 2", data.size());
  }
  const DataDescription& d = data.description();
  if (d.task == Task::classification && d.class_names.size() < 2) {
    fail_data(where, "all samples are of the class {}; there must be at least 2 classes",
              in_quotes(d.class_names.front()));
  }
}

DataSplit split_checked(const std::string& where, const Data& data, const DataOptions& options) {
  check_samples(where, data);
  return split_data(data, options.validation_fraction, options.test_fraction, options.seed);
}

}  // namespace impl
}  // namespace bnns::train
