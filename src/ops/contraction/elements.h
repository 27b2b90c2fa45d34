// The loop nest of a contraction, and the packer that gathers panels.
#pragma once

#include "ops/contraction/contraction.h"

namespace bnns::impl {

// C = alpha sum of A B over `summed`, for every element of `kept`; sums in double. `b` may be NULL:
// A alone is summed then.
struct ElementsJob {
  const ContractionAxes& kept;
  const ContractionAxes& summed;
  const BNNSDataType* type;
  float alpha;
};
void contract_elements(const ElementsJob& job, size_t threads, const ContractionData& data);

// Fills panels from an operand whose lines and depth have any axes.
struct GatherContext {
  const ContractionAxes& lines;
  const ContractionAxes& depth;
  ContractionTensor tensor;
  BNNSDataType type;
  size_t width;       // of a panel
  size_t first_line;  // of the product
  const void* data;
};
GemmPacker gather_packer(const GatherContext& context);

}  // namespace bnns::impl
