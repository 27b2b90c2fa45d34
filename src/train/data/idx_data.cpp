#include "train/data/idx_data.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <set>
#include <utility>

#include "openbnns/train/open_data.hpp"
#include "train/content_hash.h"
#include "train/data/fail.h"
#include "train/data/idx.h"

namespace bnns::train::impl {
namespace {

using ClassIndex = std::uint16_t;
constexpr std::size_t kMaxClasses = std::size_t{1} << 16;

class IdxSource final : public DataSource {
 public:
  IdxSource(IdxFile images, std::vector<ClassIndex> classes, DataDescription description)
      : images_(std::move(images)),
        classes_(std::move(classes)),
        description_(std::move(description)) {}

  const DataDescription& description() const override { return description_; }
  std::size_t size() const override { return classes_.size(); }
  void read(std::size_t index, std::span<float> values, std::span<float> targets) override {
    images_.read(index, values);
    read_targets(index, targets);
  }
  void read_targets(std::size_t index, std::span<float> targets) override {
    targets[0] = static_cast<float>(classes_[index]);
  }
  std::uint64_t fingerprint() override {
    ContentHash hash;
    images_.add_to(hash);
    hash.add(std::as_bytes(std::span(classes_)));
    return hash.value();
  }

 private:
  IdxFile images_;
  std::vector<ClassIndex> classes_;
  DataDescription description_;
};

IdxFile open_labels(const std::string& path, std::size_t memory_limit) {
  IdxFile file(path, memory_limit);
  if (file.dimensions().size() != 1) {
    fail_data(path, "its rank is {}; labels have rank 1", file.dimensions().size());
  }
  if (!file.type().is_integer) {
    fail_data(path, "its elements are of type {}; labels must be integers", file.type().name);
  }
  return file;
}

std::int64_t label_of(const IdxFile& file, std::size_t index) {
  const auto label = static_cast<std::int64_t>(file.element(index));
  if (label < 0) {
    fail_data(file.path(), "label {} is {}; it must not be negative", index, label);
  }
  return label;
}

void find_classes(const IdxFile& file, IdxClasses& classes) {
  std::set<std::int64_t> found;
  for (std::size_t n = 0; n < file.size(); ++n) {
    found.insert(label_of(file, n));
    if (found.size() > kMaxClasses) {
      fail_data(file.path(), "it has more than {} different labels", kMaxClasses);
    }
  }
  classes.labels.assign(found.begin(), found.end());
  if (classes.names.size() == found.size()) return;
  classes.names.clear();
  for (const std::int64_t label : found) classes.names.push_back(std::to_string(label));
}

std::vector<ClassIndex> class_indices(const IdxFile& file, const IdxClasses& classes) {
  std::vector<ClassIndex> indices;
  indices.reserve(file.size());
  for (std::size_t n = 0; n < file.size(); ++n) {
    const std::int64_t label = label_of(file, n);
    const auto found = std::ranges::lower_bound(classes.labels, label);
    if (found == classes.labels.end() || *found != label) {
      fail_data(file.path(), "label {} is {}; no sample of the training file has it", n, label);
    }
    indices.push_back(static_cast<ClassIndex>(found - classes.labels.begin()));
  }
  return indices;
}

// Rank 2: numbers; rank 3: count, rows, columns; rank 4: count, channels, rows, columns.
DataDescription describe(const IdxFile& images, const std::vector<std::string>& class_names) {
  const std::vector<std::size_t>& d = images.dimensions();
  DataDescription description{.class_names = class_names};
  switch (d.size()) {
    case 2:
      description.shape = {.width = d[1]};
      break;
    case 3:
      description.shape = {.width = d[2], .height = d[1]};
      break;
    case 4:
      description.shape = {.width = d[3], .height = d[2], .channels = d[1]};
      break;
    default:
      fail_data(images.path(), "its rank is {}; images have rank 3 or 4, numbers have rank 2",
                d.size());
  }
  if (d.size() > 2) description.kind = SampleKind::image;
  return description;
}

}  // namespace

Data open_idx_pair(const std::string& images, const std::string& labels, std::size_t memory_limit,
                   IdxClasses& classes) {
  IdxFile image_file(images, memory_limit);
  const IdxFile label_file = open_labels(labels, memory_limit);
  if (image_file.size() != label_file.size()) {
    fail_data(labels, "it has {} labels; {} has {} images", label_file.size(), images,
              image_file.size());
  }
  if (classes.labels.empty()) find_classes(label_file, classes);
  DataDescription description = describe(image_file, classes.names);
  return Data(std::make_shared<IdxSource>(std::move(image_file), class_indices(label_file, classes),
                                          std::move(description)));
}

}  // namespace bnns::train::impl

namespace bnns::train {

Data open_idx(const std::string& images, const std::string& labels, const DataOptions& options) {
  impl::IdxClasses classes;
  return impl::open_idx_pair(images, labels, options.memory_limit, classes);
}

}  // namespace bnns::train
