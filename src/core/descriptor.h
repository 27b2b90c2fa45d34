// Reads a BNNSNDArrayDescriptor: every rule about layout, type, sizes and strides is checked here,
// once, and all size arithmetic that could overflow is done here. The other arguments of a call are
// read in core/call.h.
#pragma once

#include <cstdint>

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
  size_t span_bytes = 0;       // span of the view in bytes, rounded up
  uintptr_t misaligned = 0;    // mask of the address bits that must be 0
  bool accumulate = false;     // BNNSNDArrayFlagBackpropAccumulate

  size_t rank() const { return layout->rank; }
  // Extent and stride by logical coordinate (matrix: row, column).
  size_t logical_extent(size_t i) const { return size[layout->tuple[i]]; }
  size_t logical_stride(size_t i) const { return view.stride[memory_axis(i)]; }
  // The axis of the view that runs along logical coordinate i.
  size_t memory_axis(size_t i) const;

 private:
  friend Descriptor read_descriptor(const BNNSNDArrayDescriptor&, const char*, Use);
  friend bool is_written_like(const BNNSNDArrayDescriptor&, const Descriptor&);
  size_t given_stride_[kMaxRank] = {};
};

// `field` names the descriptor in messages, e.g. "i_desc".
Descriptor read_descriptor(const BNNSNDArrayDescriptor& given, const char* field, Use use);

// Whether `given` has the same layout, Float type, sizes and strides as the descriptor from which
// `frozen` was read; data and flags are not compared.
inline bool is_written_like(const BNNSNDArrayDescriptor& given, const Descriptor& frozen) {
  if (given.layout != frozen.layout->layout || given.data_type != frozen.type->type) return false;
  bool equal = frozen.type->kind == TypeClass::kFloat;
  for (size_t k = 0; k < frozen.layout->rank; ++k) {
    equal &= given.size[k] == frozen.size[k];
    equal &= given.stride[k] == frozen.given_stride_[k];
  }
  return equal;
}

// Refuses a gradient that does not have the elements of `frozen`: the same sizes in the same
// layout, or the same number of elements in another.
void require_same_elements(const Descriptor& delta, const char* field, const Descriptor& frozen,
                           const char* frozen_field);

// "ImageCHW {4, 3, 2}" for messages.
Text describe(const Descriptor& descriptor);

// Refuses layouts that are not plain arrays (packed or opaque ones).
void require_plain_layout(const Descriptor& descriptor, const char* field);

}  // namespace bnns::impl
