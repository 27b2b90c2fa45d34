#include "train/data/image_folder.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <memory>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "train/content_hash.h"
#include "train/data/fail.h"
#include "train/data/image.h"
#include "train/data/split.h"

namespace bnns::train::impl {
namespace {

namespace fs = std::filesystem;

constexpr std::array<std::string_view, 6> kEndings = {".png", ".jpg", ".jpeg",
                                                      ".pgm", ".ppm", ".pnm"};
constexpr std::size_t kMaxClasses = 10000;

struct ImageFile {
  std::string name;
  std::size_t class_index;
  std::uint64_t bytes = 0;  // the size of the file
};

class ImageFolder final : public DataSource {
 public:
  ImageFolder(std::string folder, std::vector<ImageFile> files, DataDescription description,
              bool resample)
      : folder_(std::move(folder)),
        files_(std::move(files)),
        description_(std::move(description)),
        resample_(resample) {}

  const DataDescription& description() const override { return description_; }
  std::size_t size() const override { return files_.size(); }
  void read(std::size_t index, std::span<float> values, std::span<float> targets) override {
    read_image_values(path(index), description_.shape, resample_, values);
    read_targets(index, targets);
  }
  void read_targets(std::size_t index, std::span<float> targets) override {
    targets[0] = static_cast<float>(files_[index].class_index);
  }
  // Names and sizes: to read all pictures may take longer than an epoch of one rank.
  std::uint64_t fingerprint() override {
    ContentHash hash;
    hash.add(resample_);
    for (const ImageFile& file : files_) {
      hash.add(file.name);
      hash.add(file.class_index);
      hash.add(file.bytes);
    }
    return hash.value();
  }
  std::string path(std::size_t index) const {
    const ImageFile& file = files_[index];
    return folder_ + "/" + description_.class_names[file.class_index] + "/" + file.name;
  }

 private:
  std::string folder_;
  std::vector<ImageFile> files_;
  DataDescription description_;
  bool resample_;
};

// Names of the entries that are folders, or that are files, sorted; hidden ones are left out.
std::vector<std::string> list(const std::string& folder, bool folders) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator i(folder, error), end; !error && i != end; i.increment(error)) {
    const std::string name = i->path().filename().string();
    std::error_code ignored;
    if (!name.starts_with(".") && i->is_directory(ignored) == folders) names.push_back(name);
  }
  if (error) fail(Error::Kind::file, folder, "cannot be listed: {}", error.message());
  std::ranges::sort(names);
  return names;
}

bool is_image_name(const std::string& name) {
  std::string ending = fs::path(name).extension().string();
  for (char& c : ending) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c;
  return std::ranges::find(kEndings, ending) != kEndings.end();
}

std::vector<ImageFile> list_images(const std::string& folder,
                                   const std::vector<std::string>& classes, bool all_classes) {
  std::vector<ImageFile> files;
  for (std::size_t c = 0; c < classes.size(); ++c) {
    const std::string class_folder = folder + "/" + classes[c];
    std::error_code ignored;
    if (!all_classes && !fs::exists(class_folder, ignored)) continue;
    const std::size_t before = files.size();
    for (std::string& name : list(class_folder, false)) {
      if (is_image_name(name)) files.push_back({.name = std::move(name), .class_index = c});
    }
    if (files.size() == before) {
      fail_data(class_folder,
                "there is no image in it (.png, .jpg, .jpeg, .pgm, .ppm, .pnm); "
                "every folder of a class needs at least one");
    }
  }
  return files;
}

void check_options(const ImageOptions& options) {
  if (options.channels != 0 && options.channels != 1 && options.channels != 3) {
    fail(Error::Kind::usage, "channels", "it is {}; it must be 1 (grey) or 3 (RGB)",
         options.channels);
  }
  constexpr std::size_t kMaxSide = 4096;
  for (const auto& [name, size] : {std::pair{"width", options.width}, {"height", options.height}}) {
    if (size > kMaxSide) fail(Error::Kind::usage, name, "it is {}; at most {}", size, kMaxSide);
  }
}

