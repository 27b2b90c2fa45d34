// See convert.h. The codec table has one entry per data type that reads and writes a run of values
// with any stride. Highway kernels exist only for Float16, where conversion instructions beat
// compiled code.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/convert/convert.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

#include "ops/convert/convert.h"
#include "math/half.h"

HWY_BEFORE_NAMESPACE();
namespace bnns::impl::HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;

// Only targets with conversion instructions: Highway's emulation on the others does not round to
// even.
#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_NEON
constexpr bool kHasHalf = true;
#else
constexpr bool kHasHalf = false;
#endif

void HalfRow(const uint16_t* in, size_t n, float* out) {
  size_t i = 0;
  if constexpr (kHasHalf) {
    const hn::ScalableTag<float> d;
    const hn::Rebind<hwy::float16_t, decltype(d)> half;
    for (; i + hn::Lanes(d) <= n; i += hn::Lanes(d)) {
      const auto stored = hn::LoadU(half, reinterpret_cast<const hwy::float16_t*>(in + i));
      hn::StoreU(hn::PromoteTo(d, stored), d, out + i);
    }
  }
  for (; i < n; ++i) out[i] = half_to_float(in[i]);
}

void ToHalfRow(const float* in, size_t n, uint16_t* out) {
  size_t i = 0;
  if constexpr (kHasHalf) {
    const hn::ScalableTag<float> d;
    const hn::Rebind<hwy::float16_t, decltype(d)> half;
    for (; i + hn::Lanes(d) <= n; i += hn::Lanes(d)) {
      const auto rounded = hn::DemoteTo(half, hn::LoadU(d, in + i));
      hn::StoreU(rounded, half, reinterpret_cast<hwy::float16_t*>(out + i));
    }
  }
  for (; i < n; ++i) out[i] = float_to_half(in[i]);
}

const ConvertKernels* ConvertTable() {
  static constexpr ConvertKernels kTable = {.half_to_float = HalfRow, .float_to_half = ToHalfRow};
  return &kTable;
}

}  // namespace
}  // namespace bnns::impl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#include "core/target.h"

