// One table of data types and one of layouts, with all that the library knows about them.
#pragma once

#include <cstddef>
#include <cstdint>

#include "openbnns/bnns_structures.h"

namespace bnns::impl {

enum class TypeClass : uint8_t { kFloat, kSigned, kUnsigned, kIndexed, kBoolean };

struct TypeInfo {
  BNNSDataType type;
  const char* name;
  TypeClass kind;
  uint8_t bits;

  size_t bytes() const { return bits / 8; }  // 0 for types below a byte
  bool is_integer() const { return kind == TypeClass::kSigned || kind == TypeClass::kUnsigned; }
};

// nullptr for a value that is no data type.
const TypeInfo* find_type(BNNSDataType type);
const char* type_name(BNNSDataType type);
// Bytes of one value; 0 for types below a byte. The type must be known.
constexpr size_t type_bytes(BNNSDataType type) {
  return (static_cast<uint32_t>(type) & 0x7FFF) / 8;
}

// A floating-point type represents all whole numbers up to 2^digits exactly.
constexpr size_t exact_digits(BNNSDataType type) {
  return type == BNNSDataTypeFloat32 ? 24 : type == BNNSDataTypeFloat16 ? 11 : 8;
}

// Axes are in memory order: axis 0 is that of stride[0], the fastest. `pair[k]` is the index in
// size[] of the axis of stride[k]; `tuple[i]` is the index in size[] of logical coordinate i (the
// coordinates of a matrix are row, column).
struct LayoutInfo {
  BNNSDataLayout layout;
  const char* name;
  uint8_t rank;
  uint8_t pair[8];
  uint8_t tuple[8];
  bool rotated = false;   // the first two axes (kernel width and height) run backwards
  bool packed32 = false;  // blocks of 32 output channels, innermost
  bool opaque = false;    // FullyConnectedSparse
};

const LayoutInfo* find_layout(BNNSDataLayout layout);

}  // namespace bnns::impl
