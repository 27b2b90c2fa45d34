// Sizes and settings of an attention layer, and its tensors as the op sees them.
#pragma once

#include <cstddef>

#include "core/view.h"

namespace bnns::impl {

class PackedMatrix;

// The four projections of the layer; each has rows, weights and maybe a bias.
enum AttentionRole : size_t { kQuery, kKey, kValue, kOutput, kAttentionRoles };

struct AttentionProblem {
  size_t target = 1, source = 1;         // rows of a sample: T queries and outputs, S keys, values
  size_t columns[kAttentionRoles] = {};  // of the tensors that the layer reads and writes
  size_t heads = 1;
  size_t key_depth = 1, value_depth = 1;  // of a head: D columns of Q and K, E of V and O
  bool has_bias[kAttentionRoles] = {};
  bool attention_bias = false;  // a row of parameters behind K and V
  bool zero_row = false;        // a row of zeros behind them
  float dropout = 0;            // in [0, 1)
  // The parameters do not lie as products want them, or may change: each call gathers them.
  bool gathers_weights[kAttentionRoles] = {}, gathers_bias[kAttentionRoles] = {};
  bool gathers_attention_bias = false;
  bool packs_weights = false;  // there are panels of the weights, too

  size_t rows(AttentionRole role) const {
    return role == kQuery || role == kOutput ? target : source;
  }
  // Keys of a head, with the rows that are appended.
  size_t keys() const { return source + (attention_bias ? 1 : 0) + (zero_row ? 1 : 0); }
  // Columns of all heads of a role.
  size_t width(AttentionRole role) const {
    return heads * (role == kQuery || role == kKey ? key_depth : value_depth);
  }
  // The matrix of a role's weights: K of its product, then N.
  size_t depth(AttentionRole role) const { return role == kOutput ? width(role) : columns[role]; }
  size_t results(AttentionRole role) const { return role == kOutput ? columns[role] : width(role); }
};

// A matrix for each sample, in values; no data: it does not exist.
struct AttentionRows {
  float* data = nullptr;
  size_t row = 0, column = 0, step = 0;

  // Samples [first, first + count), the columns fastest.
  View view(size_t rows, size_t columns, size_t first, size_t count) const;
};

// A parameter in the order of its dense form. Weights of queries, keys and values: (row, head,
// column of the head), those of the output: (row, column); biases: (head, column).
struct AttentionTensor {
  float* data = nullptr;
  size_t extent[3] = {1, 1, 1}, stride[3] = {};  // the fastest axis of the dense form comes first

  View view() const;
};

struct AttentionSources {
  AttentionTensor weights[kAttentionRoles], bias[kAttentionRoles];
  AttentionTensor key_bias, value_bias;
  const PackedMatrix* packed = nullptr;  // those of all roles, or NULL
};

// The distance of the rows of a matrix whose rows lie evenly and whose columns are contiguous; 0
// for all others.
size_t matrix_row(const View& view, size_t columns);

}  // namespace bnns::impl
