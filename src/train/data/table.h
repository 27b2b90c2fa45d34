// The rows of a CSV file as samples.
#ifndef OPENBNNS_TRAIN_DATA_TABLE_H
#define OPENBNNS_TRAIN_DATA_TABLE_H

#include <string>

#include "openbnns/train/open_data.hpp"

namespace bnns::train::impl {

// A file for prediction; the description is that of the training data. Columns are found by their
// names; further ones are ignored. In a file without a header that has as many columns as there are
// inputs, they are the inputs in their order. A text that is no category of its column makes all
// values of the column 0. A target that is not there, or is no class, is NaN.
Data open_known_table(const std::string& path, const DataDescription& description,
                      const TableOptions& options);

}  // namespace bnns::train::impl

#endif