// What the options leave open is as in the first image. Looks at the headers of all images, so that
// what is no image is found before training begins, and notes the sizes of the files.
SampleShape find_shape(const ImageOptions& options, const std::string& folder,
                       std::vector<ImageFile>& files, const std::vector<std::string>& classes) {
  SampleShape shape = {options.width, options.height, options.channels};
  for (ImageFile& file : files) {
    const std::string path = folder + "/" + classes[file.class_index] + "/" + file.name;
    const InputFile input(path);
    file.bytes = input.size();
    const SampleShape own = read_image_shape(input);
    if (shape.width == 0) shape.width = own.width;
    if (shape.height == 0) shape.height = own.height;
    if (shape.channels == 0) shape.channels = own.channels;
    if (!options.resample && (own.width != shape.width || own.height != shape.height)) {
      fail_data(path, "the picture is {} x {} pixels; samples are {} x {}, and resampling is off",
                own.width, own.height, shape.width, shape.height);
    }
  }
  check_image_shape(folder, shape, true);
  return shape;
}

// Classes that are already known may lack a folder; no further one may be there.
Data open_part(const std::string& folder, const ImageOptions& options,
               const std::vector<std::string>* known_classes) {
  check_options(options);
  const std::vector<std::string> found = list(folder, true);
  const std::vector<std::string>& classes = known_classes != nullptr ? *known_classes : found;
  if (found.empty()) {
    fail_data(folder, "there is no folder in it; images must lie in one folder per class");
  }
  if (found.size() > kMaxClasses) {
    fail_data(folder, "there are {} folders in it; at most {} classes", found.size(), kMaxClasses);
  }
  for (const std::string& name : found) {
    if (valid_utf8_bytes(name) != name.size()) {
      fail_data(folder, "the name of the folder {} is not in UTF-8", in_quotes(name));
    }
    if (std::ranges::find(classes, name) == classes.end()) {
      fail_data(folder, "there is no class {} in the folder train", in_quotes(name));
    }
  }
  std::vector<ImageFile> files = list_images(folder, classes, known_classes == nullptr);
  const SampleShape shape = find_shape(options, folder, files, classes);
  return Data(std::make_shared<ImageFolder>(
      folder, std::move(files),
      DataDescription{.shape = shape, .class_names = classes, .kind = SampleKind::image},
      options.resample));
}

std::string find_folder(const std::string& folder, std::initializer_list<const char*> names) {
  for (const char* name : names) {
    const std::string path = folder + "/" + name;
    std::error_code ignored;
    if (fs::is_directory(path, ignored)) return path;
  }
  return {};
}

}  // namespace

DataSplit open_image_folders(const std::string& folder, const DataOptions& options) {
  const std::string train = find_folder(folder, {"train", "training"});
  const std::string validation = find_folder(folder, {"validation", "valid", "val"});
  const std::string test = find_folder(folder, {"test", "testing"});
  if (train.empty() || (validation.empty() && test.empty())) {
    return split_checked(folder, open_part(folder, options.image, nullptr), options);
  }
  const Data training = open_part(train, options.image, nullptr);
  const DataDescription& d = training.description();
  ImageOptions like = options.image;
  like.width = d.shape.width;
  like.height = d.shape.height;
  like.channels = d.shape.channels;
  check_samples(train, training);
  DataSplit parts = split_data(training, validation.empty() ? options.validation_fraction : 0,
                               test.empty() ? options.test_fraction : 0, options.seed);
  if (!validation.empty()) parts.validation = open_part(validation, like, &d.class_names);
  if (!test.empty()) parts.test = open_part(test, like, &d.class_names);
  return parts;
}

}  // namespace bnns::train::impl

namespace bnns::train {

Data open_image_folder(const std::string& folder, const ImageOptions& options) {
  return impl::open_part(folder, options, nullptr);
}

}  // namespace bnns::train
