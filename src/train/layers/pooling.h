#ifndef OPENBNNS_TRAIN_LAYERS_POOLING_H
#define OPENBNNS_TRAIN_LAYERS_POOLING_H

#include "train/layers/kind.h"

namespace bnns::train::impl {

extern const LayerKind kMaxPool, kAveragePool, kL2Pool, kGlobalMaxPool, kGlobalAveragePool;

}  // namespace bnns::train::impl

#endif
