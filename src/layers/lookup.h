// What the embedding layer and the functions gather and scatter have in common: coordinates of
// descriptors, with signed strides, and problems of ops/lookup made from them.
#pragma once

#include "core/call.h"
#include "core/descriptor.h"
#include "ops/lookup/lookup.h"

namespace bnns::impl {

// A tensor by coordinate. Strides of rotated weights are negative; `origin` is the offset of the
// element whose coordinates are all 0.
struct Coordinates {
  size_t rank = 0;
  size_t extent[kMaxRank] = {};
  ptrdiff_t stride[kMaxRank] = {};
  ptrdiff_t origin = 0;
  size_t in_memory[kMaxRank] = {};  // the coordinates, from the fastest one in memory on

  void* first(const void* data, BNNSDataType type) const {
    return static_cast<char*>(const_cast<void*>(data)) +
           origin * static_cast<ptrdiff_t>(type_bytes(type));
  }
};

Coordinates logical_coordinates(const Descriptor& d);  // a matrix: row, column
Coordinates size_coordinates(const Descriptor& d);     // in the order of size[]

// Refuses layouts without plain elements, and types that are not whole bytes or have a table.
void require_stored_values(const Descriptor& d, const char* field);
void require_indices(const Descriptor& d, const char* field);

// A coordinate that is counted by the indices (kNone: not a coordinate of this tensor), the table
// and the rows.
struct SharedCoordinate {
  static constexpr size_t kNone = SIZE_MAX;
  size_t indices = kNone, table = kNone, rows = kNone;
};

// The tensors of a problem by coordinate, which adds one axis at a time: places in the order in
// which they take effect, slices from the fastest axis of memory on.
struct LookupTensors {
  Coordinates indices, table, rows;

  AxisOf<kLookupTensors> axis(const SharedCoordinate& c, size_t extent) const {
    const auto stride = [](const Coordinates& of, size_t i) {
      return i == SharedCoordinate::kNone ? 0 : of.stride[i];
    };
    return {.extent = extent,
            .reduced = false,
            .stride = {stride(indices, c.indices), stride(table, c.table), stride(rows, c.rows)}};
  }
};

}  // namespace bnns::impl
