// Kinds of layers that stand alone.
#ifndef OPENBNNS_TRAIN_LAYERS_OTHER_H
#define OPENBNNS_TRAIN_LAYERS_OTHER_H

#include "train/layers/kind.h"

namespace bnns::train::impl {

extern const LayerKind kDropout, kFlatten, kResidual;
extern const LayerKind kPadding, kReflectPadding, kSymmetricPadding;
extern const LayerKind kNearestResize, kLinearResize;
extern const LayerKind kEmbedding, kLSTM, kAttention;

}  // namespace bnns::train::impl

#endif
