// Masks of the scores: keys that no query may see, and a matrix that is added. A Boolean matrix
// hides where it is true. Hidden scores become minus infinity, even if they were NaN.
#pragma once

#include <cstddef>

#include "core/types.h"

namespace bnns::impl {

struct AttentionMasks {
  struct Keys {
    const void* data = nullptr;  // NULL: none
    size_t bytes = 1;            // of a value; any nonzero one hides the key
    size_t stride = 0, step = 0;
  } keys;
  struct Matrix {
    const void* data = nullptr;
    bool is_boolean = false;
    size_t key = 0, query = 0, head = 0, sample = 0;  // strides; 0: repeated
  } matrix;

  bool any() const { return keys.data != nullptr || matrix.data != nullptr; }
};

// Two rows of scores: one to add, one with 0 or minus infinity; NULL: none.
struct AttentionMaskRow {
  const float* add = nullptr;
  const float* hide = nullptr;
};

// The masks of one sample and head. The rows that are appended to the keys are never hidden.
class AttentionMaskRows {
 public:
  // `memory` has room for 3 * keys floats.
  AttentionMaskRows(const AttentionMasks& masks, size_t source, size_t keys, size_t sample,
                    size_t head, float* memory);
  // Of a query; valid until the next call.
  AttentionMaskRow row(size_t query) const;

 private:
  const AttentionMasks& masks_;
  size_t source_, offset_;
  float *keys_, *hide_, *add_;
};

}  // namespace bnns::impl
