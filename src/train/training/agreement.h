// What ranks must have in common before they train together.
#ifndef OPENBNNS_TRAIN_TRAINING_AGREEMENT_H
#define OPENBNNS_TRAIN_TRAINING_AGREEMENT_H

#include <nlohmann/json.hpp>

#include "openbnns/train/communicator.hpp"

namespace bnns::train::impl {

// Makes the best SIMD target that all ranks have the one of this process, as bits are promised per
// target. Throws Error::Kind::ranks if they have none in common.
void agree_on_target(Communicator& ranks);

// `values` is an object that must be the same everywhere. Throws Error::Kind::ranks on every rank,
// with the name, the ranks and their values.
void require_agreement(Communicator& ranks, const nlohmann::json& values);

}  // namespace bnns::train::impl

#endif
