// What the passes of attention.h share: the samples that are worked on together.
#pragma once

#include <algorithm>

#include "core/checked.h"
#include "ops/attention/attention.h"

namespace bnns::impl {

struct AttentionOp::Chunk {
  size_t first, samples;  // of the batch
  const AttentionPlan& plan;
  float* memory;
  const AttentionParameters& parameters;
  const AttentionMasks& masks;
  AttentionState state;                           // of these samples
  const AttentionHeadForward* forward = nullptr;  // of a whole block, and of the last one
  const AttentionHeadBackward* backward = nullptr;
  uint64_t stream = 0;
  bool draws = false;  // the random bits are drawn; false: they are read

  float* at(size_t place) const { return memory + place; }
};

// Working memory of one thread.
struct AttentionOp::Worker {
  float *scores, *gradients, *masks, *units, *factors, *zeros, *products;
};

template <class Body>
void AttentionOp::for_chunks(size_t batch, const AttentionPlan& plan,
                             const AttentionSources& sources, const AttentionMasks& masks,
                             float* memory, const Body& body) const {
  const AttentionParameters parameters = prepare(sources, plan, memory);
  for (size_t first = 0; first < batch; first += plan.chunk) {
    body(Chunk{.first = first,
               .samples = std::min(plan.chunk, batch - first),
               .plan = plan,
               .memory = memory,
               .parameters = parameters,
               .masks = masks,
               .state = AttentionState(problem_, plan.chunk, memory + plan.state)});
  }
}

}  // namespace bnns::impl
