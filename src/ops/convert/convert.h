// Stored values to numbers and back: y = scale * x + bias from integers, x =
// saturate(round-to-even(y / scale - bias)) to integers, table look-up for indexed types, IEEE
// rounding for 16-bit floats. float is the working type; Wide holds every 64-bit integer exactly,
// for conversions between large integers. NaN becomes the integer 0. Values of sub-byte types are
// packed from the low bits up.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/view.h"

namespace bnns::impl {

using Wide = long double;

struct ConvertKernels {
  void (*half_to_float)(const uint16_t* in, size_t n, float* out);
  void (*float_to_half)(const float* in, size_t n, uint16_t* out);
};
const ConvertKernels* convert_kernels();

// Elements [first, first + n) of a collapsed view, in memory order.
void read_values(const ConvertKernels& kernels, const View& view, size_t first, size_t n,
                 float* out);
void write_values(const ConvertKernels& kernels, const View& view, size_t first, size_t n,
                  const float* in);
void read_values(const View& view, size_t first, size_t n, Wide* out);
void write_values(const View& view, size_t first, size_t n, const Wide* in);
// Raw integers, without scale and bias; integer types of at most 64 bits only.
void read_values(const View& view, size_t first, size_t n, int64_t* out);
void write_values(const View& view, size_t first, size_t n, const int64_t* in);

// True if float holds every value of the type exactly, so that float may be the working type.
bool fits_float(const TypeInfo& type);

// Whether values of the type can be written; sub-byte and indexed types are read-only.
bool can_write(const TypeInfo& type);

}  // namespace bnns::impl
