// Element types: how a number is stored, rounded and saturated, one value at a time.
//   integer to real: scale * X + bias
//   real to integer: saturate(nearest_even(Y / scale - bias))
//   indexed to real: table[X]
//   NaN to integer:  0
#ifndef OPENBNNS_SPEC_DTYPE_H
#define OPENBNNS_SPEC_DTYPE_H

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

#include <openbnns/bnns.h>

namespace spec {

enum class Kind { kFloat, kInteger, kBoolean, kIndexed };

struct TypeInfo {
  BNNSDataType type;
  const char* name;
  Kind kind;
  size_t bytes;
  int precision;     // significant bits of a float
  int min_exponent;  // of the smallest normal float
  double lo, hi;     // smallest and largest finite value
};

inline constexpr TypeInfo kTypes[] = {
    {BNNSDataTypeFloat32, "f32", Kind::kFloat, 4, 24, -126, -0x1.fffffep127, 0x1.fffffep127},
    {BNNSDataTypeFloat16, "f16", Kind::kFloat, 2, 11, -14, -65504.0, 65504.0},
    {BNNSDataTypeBFloat16, "bf16", Kind::kFloat, 2, 8, -126, -0x1.fep127, 0x1.fep127},
    {BNNSDataTypeInt8, "i8", Kind::kInteger, 1, 0, 0, -128.0, 127.0},
    {BNNSDataTypeInt16, "i16", Kind::kInteger, 2, 0, 0, -32768.0, 32767.0},
    {BNNSDataTypeInt32, "i32", Kind::kInteger, 4, 0, 0, -0x1p31, 0x1p31 - 1},
    {BNNSDataTypeInt64, "i64", Kind::kInteger, 8, 0, 0, -0x1p63, 0x1p63},
    {BNNSDataTypeUInt8, "u8", Kind::kInteger, 1, 0, 0, 0.0, 255.0},
    {BNNSDataTypeUInt16, "u16", Kind::kInteger, 2, 0, 0, 0.0, 65535.0},
    {BNNSDataTypeUInt32, "u32", Kind::kInteger, 4, 0, 0, 0.0, 0x1p32 - 1},
    {BNNSDataTypeUInt64, "u64", Kind::kInteger, 8, 0, 0, 0.0, 0x1p64},
    {BNNSDataTypeBoolean, "bool", Kind::kBoolean, 1, 0, 0, 0.0, 1.0},
    {BNNSDataTypeIndexed8, "idx8", Kind::kIndexed, 1, 0, 0, 0.0, 255.0},
};

inline const TypeInfo& type_info(BNNSDataType type) {
  for (const TypeInfo& row : kTypes)
    if (row.type == type) return row;
  return kTypes[0];
}

// Round to nearest, ties to even, in a float format with subnormals; overflow gives infinity.
inline double round_to_format(double v, const TypeInfo& row) {
  if (v == 0 || !std::isfinite(v)) return v;
  const int exponent = std::max(std::ilogb(v), row.min_exponent);
  const double quantum = std::ldexp(1.0, exponent - row.precision + 1);
  const double r = std::nearbyint(v / quantum) * quantum;
  return std::abs(r) > row.hi ? std::copysign(std::numeric_limits<double>::infinity(), v) : r;
}

inline uint16_t half_bits(double v) {
  const uint16_t sign = std::signbit(v) ? 0x8000 : 0;
  const double a = std::abs(v);
  if (std::isnan(v)) return sign | 0x7E00;
  if (std::isinf(v)) return sign | 0x7C00;
  if (a < 0x1p-14) return sign | static_cast<uint16_t>(a * 0x1p24);
  const int e = std::ilogb(a);
  return sign |
         static_cast<uint16_t>(((e + 15) << 10) + static_cast<int>((std::ldexp(a, -e) - 1) * 1024));
}

inline double half_value(uint16_t bits) {
  const int e = (bits >> 10) & 31, m = bits & 1023;
  double a = e == 0 ? m * 0x1p-24 : std::ldexp(1.0 + m / 1024.0, e - 15);
  if (e == 31)
    a = m ? std::numeric_limits<double>::quiet_NaN() : std::numeric_limits<double>::infinity();
  return bits & 0x8000 ? -a : a;
}

inline double saturate(double v, const TypeInfo& row) {
  if (std::isnan(v)) return 0;
  return std::min(std::max(std::nearbyint(v), row.lo), row.hi);
}

// The stored number nearest to v: a value of the format, or an integer in range.
inline double stored_nearest(double v, const TypeInfo& row) {
  switch (row.kind) {
    case Kind::kFloat:
      return round_to_format(v, row);
    case Kind::kBoolean:
      return v != 0 ? 1 : 0;
    default:
      return saturate(v, row);
  }
}

template <class T>
void put(void* to, T v) {
  std::memcpy(to, &v, sizeof(T));
}
template <class T>
T get(const void* from) {
  T v;
  std::memcpy(&v, from, sizeof(T));
  return v;
}

// Writes a number that stored_nearest() returned.
inline void encode(double v, BNNSDataType type, void* to) {
  switch (type) {
    case BNNSDataTypeFloat32:
      return put(to, static_cast<float>(v));
    case BNNSDataTypeFloat16:
      return put(to, half_bits(v));
    case BNNSDataTypeBFloat16: {
      uint32_t bits = get<uint32_t>(std::vector<float>{static_cast<float>(v)}.data());
      return put(to, static_cast<uint16_t>(bits >> 16));
    }
    case BNNSDataTypeInt8:
      return put(to, static_cast<int8_t>(v));
    case BNNSDataTypeInt16:
      return put(to, static_cast<int16_t>(v));
    case BNNSDataTypeInt32:
      return put(to, static_cast<int32_t>(v));
    case BNNSDataTypeInt64:
      return put(to, v >= 0x1p63 ? std::numeric_limits<int64_t>::max() : static_cast<int64_t>(v));
    case BNNSDataTypeUInt16:
      return put(to, static_cast<uint16_t>(v));
    case BNNSDataTypeUInt32:
      return put(to, static_cast<uint32_t>(v));
    case BNNSDataTypeUInt64:
      return put(to, v >= 0x1p64 ? std::numeric_limits<uint64_t>::max() : static_cast<uint64_t>(v));
    default:
      return put(to, static_cast<uint8_t>(v));
  }
}

inline double decode(BNNSDataType type, const void* from) {
  switch (type) {
    case BNNSDataTypeFloat32:
      return get<float>(from);
    case BNNSDataTypeFloat16:
      return half_value(get<uint16_t>(from));
    case BNNSDataTypeBFloat16: {
      const uint32_t bits = static_cast<uint32_t>(get<uint16_t>(from)) << 16;
      return get<float>(&bits);
    }
    case BNNSDataTypeInt8:
      return get<int8_t>(from);
    case BNNSDataTypeInt16:
      return get<int16_t>(from);
    case BNNSDataTypeInt32:
      return get<int32_t>(from);
    case BNNSDataTypeInt64:
      return static_cast<double>(get<int64_t>(from));
    case BNNSDataTypeUInt16:
      return get<uint16_t>(from);
    case BNNSDataTypeUInt32:
      return get<uint32_t>(from);
    case BNNSDataTypeUInt64:
      return static_cast<double>(get<uint64_t>(from));
    default:
      return get<uint8_t>(from);
  }
}

// A type together with what a descriptor adds to it.
struct ElementType {
  BNNSDataType type = BNNSDataTypeFloat32;
  float scale = 1;
  float bias = 0;
  std::vector<float> table = {};

  const TypeInfo& info() const { return type_info(type); }
  bool scaled() const { return info().kind == Kind::kInteger; }
  double to_real(double stored) const {
    if (info().kind == Kind::kIndexed) return table[static_cast<size_t>(stored)];
    return scaled() ? double{scale} * stored + bias : stored;
  }
  double to_stored_unrounded(double real) const { return scaled() ? real / scale - bias : real; }
  double to_stored(double real) const { return stored_nearest(to_stored_unrounded(real), info()); }
};

}  // namespace spec
#endif
