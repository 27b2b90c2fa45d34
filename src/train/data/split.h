// What open_data needs beside split_data.
#ifndef OPENBNNS_TRAIN_DATA_SPLIT_H
#define OPENBNNS_TRAIN_DATA_SPLIT_H

#include <string>

#include "openbnns/train/open_data.hpp"

namespace bnns::train::impl {

// Refuses fewer than two samples, and classification with fewer than two classes.
void check_samples(const std::string& where, const Data& data);

DataSplit split_checked(const std::string& where, const Data& data, const DataOptions& options);

}  // namespace bnns::train::impl

#endif
