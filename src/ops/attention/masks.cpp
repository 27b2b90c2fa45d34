#include "ops/attention/masks.h"

#include <algorithm>
#include <cstdint>
#include <limits>

namespace bnns::impl {
namespace {

constexpr float kHidden = -std::numeric_limits<float>::infinity();

template <class T>
void hide_keys(const void* data, size_t stride, size_t n, float* to) {
  const T* from = static_cast<const T*>(data);
  for (size_t i = 0; i < n; ++i) to[i] = from[i * stride] != 0 ? kHidden : 0;
}

using HideKeys = void (*)(const void*, size_t, size_t, float*);
HideKeys hider(size_t bytes) {
  switch (bytes) {
    case 1:
      return hide_keys<uint8_t>;
    case 2:
      return hide_keys<uint16_t>;
    case 4:
      return hide_keys<uint32_t>;
    default:
      return hide_keys<uint64_t>;
  }
}

}  // namespace

AttentionMaskRows::AttentionMaskRows(const AttentionMasks& masks, size_t source, size_t keys,
                                     size_t sample, size_t head, float* memory)
    : masks_(masks),
      source_(source),
      offset_(sample * masks.matrix.sample + head * masks.matrix.head),
      keys_(memory),
      hide_(memory + keys),
      add_(memory + 2 * keys) {
  if (!masks.any()) return;
  std::fill(memory, memory + 3 * keys, 0.0f);
  if (masks.keys.data == nullptr) return;
  const auto* data = static_cast<const char*>(masks.keys.data);
  hider(masks.keys.bytes)(data + sample * masks.keys.step * masks.keys.bytes, masks.keys.stride,
                          source, keys_);
}

AttentionMaskRow AttentionMaskRows::row(size_t query) const {
  const AttentionMasks::Matrix& m = masks_.matrix;
  AttentionMaskRow result;
  if (masks_.keys.data != nullptr) result.hide = keys_;
  if (m.data == nullptr) return result;
  const size_t first = offset_ + query * m.query;
  if (m.is_boolean) {
    const auto* from = static_cast<const uint8_t*>(m.data) + first;
    for (size_t i = 0; i < source_; ++i) hide_[i] = from[i * m.key] != 0 ? kHidden : keys_[i];
    result.hide = hide_;
  } else {
    const float* from = static_cast<const float*>(m.data) + first;
    result.add = from;
    // The row is used where it lies, unless it has gaps or lacks the keys that are appended.
    if (m.key == 1 && hide_ == keys_ + source_) return result;
    for (size_t i = 0; i < source_; ++i) add_[i] = from[i * m.key];
    result.add = add_;
  }
  return result;
}

}  // namespace bnns::impl
