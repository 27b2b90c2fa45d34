// Samples from files: images in IDX files or in one folder per class, tables in CSV files; and
// digits that are drawn. docs/data.md has every rule.
#ifndef OPENBNNS_TRAIN_OPEN_DATA_HPP
#define OPENBNNS_TRAIN_OPEN_DATA_HPP

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "api.hpp"
#include "data.hpp"

namespace bnns::train {

// Folders of images: all samples get one size and one number of channels.
struct ImageOptions {
  std::size_t width = 0, height = 0;  // 0: as the first image
  std::size_t channels = 0;           // 1 (grey) or 3 (RGB); 0: as the first image
  bool resample = true;               // false: an image of another size is refused
};

enum class TableHeader { detect, present, absent };

// CSV files.
struct TableOptions {
  std::string target;                         // name of the target column; empty: the last
  std::optional<Task> task;                   // without: decided by the target column
  TableHeader header = TableHeader::detect;   // whether the first line holds names
  char delimiter = '\0';                      // '\0': found in the first line
  std::vector<std::string> ignored_columns;   // names of columns that are left out
  std::vector<std::string> category_columns;  // numbers that stand for categories
  std::size_t max_categories = 256;           // of one input column
};

struct DataOptions {
  std::uint64_t seed = 1;  // of the split, and of drawn digits
  // Where no files are given for it. Validation is always cut from what is left for training.
  double validation_fraction = 0.1;
  double test_fraction = 0.1;
  ImageOptions image;
  TableOptions table;
  // Packed files are unpacked into memory up to this size, and into a temporary file beyond it.
  std::size_t memory_limit = std::size_t{256} << 20;
};

struct DataSplit {
  Data training, validation, test;
};

// Opens what the text names and splits it:
//   synthetic-digits, synthetic-digits:5000   drawn digits
//   images.idx,labels.idx                     a pair of IDX files, plain or gzip
//   a folder with train-images-idx3-ubyte     and the other files of MNIST, plain or gzip
//   a folder of class folders of images       or with such folders in train, validation, test
//   a file NAME.csv                           a table
OPENBNNS_TRAIN_API DataSplit open_data(const std::string& text, const DataOptions& options = {});

// The same without a split.
OPENBNNS_TRAIN_API Data open_idx(const std::string& images, const std::string& labels,
                                 const DataOptions& options = {});
OPENBNNS_TRAIN_API Data open_image_folder(const std::string& folder,
                                          const ImageOptions& options = {});
OPENBNNS_TRAIN_API Data open_table(const std::string& file, const TableOptions& options = {});
// 28 x 28 grey images of the digits 0 to 9. Sample i is a function of seed and i alone.
OPENBNNS_TRAIN_API Data synthetic_digits(std::size_t count, std::uint64_t seed = 1);

// Cuts data into three parts by the seed; classification: every class in the same proportions.
OPENBNNS_TRAIN_API DataSplit split_data(const Data& data, double validation_fraction,
                                        double test_fraction, std::uint64_t seed);

}  // namespace bnns::train

#endif
