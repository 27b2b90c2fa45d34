// The kinds of layers. A new one is a file and a line here.
#include <algorithm>

#include "train/layers/activation.h"
#include "train/layers/kind.h"
#include "train/layers/normalization.h"
#include "train/layers/other.h"
#include "train/layers/pooling.h"
#include "train/layers/weighted.h"

namespace bnns::train::impl {
namespace {

constexpr const LayerKind* kKinds[] = {
    &kConvolution,    &kTransposedConvolution,
    &kFullyConnected, &kBatchNorm,
    &kInstanceNorm,   &kLayerNorm,
    &kGroupNorm,      &kMaxPool,
    &kAveragePool,    &kL2Pool,
    &kGlobalMaxPool,  &kGlobalAveragePool,
    &kDropout,        &kFlatten,
    &kResidual,       &kPadding,
    &kReflectPadding, &kSymmetricPadding,
    &kNearestResize,  &kLinearResize,
    &kEmbedding,      &kLSTM,
    &kAttention,
};

}  // namespace

const LayerKind* find_layer_kind(std::string_view name) {
  for (const LayerKind* kind : kKinds)
    if (kind->name == name) return kind;
  for (const LayerKind& kind : activation_kinds())
    if (kind.name == name) return &kind;
  return nullptr;
}

std::vector<std::string_view> layer_kind_names() {
  std::vector<std::string_view> names;
  for (const LayerKind* kind : kKinds) names.push_back(kind->name);
  for (const LayerKind& kind : activation_kinds()) names.push_back(kind.name);
  return names;
}

}  // namespace bnns::train::impl
