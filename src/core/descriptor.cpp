#include "core/descriptor.h"

#include <algorithm>
#include <cstdint>
#include <limits>

#include "core/checked.h"

namespace bnns::impl {
namespace {

constexpr size_t kPack = 32;

void check_type(const BNNSNDArrayDescriptor& given, const char* field, const TypeInfo& type) {
  if (type.kind == TypeClass::kIndexed) {
    require(given.table_data != nullptr, field, ".table_data is NULL; ", type.name,
            " needs a table of ", 1u << type.bits, " values");
    const TypeInfo* table = find_type(given.table_data_type);
    require(table != nullptr && table->kind == TypeClass::kFloat, field, ".table_data_type is ",
            static_cast<uint32_t>(given.table_data_type), "; it must be a floating-point type");
    require(reinterpret_cast<uintptr_t>(given.table_data) % table->bytes() == 0, field,
            ".table_data is ", static_cast<const void*>(given.table_data),
            "; it must be aligned to ", table->bytes(), " bytes");
  }
  if (type.is_integer()) {
    require(given.data_scale - given.data_scale == 0, field, ".data_scale is ",
            double{given.data_scale}, "; it must be finite");
    require(given.data_bias - given.data_bias == 0, field, ".data_bias is ",
            double{given.data_bias}, "; it must be finite");
  }
}

Scaling scaling_of(const BNNSNDArrayDescriptor& given, const TypeInfo& type) {
  Scaling scaling;
  if (type.is_integer()) {
    scaling.scale = given.data_scale == 0 ? 1 : given.data_scale;
    scaling.bias = given.data_bias;
  } else if (type.kind == TypeClass::kIndexed) {
    scaling.table = given.table_data;
    scaling.table_type = given.table_data_type;
  }
  return scaling;
}

// Fills extents and strides in memory order: replaces strides of zero by the packed value, and
// checks the rules on order and overlap.
void resolve_strides(const BNNSNDArrayDescriptor& given, const char* field, Use use,
                     Descriptor& result) {
  View& view = result.view;
  const LayoutInfo& layout = *result.layout;
  size_t packed = 1;  // what a zero stands for
  size_t below = 1;   // values spanned by the axes below
  for (size_t k = 0; k < view.rank; ++k) {
    view.extent[k] = given.size[layout.pair[k]];
    view.stride[k] = given.stride[k] == 0 ? packed : given.stride[k];
    if (k > 0) {
      require(view.stride[k] >= view.stride[k - 1], field, ".stride[", k, "] is ", view.stride[k],
              ", below stride[", k - 1, "], which is ", view.stride[k - 1],
              "; strides must not decrease");
    }
    const bool overlaps = view.extent[k] > 1 && view.stride[k] < below;
    view.overlaps |= overlaps;
    require(use == Use::kInput || !overlaps, field, ".stride[", k, "] is ", view.stride[k],
            ", but the axes below it span ", below,
            " values; elements of an output must not overlap");
    packed = checked_mul(view.stride[k], view.extent[k], field);
    below = checked_add(below, checked_mul(view.extent[k] - 1, view.stride[k], field), field);
  }
}

void resolve_span(const char* field, Descriptor& result) {
  View& view = result.view;
  view.count = 1;
  view.span = 1;
  view.step = 1;
  for (size_t k = 0; k < view.rank; ++k) {
    view.count = checked_mul(view.count, view.extent[k], field);
    view.step = std::max(view.step, checked_mul(view.extent[k], view.stride[k], field));
    view.span =
        checked_add(view.span, checked_mul(view.extent[k] - 1, view.stride[k], field), field);
  }
  if (result.layout->packed32) {
    // Packed weights are contiguous, whatever the strides say; the last block of output channels is
    // padded to 32.
    const size_t channels = result.size[3];
    view.span = checked_mul(checked_mul(div_up(channels, kPack), kPack, field),
                            view.count / channels, field);
    view.step = view.span;
  }
  constexpr auto kMost = static_cast<size_t>(std::numeric_limits<ptrdiff_t>::max());
  const size_t bytes = checked_mul(view.span, div_up(result.type->bits, 8), field);
  require(bytes <= kMost, field, " spans ", bytes, " bytes; that is more than an address space");
  // Elements that overlap may be more than their span.
  require(view.count <= kMost, field, " has ", view.count, " elements; at most ", kMost,
          " can be counted");
}

}  // namespace

size_t Descriptor::memory_axis(size_t i) const {
  return static_cast<size_t>(std::find(layout->pair, layout->pair + rank(), layout->tuple[i]) -
                             layout->pair);
}

Descriptor read_descriptor(const BNNSNDArrayDescriptor& given, const char* field, Use use) {
  Descriptor result;
  result.layout = find_layout(given.layout);
  require(result.layout != nullptr, field, ".layout is ", static_cast<uint32_t>(given.layout),
          "; that is no BNNSDataLayout");
  result.type = find_type(given.data_type);
  require(result.type != nullptr, field, ".data_type is ", static_cast<uint32_t>(given.data_type),
          "; that is no BNNSDataType");
  check_type(given, field, *result.type);
  result.view.rank = result.layout->rank;
  for (size_t k = 0; k < result.view.rank; ++k) {
    require(given.size[k] > 0, field, ".size[", k, "] is 0; it must be at least 1");
    result.size[k] = given.size[k];
    result.given_stride_[k] = given.stride[k];
  }
  if (result.layout->packed32) {
    require(given.stride[0] <= 1, field, ".stride[0] is ", given.stride[0],
            "; packed weights are contiguous, it must be 0 or 1");
  }
  resolve_strides(given, field, use, result);
  resolve_span(field, result);
  result.view.data = given.data;
  result.view.type = given.data_type;
  result.view.scaling = scaling_of(given, *result.type);
  const size_t bits = result.type->bits;
  result.span_bytes = bits >= 8 ? result.view.span * (bits / 8)
                                : div_up(checked_mul(result.view.span, bits, field), 8);
  result.misaligned = bits >= 8 ? bits / 8 - 1 : 0;
  result.accumulate = given.flags == BNNSNDArrayFlagBackpropAccumulate;
  return result;
}

void require_same_elements(const Descriptor& delta, const char* field, const Descriptor& frozen,
                           const char* frozen_field) {
  bool equal = delta.view.count == frozen.view.count;
  for (size_t k = 0; delta.layout == frozen.layout && k < frozen.rank(); ++k)
    equal &= delta.size[k] == frozen.size[k];
  if (!equal) {
    fail(field, " is ", describe(delta), ", but ", frozen_field, " is ", describe(frozen),
         "; they must have the same elements");
  }
}

Text describe(const Descriptor& descriptor) {
  Text text(descriptor.layout->name, " {");
  for (size_t k = 0; k < descriptor.rank(); ++k) {
    text.add(k == 0 ? "" : ", ");
    text.add(descriptor.size[k]);
  }
  text.add('}');
  return text;
}

void require_plain_layout(const Descriptor& descriptor, const char* field) {
  require(!descriptor.layout->packed32 && !descriptor.layout->opaque, field, ".layout is ",
          descriptor.layout->name, "; it must be a plain array here");
}

}  // namespace bnns::impl
