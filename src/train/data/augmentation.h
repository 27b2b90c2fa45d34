// Changed copies of images, so that a network sees each sample in many places.
#ifndef OPENBNNS_TRAIN_DATA_AUGMENTATION_H
#define OPENBNNS_TRAIN_DATA_AUGMENTATION_H

#include <span>

#include "openbnns/train/data.hpp"
#include "openbnns/train/options.hpp"
#include "train/counter_random.h"

namespace bnns::train::impl {

// Moves the image by whole pixels and mirrors it, as the first three random numbers say. What moves
// in from outside is 0: the background, as long as the preprocessing has not been applied.
void augment(std::span<float> values, const SampleShape& shape, const Augmentation& augmentation,
             const CounterRandom& random);

}  // namespace bnns::train::impl

#endif
