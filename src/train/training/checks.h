// What data and options must be like, and how samples are prepared for a network.
#ifndef OPENBNNS_TRAIN_TRAINING_CHECKS_H
#define OPENBNNS_TRAIN_TRAINING_CHECKS_H

#include "openbnns/train/fit.hpp"
#include "train/training/batches.h"

namespace bnns::train::impl {

// Throws Error::Kind::usage with field, value and rule.
void require_valid(const TrainingOptions& options);
// The network takes and predicts what the data has. Throws Error::Kind::data.
void require_match(const Network& network, const Data& data);
// What fit() would standardize is refused where the network takes ids. Throws Error::Kind::data.
void require_ids(const Network& network, const Data& data);

// What happens to a sample between file and network: the network's preprocessing.
Batches::Prepare preparation(const Network& network);
// The same in training, with the augmentation of the options.
Batches::Prepare training_preparation(const Network& network, const TrainingOptions& options,
                                      std::uint64_t epoch);

// Predicted numbers or targets of a sample, in the units of the data.
std::vector<float> in_units(const Network& network, std::span<const float> row);

}  // namespace bnns::train::impl

#endif
