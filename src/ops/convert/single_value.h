// Single values of a tensor, at signed offsets: results that are written one by one.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>

#include "core/axes.h"
#include "math/half.h"

namespace bnns::impl {

inline void* shifted(const AxesTensor& tensor, ptrdiff_t offset) {
  return static_cast<char*>(tensor.data) + offset * static_cast<ptrdiff_t>(type_bytes(tensor.type));
}

// Of Float32, Float16 or BFloat16.
inline double read_value(const AxesTensor& values, ptrdiff_t offset) {
  switch (values.type) {
    case BNNSDataTypeFloat16:
      return double{half_to_float(static_cast<const uint16_t*>(values.data)[offset])};
    case BNNSDataTypeBFloat16:
      return double{bfloat_to_float(static_cast<const uint16_t*>(values.data)[offset])};
    default:
      return double{static_cast<const float*>(values.data)[offset]};
  }
}

// To Float32, Float16, BFloat16 or Boolean.
inline void write_value(const AxesTensor& values, ptrdiff_t offset, double value) {
  const auto rounded = static_cast<float>(value);
  switch (values.type) {
    case BNNSDataTypeFloat16:
      static_cast<uint16_t*>(values.data)[offset] = float_to_half(rounded);
      break;
    case BNNSDataTypeBFloat16:
      static_cast<uint16_t*>(values.data)[offset] = float_to_bfloat(rounded);
      break;
    case BNNSDataTypeBoolean:
      static_cast<uint8_t*>(values.data)[offset] = value != 0;
      break;
    default:
      static_cast<float*>(values.data)[offset] = rounded;
      break;
  }
}

}  // namespace bnns::impl
