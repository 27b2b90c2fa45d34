// An image becomes a vector: channel by channel and row by row, which is how it lies in memory.
#include "train/layers/other.h"

namespace bnns::train::impl {

constexpr LayerKind kFlatten = {
    .name = "flatten",
    .output = [](const Fields&, const SampleShape& input) -> SampleShape {
      return {.width = input.count()};
    },
    .make = [](const StageContext&) { return MadeStage{}; }};

}  // namespace bnns::train::impl
