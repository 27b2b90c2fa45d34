// BNNSLayerParametersReduction -> ReductionParameters, and the axes of a call.
#pragma once

#include "core/call.h"
#include "ops/reduction/reduction.h"

namespace bnns::impl {

struct ReductionParameters {
  const ReduceInfo* info = nullptr;
  float epsilon = 0;
  Descriptor in, out;
  bool weighted = false;
  Descriptor weights;  // if weighted

  bool is_float() const { return in.type->kind == TypeClass::kFloat; }
};
ReductionParameters read_reduction(const BNNSLayerParametersReduction* given);

// A tensor of a call: its samples, and the descriptor of the filter that says which entry of size[]
// each axis is. A tensor with one sample has the same for the whole batch.
struct ReductionTensor {
  const Descriptor* shape = nullptr;  // nullptr: the call has no such tensor
  Batch batch = {};
};
using ReductionTensors = ReductionTensor[kReduceTensors];

ReduceProblem reduction_problem(const ReductionParameters& p, const ReductionTensors& tensors,
                                size_t samples);

}  // namespace bnns::impl
