// What convolutions and fully connected layers share: a stage with weights and bias that takes in
// the normalization and the activation behind it.
#ifndef OPENBNNS_TRAIN_LAYERS_WEIGHTED_H
#define OPENBNNS_TRAIN_LAYERS_WEIGHTED_H

#include "train/layers/kind.h"

namespace bnns::train::impl {

extern const LayerKind kConvolution, kTransposedConvolution, kFullyConnected;

// Of the first layer of context.layers.
ParameterDescriptor weights_of(const StageContext& context);
std::optional<ParameterDescriptor> bias_of(const StageContext& context);

// The first layer of context.layers, with the parameters of its filter. `input` and `output` are
// its shapes as the filter wants them.
MadeStage make_weighted(const StageContext& context, const Shape& input, const Shape& output,
                        const FusedConvolutionParameters& parameters);
MadeStage make_weighted(const StageContext& context, const Shape& input, const Shape& output,
                        const FusedFullyConnectedParameters& parameters);

}  // namespace bnns::train::impl

#endif
