// Reads a BNNSNDArrayDescriptor: every rule about layout, type, sizes and strides is checked here,
// once, and all size arithmetic that could overflow is done here.
#pragma once

#include <cstdint>
#include <optional>

#include "core/error.h"
#include "core/types.h"
#include "core/view.h"

namespace bnns::impl {

enum class Use { kInput, kOutput };  // elements of an output must not overlap

struct Descriptor {
  const LayoutInfo* layout = nullptr;
  const TypeInfo* type = nullptr;
  size_t size[kMaxRank] = {};  // as in the descriptor
  View view;                   // one axis per entry of stride[], data as in the descriptor
  bool accumulate = false;     // BNNSNDArrayFlagBackpropAccumulate

  size_t rank() const { return layout->rank; }
  // Extent and stride by logical coordinate (matrix: row, column).
  size_t logical_extent(size_t i) const { return size[layout->tuple[i]]; }
  size_t logical_stride(size_t i) const;

 private:
  friend Descriptor read_descriptor(const BNNSNDArrayDescriptor&, const char*, Use);
  friend bool is_written_like(const BNNSNDArrayDescriptor&, const Descriptor&);
  size_t given_stride_[kMaxRank] = {};
};

// `field` names the descriptor in messages, e.g. "i_desc".
Descriptor read_descriptor(const BNNSNDArrayDescriptor& given, const char* field, Use use);

// True if `given` says the same as the descriptor `frozen` was read from; the data and flags apart.
inline bool is_written_like(const BNNSNDArrayDescriptor& given, const Descriptor& frozen) {
  if (given.layout != frozen.layout->layout || given.data_type != frozen.type->type) return false;
  bool equal = frozen.type->kind == TypeClass::kFloat;
  for (size_t k = 0; k < frozen.layout->rank; ++k) {
    equal &= given.size[k] == frozen.size[k];
    equal &= given.stride[k] == frozen.given_stride_[k];
  }
  return equal;
}

// Types of gradients; normalization takes BFloat16 too.
enum class DeltaTypes { kFloat32, kFloat32OrBFloat16 };

// Reads a gradient that must have the elements of `frozen` (named `frozen_field`): same sizes in
// the same layout, or the same count in another. With data of a type that is allowed.
Descriptor read_delta(const BNNSNDArrayDescriptor& given, const char* field,
                      const Descriptor& frozen, const char* frozen_field, Use use,
                      DeltaTypes types = DeltaTypes::kFloat32);

// A gradient as read_delta() reads it, without copying what it shares with the frozen descriptor:
// that is most of the time of a small backward call. The frozen one must outlive it.
class Delta {
 public:
  void read(const BNNSNDArrayDescriptor& given, const char* field, const Descriptor& frozen,
            const char* frozen_field, Use use, DeltaTypes types = DeltaTypes::kFloat32);

  const Descriptor& descriptor() const { return read_ ? *read_ : *frozen_; }
  const View& view() const { return descriptor().view; }  // its data may be that of the frozen one
  void* data() const { return data_; }
  bool accumulate() const { return accumulate_; }

 private:
  std::optional<Descriptor> read_;  // where it is written differently
  const Descriptor* frozen_ = nullptr;
  void* data_ = nullptr;
  bool accumulate_ = false;
};

// "ImageCHW {4, 3, 2}" for messages.
Text describe(const Descriptor& descriptor);

// Refuses layouts that are not plain arrays (packed or opaque ones).
void require_plain_layout(const Descriptor& descriptor, const char* field);

// ---- Pointers and batches that arrive with a call ----

// Sizes are powers of two; 0 for values below a byte, which have no alignment.
inline bool is_aligned(const void* data, BNNSDataType type) {
  const size_t bytes = type_bytes(type);
  return bytes == 0 || (reinterpret_cast<uintptr_t>(data) & (bytes - 1)) == 0;
}

inline void require_data(const void* data, BNNSDataType type, const char* name) {
  require(data != nullptr, name, " is NULL; it must point to data");
  require(is_aligned(data, type), name, " is ", data, "; it must be aligned to ", type_bytes(type),
          " bytes");
}

// Batch strides: 0 or at least one sample, so that samples do not overlap; or so small that the
// whole batch lies between two places that a value can have (samples interleaved).
void require_batch_of_many(const View& sample, size_t batch, size_t batch_stride, const char* name);
inline void require_batch(const View& sample, size_t batch, size_t batch_stride, const char* name) {
  if (batch > 1) require_batch_of_many(sample, batch, batch_stride, name);
}

// Byte range of a batch.
struct Range {
  const char* begin = nullptr;
  const char* end = nullptr;
};
inline Range range_of(const View& sample, const void* data, size_t batch, size_t batch_stride) {
  const size_t step = batch_stride == 0 ? sample.span : batch_stride;
  const size_t values = sample.span + (batch - 1) * step;
  // In whole bytes also for values below a byte, without an overflow on the way.
  const size_t bits = static_cast<uint32_t>(sample.type) & 0x7FFF;
  const size_t bytes = values / 8 * bits + (values % 8 * bits + 7) / 8;
  const auto* begin = static_cast<const char*>(data);
  return {.begin = begin, .end = begin + bytes};
}

// Of contiguous values; nothing for NULL.
inline Range range_of(const float* data, size_t count) {
  if (data == nullptr) return {};
  return {.begin = reinterpret_cast<const char*>(data),
          .end = reinterpret_cast<const char*>(data + count)};
}

inline bool overlap(const Range& a, const Range& b) {
  return a.begin < b.end && b.begin < a.end;
}

inline void require_apart(const Range& a, const char* a_name, const Range& b, const char* b_name) {
  require(!overlap(a, b), a_name, " and ", b_name, " overlap in memory; they must be separate");
}

}  // namespace bnns::impl
