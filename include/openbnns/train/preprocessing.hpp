// What happens to a sample between a file and a network. It is learnt from the training data alone,
// kept in the model, and applied to every sample, so that a file read for prediction is treated as
// the files of the training data were.
#ifndef OPENBNNS_TRAIN_PREPROCESSING_HPP
#define OPENBNNS_TRAIN_PREPROCESSING_HPP

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "api.hpp"
#include "data.hpp"
#include "open_data.hpp"

namespace bnns::train {

// A value v becomes (v - mean) / deviation. The deviation of what is always the same is 1.
struct Standardization {
  double mean = 0;
  double deviation = 1;

  friend bool operator==(const Standardization&, const Standardization&) = default;
};

class OPENBNNS_TRAIN_API Preprocessing {
 public:
  // Changes nothing.
  Preprocessing() = default;
  // Mean and deviation of each channel (images), of each number (tables and other numbers) and of
  // each target (regression). Categories stay 0 and 1. Looks at all samples or, where that would be
  // more than 2^24 values, at so many that are spread evenly, but at 1024 at least.
  static Preprocessing learn(const Data& training);

  // Samples as Data::read gives them. A missing number becomes the mean, which is 0 then.
  void apply(std::span<float> values) const;
  // Targets of regression; those of classification stay as they are.
  void apply_to_targets(std::span<float> targets) const;
  // The way back, for predictions.
  void restore_targets(std::span<float> targets) const;

  // Of the training data: shape and kind of samples, columns and categories, classes.
  const DataDescription& description() const noexcept { return description_; }
  // One per channel, or one per value.
  const std::vector<Standardization>& values() const noexcept { return values_; }
  const std::vector<Standardization>& targets() const noexcept { return targets_; }

  std::string to_json() const;
  // Refuses what to_json would not write. `where` stands in errors: the name of a file, for
  // example.
  static Preprocessing from_json(std::string_view json, const std::string& where = "preprocessing");

  friend bool operator==(const Preprocessing&, const Preprocessing&) = default;

 private:
  DataDescription description_;
  std::vector<Standardization> values_, targets_;
};

// Files for prediction, as samples in the form of the training data; the preprocessing is still to
// be applied, as to any other sample.
//
// A picture gets the size and the channels of the training data.
OPENBNNS_TRAIN_API std::vector<float> read_image(const std::string& file,
                                                 const Preprocessing& preprocessing);
// A table is found by the names of its columns, further ones are ignored, and one that is missing
// is an Error; a file without names that has as many columns as there were inputs is taken in their
// order. A text that was not in the training data makes all values of its column 0. Targets that
// are not in the file, or are no class, are NaN. Of the options, header and delimiter are used.
OPENBNNS_TRAIN_API Data read_table(const std::string& file, const Preprocessing& preprocessing,
                                   const TableOptions& options = {});

}  // namespace bnns::train

#endif
