#include "layers/lookup.h"

#include <algorithm>

#include "core/error.h"
#include "ops/convert/convert.h"

namespace bnns::impl {
namespace {

// `entry[i]` is the index in size[] of coordinate i.
Coordinates coordinates(const Descriptor& d, const uint8_t* entry) {
  Coordinates result;
  result.rank = d.rank();
  for (size_t k = 0; k < d.rank(); ++k) {
    const auto i =
        static_cast<size_t>(std::find(entry, entry + d.rank(), d.layout->pair[k]) - entry);
    const auto stride = static_cast<ptrdiff_t>(d.view.stride[k]);
    result.in_memory[k] = i;
    result.extent[i] = d.view.extent[k];
    result.stride[i] = stride;
    if (d.layout->rotated && d.layout->pair[k] < 2) {
      result.stride[i] = -stride;
      result.origin += static_cast<ptrdiff_t>(d.view.extent[k] - 1) * stride;
    }
  }
  return result;
}

}  // namespace

Coordinates logical_coordinates(const Descriptor& d) {
  return coordinates(d, d.layout->tuple);
}

Coordinates size_coordinates(const Descriptor& d) {
  static constexpr uint8_t kEntries[kMaxRank] = {0, 1, 2, 3, 4, 5, 6, 7};
  return coordinates(d, kEntries);
}

void require_stored_values(const Descriptor& d, const char* field) {
  require_plain_layout(d, field);
  require(can_write(*d.type), field, ".data_type is ", d.type->name,
          "; it must be a type of whole bytes without a table");
}

void require_indices(const Descriptor& d, const char* field) {
  require_plain_layout(d, field);
  require(!d.layout->rotated, field, ".layout is ", d.layout->name,
          "; rotated weights hold no indices");
  require(d.type->is_integer() && d.type->bytes() > 0, field, ".data_type is ", d.type->name,
          "; indices are integers of 8, 16, 32 or 64 bits");
}

}  // namespace bnns::impl
