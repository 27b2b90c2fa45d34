// Sizes and products of a call, which follow from the problem and the batch alone, and the working
// memory for them: for any strides of the tensors.
#pragma once

#include <cstddef>
#include <cstdint>

#include "ops/attention/problem.h"
#include "ops/gemm/gemm.h"

namespace bnns::impl {

enum class AttentionPass {
  kForward,
  kForwardKeeping,  // writes the state that a backward pass needs
  kBackward,        // reads it
  kBackwardAlone,   // computes it again
};

// What a backward pass needs of a forward pass, for some samples. All of it are arrays of floats
// one behind the other, sample by sample.
struct AttentionState {
  AttentionState(const AttentionProblem& p, size_t batch, float* memory);

  static size_t floats(const AttentionProblem& p, size_t batch);
  // The same for samples from `first` on.
  AttentionState from(const AttentionProblem& p, size_t first) const;

  float* rows[kAttentionRoles];  // Q, K and V with the rows that are appended; O of all heads
  float* row_terms;              // of a row of P: the largest score, 1 / sum or 0
  uint8_t* kept;                 // bits of P: whether dropout keeps the element
};
// Rows of the state of one sample.
size_t attention_state_rows(const AttentionProblem& p, AttentionRole role);
// Bytes of a row of `kept`.
size_t attention_kept_bytes(const AttentionProblem& p);

// The products of one head and a block of `rows` queries, each computed by one thread.
struct AttentionHeadForward {
  AttentionHeadForward(const AttentionProblem& p, const GemmKernels& kernels, size_t rows);
  size_t scratch() const;

  GemmOp scores, values;
};
struct AttentionHeadBackward {
  AttentionHeadBackward(const AttentionProblem& p, const GemmKernels& kernels, size_t rows);
  size_t scratch() const;

  GemmOp scores, probabilities;  // Q K^T, dO V^T
  GemmOp query, key, value;      // dR K, dR^T Q, P^T dO
  GemmOp key_bias, value_bias;   // the row behind the keys of the last two
};

// From one row of scores to the next.
size_t attention_score_row(const AttentionProblem& p);

struct AttentionPlan {
  AttentionPlan(const AttentionProblem& p, const GemmKernels& kernels, size_t threads, size_t batch,
                AttentionPass pass);

  size_t chunk;  // samples that are worked on together
  size_t block;  // rows of queries whose scores are computed together
  // Places in the working memory.
  size_t rows[kAttentionRoles] = {};  // copies of rows that products cannot use where they lie
  size_t weights[kAttentionRoles] = {}, bias[kAttentionRoles] = {};
  size_t key_bias = 0, value_bias = 0;
  size_t state = 0;
  size_t delta[kAttentionRoles] = {};   // gradients of Q, K, V and O
  size_t key_sums = 0, value_sums = 0;  // of the appended rows, by sample
  size_t parameter = 0;                 // a gradient that cannot be written where it lies
  size_t products = 0;
  size_t workers = 0, worker_floats = 0;
  size_t floats = 0;  // of everything
};

}  // namespace bnns::impl
