// A pair of IDX files as samples.
#ifndef OPENBNNS_TRAIN_DATA_IDX_DATA_H
#define OPENBNNS_TRAIN_DATA_IDX_DATA_H

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "openbnns/train/data.hpp"

namespace bnns::train::impl {

// The classes of IDX files: the labels that occur in the training file, ascending.
struct IdxClasses {
  std::vector<std::int64_t> labels;
  std::vector<std::string> names;
};

// With classes that are already known, every label must be one of them. Otherwise fills in classes;
// names that are already there are kept if there are as many as labels.
Data open_idx_pair(const std::string& images, const std::string& labels, std::size_t memory_limit,
                   IdxClasses& classes);

}  // namespace bnns::train::impl

#endif
