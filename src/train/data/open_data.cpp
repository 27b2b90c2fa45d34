// open_data: finds out what a text names.
#include "openbnns/train/open_data.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <string_view>
#include <system_error>

#include "train/data/fail.h"
#include "train/data/idx_data.h"
#include "train/data/image_folder.h"
#include "train/data/split.h"

namespace bnns::train {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kSyntheticDigits = "synthetic-digits";
constexpr std::size_t kDefaultDigits = 12000;
constexpr std::size_t kMaxDigits = 100'000'000;

// The labels of Fashion-MNIST are numbers; its authors give them these names.
constexpr std::array kFashionNames = {"T-shirt/top", "Trouser", "Pullover", "Dress", "Coat",
                                      "Sandal",      "Shirt",   "Sneaker",  "Bag",   "Ankle boot"};

bool exists(const std::string& path) {
  std::error_code ignored;
  return fs::exists(path, ignored);
}

bool is_folder(const std::string& path) {
  std::error_code ignored;
  return fs::is_directory(path, ignored);
}

bool ends_with_csv(std::string_view text) {
  std::string ending(text.substr(text.size() - std::min<std::size_t>(text.size(), 4)));
  std::ranges::transform(ending, ending.begin(),
                         [](char c) { return c >= 'A' && c <= 'Z' ? char(c + 32) : c; });
  return ending == ".csv" || ending == ".tsv";
}

void check_like_training(const std::string& text, const Data& training, const Data& part) {
  const SampleShape a = training.description().shape, b = part.description().shape;
  if (a != b) {
    impl::fail_data(text,
                    "its samples are {} x {} x {} (width, height, channels); "
                    "those of the training part are {} x {} x {}",
                    b.width, b.height, b.channels, a.width, a.height, a.channels);
  }
}

// The file of this name in one of its spellings, or empty.
std::string find_idx(const std::string& folder, const std::string& part, const std::string& rank) {
  for (const char* separator : {"-", "."}) {
    for (const char* packed : {"", ".gz"}) {
      const std::string path = (fs::path(folder) / (part + separator + rank + packed)).string();
      if (exists(path)) return path;
    }
  }
  return {};
}

std::string require_idx(const std::string& folder, const std::string& part,
                        const std::string& rank) {
  const std::string path = find_idx(folder, part, rank);
  if (path.empty()) {
    impl::fail(Error::Kind::file, folder, "there is no {}-{} in it, plain or with .gz", part, rank);
  }
  return path;
}

DataSplit open_idx_folder(const std::string& folder, const DataOptions& options) {
  impl::IdxClasses classes;
  if (fs::absolute(folder).lexically_normal().string().find("fashion-mnist") != std::string::npos) {
    classes.names.assign(kFashionNames.begin(), kFashionNames.end());
  }
  const Data training = impl::open_idx_pair(require_idx(folder, "train-images", "idx3-ubyte"),
                                            require_idx(folder, "train-labels", "idx1-ubyte"),
                                            options.memory_limit, classes);
  const std::string test_images = find_idx(folder, "t10k-images", "idx3-ubyte");
  if (test_images.empty()) return impl::split_checked(folder, training, options);
  impl::check_samples(folder, training);
  const Data test = impl::open_idx_pair(
      test_images, require_idx(folder, "t10k-labels", "idx1-ubyte"), options.memory_limit, classes);
  check_like_training(test_images, training, test);
  DataSplit parts = split_data(training, options.validation_fraction, 0, options.seed);
  parts.test = test;
  return parts;
}

DataSplit open_digits(const std::string& text, const DataOptions& options) {
  std::size_t count = kDefaultDigits;
  if (text.size() > kSyntheticDigits.size()) {
    const char* first = text.data() + kSyntheticDigits.size() + 1;
    const char* last = text.data() + text.size();
    const auto [end, error] = std::from_chars(first, last, count);
    if (error != std::errc() || end != last || count < 2 || count > kMaxDigits) {
      impl::fail(Error::Kind::usage, text, "the number of digits must be between 2 and {}",
                 kMaxDigits);
    }
  }
  return impl::split_checked(text, synthetic_digits(count, options.seed), options);
}

}  // namespace

DataSplit open_data(const std::string& text, const DataOptions& options) {
  if (text == kSyntheticDigits || text.starts_with(std::string(kSyntheticDigits) + ":")) {
    return open_digits(text, options);
  }
  if (is_folder(text)) {
    if (!find_idx(text, "train-images", "idx3-ubyte").empty()) {
      return open_idx_folder(text, options);
    }
    return impl::open_image_folders(text, options);
  }
  const std::size_t comma = text.find(',');
  if (!exists(text) && comma != std::string::npos) {
    return impl::split_checked(
        text, open_idx(text.substr(0, comma), text.substr(comma + 1), options), options);
  }
  if (ends_with_csv(text))
    return impl::split_checked(text, open_table(text, options.table), options);
  if (!exists(text)) {
    impl::fail(Error::Kind::file, text,
               "there is no such file or folder; data is synthetic-digits, a folder, a .csv file "
               "or IMAGES,LABELS");
  }
  impl::fail(Error::Kind::usage, text,
             "a single file must be a table that ends in .csv; IDX files are given as "
             "IMAGES,LABELS");
}

}  // namespace bnns::train
