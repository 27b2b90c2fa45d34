// Tensors whose stored values are moved as they are: any layout that is a plain array, any type of
// whole bytes; scale and bias do not matter. Axis a is that of size[a].
#pragma once

#include <algorithm>

#include "core/descriptor.h"

namespace bnns::impl {

inline Descriptor read_stored_values(const BNNSNDArrayDescriptor& given, const char* field,
                                     Use use) {
  const Descriptor result = read_descriptor(given, field, use);
  require_plain_layout(result, field);
  require(result.type->bytes() > 0, field, ".data_type is ", result.type->name,
          "; values below a byte cannot be moved");
  return result;
}

inline void require_equal_types(const Descriptor& a, const char* a_name, const Descriptor& b,
                                const char* b_name) {
  require(a.type == b.type, a_name, ".data_type is ", a.type->name, ", ", b_name, ".data_type is ",
          b.type->name, "; they must be equal");
}

// The axis of the view, and so the entry of stride[], that belongs to size[axis].
inline size_t view_axis_of_size(const LayoutInfo& layout, size_t axis) {
  return static_cast<size_t>(std::find(layout.pair, layout.pair + layout.rank, axis) - layout.pair);
}

}  // namespace bnns::impl
