// What the bits of a run depend on, as texts with names, in the order in which they are compared:
// what decides others comes first, so that the first difference is the cause and not a consequence.
// Ranks compare such lists with each other, and a run that is resumed with its checkpoint.
#ifndef OPENBNNS_TRAIN_TRAINING_NAMED_VALUES_H
#define OPENBNNS_TRAIN_TRAINING_NAMED_VALUES_H

#include <optional>
#include <string>

#include "openbnns/train/communicator.hpp"
#include "openbnns/train/data.hpp"
#include "openbnns/train/options.hpp"

namespace bnns::train::impl {

// Seed, shards and batch, then all other options that change the arithmetic.
NamedValues values_of(const TrainingOptions& options);
// Number and checksum of the samples of a part, "training" for example.
NamedValues values_of(const std::string& part, const Data& data);

void append(NamedValues& values, const NamedValues& more);

// Long values are cut to what lies around the place where they differ.
struct Difference {
  std::string name, first, second;  // "nothing" where a list does not have the name
};
// The first value of `first` that `second` does not have, or has otherwise.
std::optional<Difference> difference_of(const NamedValues& first, const NamedValues& second);

}  // namespace bnns::train::impl

#endif
