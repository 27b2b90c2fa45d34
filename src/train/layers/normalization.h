// Batch, instance, layer and group normalization, as layers and as the end of a fused stage.
#ifndef OPENBNNS_TRAIN_LAYERS_NORMALIZATION_H
#define OPENBNNS_TRAIN_LAYERS_NORMALIZATION_H

#include "train/layers/kind.h"

namespace bnns::train::impl {

extern const LayerKind kBatchNorm, kInstanceNorm, kLayerNorm, kGroupNorm;

bool is_normalization(const LayerKind& kind);
// Of such a layer, without an activation.
FusedNormalizationParameters normalization_parameters(const ResolvedLayer& layer,
                                                      ParameterSet& parameters);

}  // namespace bnns::train::impl

#endif
