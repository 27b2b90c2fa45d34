// The cache in which a forward call of an attention filter leaves what the backward one needs: a
// header, and behind it the floats of AttentionState. The header must be exactly the one that the
// filter writes; nothing in it is used as a size or a place.
#pragma once

#include <cstddef>

#include "ops/attention/masks.h"
#include "ops/attention/plan.h"

namespace bnns::impl {

constexpr size_t kAttentionHeader = 128;  // bytes

size_t attention_cache_bytes(const AttentionProblem& p, size_t batch);
void write_attention_header(const AttentionProblem& p, size_t batch, const AttentionMasks& masks,
                            void* cache);
// Refuses a cache that is too small, or misaligned.
void require_attention_cache(const AttentionProblem& p, size_t given, const void* cache,
                             size_t batch);
// Refuses a cache that a forward call like this one has not filled.
void require_attention_header(const AttentionProblem& p, size_t batch, const AttentionMasks& masks,
                              const void* cache);

}  // namespace bnns::impl