namespace bnns::impl {
namespace {

HWY_EXPORT(ConvertTable);

// ---- Storage formats that are not C++ types ----
struct Half {
  uint16_t bits;
};
struct BFloat {
  uint16_t bits;
};
struct Bool {
  uint8_t byte;
};

template <class To, class From>
To saturate(From value) {
  if constexpr (std::is_integral_v<From>) {
    if (std::is_unsigned_v<To> && value < 0) return 0;
    if (value < 0) return static_cast<To>(std::max<From>(value, std::numeric_limits<To>::min()));
    const auto magnitude = static_cast<std::make_unsigned_t<From>>(value);
    return magnitude > static_cast<std::make_unsigned_t<To>>(std::numeric_limits<To>::max())
               ? std::numeric_limits<To>::max()
               : static_cast<To>(value);
  } else {
    if (value != value) return 0;
    // The bounds are exact powers of two, so that the comparison itself does not round.
    constexpr int kDigits = std::numeric_limits<To>::digits;
    const From limit = std::ldexp(From{1}, kDigits);
    if (value >= limit) return std::numeric_limits<To>::max();
    if (value <= (std::is_signed_v<To> ? -limit : From{0})) return std::numeric_limits<To>::min();
    return static_cast<To>(value);
  }
}

// Number is float, Wide or int64_t.
template <class Number, class T>
Number decode(T stored, const Scaling& s) {
  if constexpr (std::is_same_v<T, Half>) {
    return static_cast<Number>(half_to_float(stored.bits));
  } else if constexpr (std::is_same_v<T, BFloat>) {
    return static_cast<Number>(bfloat_to_float(stored.bits));
  } else if constexpr (std::is_same_v<T, Bool>) {
    return static_cast<Number>(stored.byte != 0);
  } else if constexpr (std::is_integral_v<T> && !std::is_integral_v<Number>) {
    // Integers wider than 16 bits are scaled in the wide type, so that only one rounding happens.
    using Work = std::conditional_t<sizeof(T) <= 2, Number, Wide>;
    return static_cast<Number>(static_cast<Work>(s.scale) * static_cast<Work>(stored) +
                               static_cast<Work>(s.bias));
  } else {
    return static_cast<Number>(stored);
  }
}

template <class T, class Number>
T encode(Number value, const Scaling& s) {
  if constexpr (std::is_same_v<T, Half>) {
    return {float_to_half(static_cast<float>(value))};
  } else if constexpr (std::is_same_v<T, BFloat>) {
    return {float_to_bfloat(static_cast<float>(value))};
  } else if constexpr (std::is_same_v<T, Bool>) {
    return {static_cast<uint8_t>(value != 0)};
  } else if constexpr (std::is_integral_v<T>) {
    if constexpr (std::is_integral_v<Number>) return saturate<T>(value);
    using Work = std::conditional_t<sizeof(T) <= 2, Number, Wide>;
    const Work scaled = s.is_plain() ? static_cast<Work>(value)
                                     : static_cast<Work>(value) / static_cast<Work>(s.scale) -
                                           static_cast<Work>(s.bias);
    return saturate<T>(std::nearbyint(scaled));
  } else {
    return static_cast<T>(value);
  }
}

template <class T, class Number>
void load_run(const void* data, size_t offset, size_t stride, size_t n, const Scaling& s,
              Number* out) {
  const T* p = static_cast<const T*>(data) + offset;
  if (stride == 1) {
    for (size_t i = 0; i < n; ++i) out[i] = decode<Number>(p[i], s);
  } else {
    for (size_t i = 0; i < n; ++i) out[i] = decode<Number>(p[i * stride], s);
  }
}

template <class T, class Number>
void store_run(void* data, size_t offset, size_t stride, size_t n, const Scaling& s,
               const Number* in) {
  T* p = static_cast<T*>(data) + offset;
  for (size_t i = 0; i < n; ++i) p[i * stride] = encode<T>(in[i], s);
}

// Value number `position` of a packed array of values of `bits` bits each.
uint32_t packed_value(const void* data, size_t position, unsigned bits) {
  const auto* bytes = static_cast<const uint8_t*>(data);
  uint32_t value = 0;
  for (unsigned b = 0; b < bits; ++b) {
    const size_t bit = position * bits + b;
    value |= uint32_t{static_cast<uint32_t>(bytes[bit / 8] >> (bit % 8)) & 1u} << b;
  }
  return value;
}

template <unsigned kBits, bool kSigned, class Number>
void load_packed(const void* data, size_t offset, size_t stride, size_t n, const Scaling& s,
                 Number* out) {
  for (size_t i = 0; i < n; ++i) {
    const auto raw = static_cast<int32_t>(packed_value(data, offset + i * stride, kBits));
    constexpr int32_t kSign = kSigned ? 1 << (kBits - 1) : 0;
    out[i] = decode<Number>(static_cast<int16_t>((raw ^ kSign) - kSign), s);
  }
}

template <class Number>
void load_table(const Scaling& s, uint32_t index, Number* out) {
  const Scaling plain;
  switch (s.table_type) {
    case BNNSDataTypeFloat16:
      load_run<Half>(s.table, index, 1, 1, plain, out);
      break;
    case BNNSDataTypeBFloat16:
      load_run<BFloat>(s.table, index, 1, 1, plain, out);
      break;
    default:
      load_run<float>(s.table, index, 1, 1, plain, out);
      break;
  }
}

template <unsigned kBits, class Number>
void load_indexed(const void* data, size_t offset, size_t stride, size_t n, const Scaling& s,
                  Number* out) {
  for (size_t i = 0; i < n; ++i)
    load_table(s, packed_value(data, offset + i * stride, kBits), out + i);
}

template <class Number>
struct Codec {
  using Load = void (*)(const void*, size_t, size_t, size_t, const Scaling&, Number*);
  using Store = void (*)(void*, size_t, size_t, size_t, const Scaling&, const Number*);
  BNNSDataType type;
  Load load;
  Store store;  // nullptr: read-only
};

template <class T, class Number>
constexpr Codec<Number> codec(BNNSDataType type) {
  return {type, load_run<T, Number>, store_run<T, Number>};
}
template <class Number>
constexpr Codec<Number> reader(BNNSDataType type, typename Codec<Number>::Load load) {
  return {type, load, nullptr};
}

template <class Number>
constexpr Codec<Number> kCodecs[] = {
    codec<float, Number>(BNNSDataTypeFloat32),
    codec<Half, Number>(BNNSDataTypeFloat16),
    codec<BFloat, Number>(BNNSDataTypeBFloat16),
    codec<int8_t, Number>(BNNSDataTypeInt8),
    codec<int16_t, Number>(BNNSDataTypeInt16),
    codec<int32_t, Number>(BNNSDataTypeInt32),
    codec<int64_t, Number>(BNNSDataTypeInt64),
    codec<uint8_t, Number>(BNNSDataTypeUInt8),
    codec<uint16_t, Number>(BNNSDataTypeUInt16),
    codec<uint32_t, Number>(BNNSDataTypeUInt32),
    codec<uint64_t, Number>(BNNSDataTypeUInt64),
    codec<Bool, Number>(BNNSDataTypeBoolean),
    reader<Number>(BNNSDataTypeInt1, load_packed<1, true, Number>),
    reader<Number>(BNNSDataTypeInt2, load_packed<2, true, Number>),
    reader<Number>(BNNSDataTypeInt4, load_packed<4, true, Number>),
    reader<Number>(BNNSDataTypeUInt1, load_packed<1, false, Number>),
    reader<Number>(BNNSDataTypeUInt2, load_packed<2, false, Number>),
    reader<Number>(BNNSDataTypeUInt3, load_packed<3, false, Number>),
    reader<Number>(BNNSDataTypeUInt4, load_packed<4, false, Number>),
    reader<Number>(BNNSDataTypeUInt6, load_packed<6, false, Number>),
    reader<Number>(BNNSDataTypeIndexed1, load_indexed<1, Number>),
    reader<Number>(BNNSDataTypeIndexed2, load_indexed<2, Number>),
    reader<Number>(BNNSDataTypeIndexed4, load_indexed<4, Number>),
    reader<Number>(BNNSDataTypeIndexed8, load_indexed<8, Number>),
};

template <class Number>
const Codec<Number>& codec_of(BNNSDataType type) {
  const Codec<Number>* found = kCodecs<Number>;
  while (found->type != type) ++found;
  return *found;
}

// Calls move(offset, stride, run, numbers) for each run of elements [first, first + n) with a
// common stride.
template <class Number, class Move>
void walk(const View& view, size_t first, size_t n, Number* numbers, const Move& move) {
  for (Walker walker(view, first); n > 0;) {
    const size_t run = std::min(n, walker.run());
    move(walker.offset(), walker.stride(), run, numbers);
    walker.advance(run);
    numbers += run;
    n -= run;
  }
}

template <class Number>
void read_all(const View& view, size_t first, size_t n, Number* out) {
  const auto load = codec_of<Number>(view.type).load;
  walk(view, first, n, out, [&](size_t offset, size_t stride, size_t run, Number* to) {
    load(view.data, offset, stride, run, view.scaling, to);
  });
}

template <class Number>
void write_all(const View& view, size_t first, size_t n, const Number* in) {
  const auto store = codec_of<Number>(view.type).store;
  walk(view, first, n, in, [&](size_t offset, size_t stride, size_t run, const Number* from) {
    store(view.data, offset, stride, run, view.scaling, from);
  });
}

bool is_half_row(const View& view) {
  return view.type == BNNSDataTypeFloat16 && view.stride[0] == 1;
}

}  // namespace

const ConvertKernels* convert_kernels() {
  return pick(HWY_DISPATCH_TABLE(ConvertTable))();
}

void read_values(const ConvertKernels& kernels, const View& view, size_t first, size_t n,
                 float* out) {
  if (!is_half_row(view)) return read_all(view, first, n, out);
  walk(view, first, n, out, [&](size_t offset, size_t, size_t run, float* to) {
    kernels.half_to_float(static_cast<const uint16_t*>(view.data) + offset, run, to);
  });
}

void write_values(const ConvertKernels& kernels, const View& view, size_t first, size_t n,
                  const float* in) {
  if (!is_half_row(view)) return write_all(view, first, n, in);
  walk(view, first, n, in, [&](size_t offset, size_t, size_t run, const float* from) {
    kernels.float_to_half(from, run, static_cast<uint16_t*>(view.data) + offset);
  });
}

void read_values(const View& view, size_t first, size_t n, Wide* out) {
  read_all(view, first, n, out);
}
void write_values(const View& view, size_t first, size_t n, const Wide* in) {
  write_all(view, first, n, in);
}
void read_values(const View& view, size_t first, size_t n, int64_t* out) {
  read_all(view, first, n, out);
}
void write_values(const View& view, size_t first, size_t n, const int64_t* in) {
  write_all(view, first, n, in);
}

bool fits_float(const TypeInfo& type) {
  return !type.is_integer() || type.bits <= 16;
}

bool can_write(const TypeInfo& type) {
  return type.bytes() > 0 && type.kind != TypeClass::kIndexed;
}

}  // namespace bnns::impl
#endif  // HWY_ONCE
