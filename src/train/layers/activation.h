// Activations as layers, and as the end of another layer's stage.
#ifndef OPENBNNS_TRAIN_LAYERS_ACTIVATION_H
#define OPENBNNS_TRAIN_LAYERS_ACTIVATION_H

#include <optional>
#include <span>

#include "train/layers/kind.h"

namespace bnns::train::impl {

// One kind per function: "relu", "gelu", ...
std::span<const LayerKind> activation_kinds();

// The activation of a layer behind another one, if that layer can apply it in its own filter in
// training: its slope must follow from its output.
std::optional<ActivationFunction> fusable_activation(std::span<const ResolvedLayer> layers,
                                                     std::size_t index);

// ReLU and its relatives, before which weights are drawn after He.
bool is_rectifier(const LayerKind& kind);
bool is_activation(const LayerKind& kind);

}  // namespace bnns::train::impl

#endif
