// Conversion between number formats, through Identity activations and BNNSCopy on every SIMD
// target: all 16-bit floats, rounding at every tie, saturation, and edge values between all pairs
// of types. The expected values come from double arithmetic, not from bit tricks like the
// library's.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "support/call_builder.h"

namespace bnns::test {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();

// A floating-point format of 16 bits: stored bits = sign, exponent, `mantissa` bits.
struct Format {
  BNNSDataType type;
  int mantissa, lowest_exponent;

  uint32_t infinity() const { return 0x7FFFu >> mantissa << mantissa; }
  bool is_nan(uint32_t bits) const { return (bits & 0x7FFF) > infinity(); }
  double value(uint32_t bits) const {
    const uint32_t field = (bits & 0x7FFF) >> mantissa, fraction = bits & ((1u << mantissa) - 1);
    const double sign = bits & 0x8000 ? -1 : 1;
    if (field == infinity() >> mantissa) return fraction ? kNan : sign * kInf;
    const uint32_t whole = field == 0 ? fraction : fraction + (1u << mantissa);
    const int exponent =
        (field == 0 ? 1 : static_cast<int>(field)) - 1 + lowest_exponent - mantissa;
    return sign * std::ldexp(whole, exponent);
  }
  // To nearest, ties to even. NaN gives the bits of infinity + 1.
  uint16_t rounded(double v) const {
    const uint32_t sign = std::signbit(v) ? 0x8000 : 0;
    if (std::isnan(v)) return static_cast<uint16_t>(sign | (infinity() + 1));
    const double a = std::fabs(v);
    if (std::isinf(a)) return static_cast<uint16_t>(sign | infinity());
    const int exponent = a == 0 ? lowest_exponent : std::max(std::ilogb(a), lowest_exponent);
    if (exponent > 200) return static_cast<uint16_t>(sign | infinity());
    const double units = std::nearbyint(std::ldexp(a, mantissa - exponent));
    const double bits = std::ldexp(exponent - lowest_exponent, mantissa) + units;
    return static_cast<uint16_t>(sign | static_cast<uint32_t>(std::min<double>(bits, infinity())));
  }
  bool same(uint16_t a, uint16_t b) const { return a == b || (is_nan(a) && is_nan(b)); }
};
constexpr Format kFormats[] = {{BNNSDataTypeFloat16, 10, -14}, {BNNSDataTypeBFloat16, 7, -126}};

template <class From, class To>
std::vector<To> converted(const std::vector<From>& in, BNNSDataType from, BNNSDataType to) {
  std::vector<To> out(in.size());
  const Filter filter =
      make_activation(vector_of(in.size(), nullptr, from), vector_of(in.size(), nullptr, to),
                      activation(BNNSActivationFunctionIdentity));
  EXPECT_TRUE(filter) << OpenBNNSGetLastError();
  EXPECT_EQ(BNNSFilterApply(filter.get(), in.data(), out.data()), 0) << OpenBNNSGetLastError();
  // BNNSCopy must agree, also with a stride, where rows are not contiguous.
  for (const size_t stride : {1, 3}) {
    std::vector<From> source(in.size() * stride);
    std::vector<To> target(in.size() * stride);
    for (size_t i = 0; i < in.size(); ++i) source[i * stride] = in[i];
    auto s = vector_of(in.size(), source.data(), from), d = vector_of(in.size(), target.data(), to);
    s.stride[0] = d.stride[0] = stride;
    EXPECT_EQ(BNNSCopy(&d, &s, nullptr), 0) << OpenBNNSGetLastError();
    for (size_t i = 0; i < in.size(); ++i) {
      // NaN may keep different payloads.
      const bool nans = target[i * stride] != target[i * stride] && out[i] != out[i];
      EXPECT_TRUE(nans || target[i * stride] == out[i]) << "copy differs at " << i;
    }
  }
  return out;
}

std::vector<uint16_t> all_patterns() {
  std::vector<uint16_t> all(65536);
  for (size_t i = 0; i < all.size(); ++i) all[i] = static_cast<uint16_t>(i);
  return all;
}

TEST(Convert, EveryPatternToFloatAndBack) {
  for_targets([](const char* target) {
    for (const Format& f : kFormats) {
      SCOPED_TRACE(testing::Message() << target << " " << f.type);
      const auto floats = converted<uint16_t, float>(all_patterns(), f.type, BNNSDataTypeFloat32);
      const auto back = converted<float, uint16_t>(floats, BNNSDataTypeFloat32, f.type);
      for (uint32_t bits = 0; bits < 65536; ++bits) {
        if (f.is_nan(bits)) {
          ASSERT_TRUE(std::isnan(floats[bits])) << bits;
          ASSERT_TRUE(f.is_nan(back[bits])) << bits;
        } else {
          ASSERT_EQ(floats[bits], f.value(bits)) << bits;
          ASSERT_EQ(std::signbit(floats[bits]), bits >= 0x8000) << bits;
          ASSERT_EQ(back[bits], bits);
        }
      }
    }
  });
}

void expect_rounded(const Format& f, const std::vector<float>& values) {
  const auto got = converted<float, uint16_t>(values, BNNSDataTypeFloat32, f.type);
  for (size_t i = 0; i < values.size(); ++i) {
    const uint16_t expected = f.rounded(values[i]);
    ASSERT_TRUE(f.same(got[i], expected))
        << std::hexfloat << values[i] << std::hex << " gives " << got[i] << ", not " << expected;
  }
}

// Half way between every two neighbours, and one float to either side of that.
TEST(Convert, EveryTieAndItsNeighbours) {
  for_targets([](const char* target) {
    for (const Format& f : kFormats) {
      SCOPED_TRACE(testing::Message() << target << " " << f.type);
      std::vector<float> values;
      for (uint32_t bits = 0; bits < f.infinity(); ++bits) {
        const double low = f.value(bits);
        const double step =
            bits + 1 == f.infinity() ? low - f.value(bits - 1) : f.value(bits + 1) - low;
        const auto tie = static_cast<float>(low + step / 2);
        ASSERT_EQ(tie, low + step / 2);
        for (const float v : {tie, std::nextafter(tie, kInf), std::nextafter(tie, -kInf)}) {
          values.push_back(v);
          values.push_back(-v);
        }
      }
      expect_rounded(f, values);
    }
  });
}

TEST(Convert, SampleOfAllFloats) {
  for_targets([](const char* target) {
    for (const Format& f : kFormats) {
      SCOPED_TRACE(testing::Message() << target << " " << f.type);
      std::vector<float> values;
      for (uint64_t bits = 0; bits < uint64_t{1} << 32; bits += 16381)
        values.push_back(std::bit_cast<float>(static_cast<uint32_t>(bits)));
      for (const float v :
           {0.0f, 65504.0f, 65519.996f, 65520.0f, 1e-45f, std::numeric_limits<float>::max(),
            std::numeric_limits<float>::min(), kInf, kNan}) {
        values.push_back(v);
        values.push_back(-v);
      }
      expect_rounded(f, values);
    }
  });
}

// Vectors end anywhere; nothing behind the last value is read into the result or written.
TEST(Convert, EveryLengthAndOffset) {
  const Format& f = kFormats[0];
  for_targets([&](const char* target) {
    SCOPED_TRACE(target);
    for (size_t n = 1; n <= 67; ++n) {
      const Filter filter = make_activation(vector_of(n), vector_of(n, nullptr, f.type),
                                            activation(BNNSActivationFunctionIdentity));
      const Filter inverse = make_activation(vector_of(n, nullptr, f.type), vector_of(n),
                                             activation(BNNSActivationFunctionIdentity));
      for (const size_t offset : {0, 1, 3}) {
        Guarded<float> in(Space{n + offset}), back(Space{n + offset});
        Guarded<uint16_t> out(Space{n + offset});
        for (size_t i = 0; i < n; ++i) in[offset + i] = static_cast<float>(i) * 0.37f - 5;
        ASSERT_EQ(BNNSFilterApply(filter.get(), in.data() + offset, out.data() + offset), 0);
        ASSERT_EQ(BNNSFilterApply(inverse.get(), out.data() + offset, back.data() + offset), 0);
        const auto inside = [&](size_t i) { return i >= offset; };
        EXPECT_TRUE(out.untouched_except(inside));
        EXPECT_TRUE(back.untouched_except(inside));
        for (size_t i = 0; i < n; ++i) {
          ASSERT_EQ(out[offset + i], f.rounded(in[offset + i]));
          ASSERT_EQ(back[offset + i], f.value(out[offset + i]));
        }
      }
    }
  });
}

// ---- Between all types of whole bytes ----

using Exact = long double;  // holds every 64-bit integer

struct Type {
  BNNSDataType type;
  const char* name;
  std::vector<Exact> edges;
  uint64_t (*store)(Exact);  // rounds and saturates
  bool (*equal)(uint64_t, uint64_t);
};

bool same_bits(uint64_t a, uint64_t b) {
  return a == b;
}

template <class T>
uint64_t store_integer(Exact v) {
  if (std::isnan(v)) return 0;
  const Exact r = std::nearbyint(v);
  T value;
  if (r >= static_cast<Exact>(std::numeric_limits<T>::max())) {
    value = std::numeric_limits<T>::max();
  } else if (r <= static_cast<Exact>(std::numeric_limits<T>::min())) {
    value = std::numeric_limits<T>::min();
  } else {
    value = static_cast<T>(r);
  }
  return static_cast<std::make_unsigned_t<T>>(value);
}

template <class T>
Type integer(BNNSDataType type, const char* name) {
  Type t = {type, name, {}, store_integer<T>, same_bits};
  for (int bits : {0, 1, 7, 8, 11, 15, 16, 24, 31, 32, 63, 64}) {
    for (const int sign : {-1, 1}) {
      for (const int offset : {-1, 0, 1}) {
        const Exact v = sign * std::ldexp(Exact{1}, bits) + offset;
        const bool fits = v >= static_cast<Exact>(std::numeric_limits<T>::min()) &&
                          v <= static_cast<Exact>(std::numeric_limits<T>::max());
        if (fits) t.edges.push_back(v);
      }
    }
  }
  return t;
}

template <int kFormat>
Type small_float(const char* name) {
  const Format& f = kFormats[kFormat];
  Type t = {f.type, name, {}, nullptr, nullptr};
  t.store = [](Exact v) {
    return uint64_t{kFormats[kFormat].rounded(static_cast<double>(static_cast<float>(v)))};
  };
  t.equal = [](uint64_t a, uint64_t b) {
    return kFormats[kFormat].same(static_cast<uint16_t>(a), static_cast<uint16_t>(b));
  };
  for (const double v :
       {0.0, -0.0, 0.5, 1.5, 2.5, -0.5, -1.5, -2.5, 127.5, -128.5, 255.5, 256.0, 65280.0}) {
    t.edges.push_back(f.value(f.rounded(v)));
  }
  for (const uint32_t bits : {1u, 0x8001u, f.infinity() - 1, f.infinity(), f.infinity() | 0x8000})
    t.edges.push_back(f.value(bits));
  t.edges.push_back(kNan);
  return t;
}

std::vector<Type> all_types() {
  const Type single = {
      BNNSDataTypeFloat32,
      "Float32",
      {0.0L,
       -0.0L,
       0.5L,
       1.5L,
       2.5L,
       -0.5L,
       -1.5L,
       -2.5L,
       126.5L,
       127.5L,
       254.5L,
       255.5L,
       -128.5L,
       -129.0L,
       32766.5L,
       32767.5L,
       -32768.5L,
       65534.5L,
       65535.5L,
       65519.0L,
       2147483520.0L,
       2147483648.0L,
       -2147483648.0L,
       -2147483904.0L,
       4294967040.0L,
       4294967296.0L,
       9223371487098961920.0L,
       9223372036854775808.0L,
       -9223372036854775808.0L,
       18446742974197923840.0L,
       18446744073709551616.0L,
       1e-45f,
       3e38f,
       -3e38f,
       kInf,
       -kInf,
       kNan},
      [](Exact v) { return uint64_t{std::bit_cast<uint32_t>(static_cast<float>(v))}; },
      [](uint64_t a, uint64_t b) {
        const auto x = std::bit_cast<float>(static_cast<uint32_t>(a));
        const auto y = std::bit_cast<float>(static_cast<uint32_t>(b));
        return a == b || (std::isnan(x) && std::isnan(y));
      }};
  const Type boolean = {
      BNNSDataTypeBoolean, "Boolean", {0, 1}, [](Exact v) { return uint64_t{v != 0}; }, same_bits};
  return {single,
          small_float<0>("Float16"),
          small_float<1>("BFloat16"),
          boolean,
          integer<int8_t>(BNNSDataTypeInt8, "Int8"),
          integer<int16_t>(BNNSDataTypeInt16, "Int16"),
          integer<int32_t>(BNNSDataTypeInt32, "Int32"),
          integer<int64_t>(BNNSDataTypeInt64, "Int64"),
          integer<uint8_t>(BNNSDataTypeUInt8, "UInt8"),
          integer<uint16_t>(BNNSDataTypeUInt16, "UInt16"),
          integer<uint32_t>(BNNSDataTypeUInt32, "UInt32"),
          integer<uint64_t>(BNNSDataTypeUInt64, "UInt64")};
}

size_t bytes_of(const Type& t) {
  return (static_cast<uint32_t>(t.type) & 0x7FFF) / 8;
}

// Little-endian, as the formats are.
void put(void* at, uint64_t bits, size_t bytes) {
  std::memcpy(at, &bits, bytes);
}
uint64_t get(const void* at, size_t bytes) {
  uint64_t bits = 0;
  std::memcpy(&bits, at, bytes);
  return bits;
}

TEST(Convert, EdgesBetweenAllPairs) {
  const std::vector<Type> types = all_types();
  for_targets([&](const char* target) {
    for (const Type& from : types) {
      for (const Type& to : types) {
        SCOPED_TRACE(testing::Message() << target << " " << from.name << " to " << to.name);
        const size_t n = from.edges.size(), in_bytes = bytes_of(from), out_bytes = bytes_of(to);
        std::vector<uint64_t> in(n), out(n);
        for (size_t i = 0; i < n; ++i)
          put(reinterpret_cast<char*>(in.data()) + i * in_bytes, from.store(from.edges[i]),
              in_bytes);
        const Filter filter =
            make_activation(vector_of(n, nullptr, from.type), vector_of(n, nullptr, to.type),
                            activation(BNNSActivationFunctionIdentity));
        ASSERT_TRUE(filter) << OpenBNNSGetLastError();
        ASSERT_EQ(BNNSFilterApply(filter.get(), in.data(), out.data()), 0);
        for (size_t i = 0; i < n; ++i) {
          const uint64_t got = get(reinterpret_cast<char*>(out.data()) + i * out_bytes, out_bytes);
          const uint64_t expected = to.store(from.edges[i]);
          EXPECT_TRUE(to.equal(got, expected)) << static_cast<double>(from.edges[i]) << std::hex
                                               << " gives " << got << ", not " << expected;
        }
      }
    }
  });
}

// value = scale * stored + bias; stored = saturate(round to even(value / scale - bias)).
template <class T>
void expect_scaled(BNNSDataType type) {
  SCOPED_TRACE(type);
  const float scale = 0.5f, bias = 3;
  const std::vector<T> stored = {0, 1, 2, 100, 127};
  std::vector<float> values(stored.size());
  auto d = vector_of(stored.size(), nullptr, type);
  d.data_scale = scale;
  d.data_bias = bias;
  const auto identity = activation(BNNSActivationFunctionIdentity);
  const Filter out_of(make_activation(d, vector_of(stored.size()), identity));
  ASSERT_EQ(BNNSFilterApply(out_of.get(), stored.data(), values.data()), 0);
  for (size_t i = 0; i < stored.size(); ++i)
    EXPECT_EQ(values[i], scale * static_cast<float>(stored[i]) + bias);

  const std::vector<float> given = {1.5f, 2, 1.75f, 2.25f, 1e30f, -1e30f, kNan};
  std::vector<T> back(given.size());
  d.size[0] = given.size();
  const Filter into(make_activation(vector_of(given.size()), d, identity));
  ASSERT_EQ(BNNSFilterApply(into.get(), given.data(), back.data()), 0);
  for (size_t i = 0; i < given.size(); ++i) {
    const uint64_t expected = store_integer<T>(Exact{given[i]} / Exact{scale} - Exact{bias});
    EXPECT_EQ(static_cast<std::make_unsigned_t<T>>(back[i]), expected) << given[i];
  }
}

TEST(Convert, ScaleAndBias) {
  for_targets([](const char*) {
    expect_scaled<int8_t>(BNNSDataTypeInt8);
    expect_scaled<int16_t>(BNNSDataTypeInt16);
    expect_scaled<int32_t>(BNNSDataTypeInt32);
    expect_scaled<int64_t>(BNNSDataTypeInt64);
    expect_scaled<uint8_t>(BNNSDataTypeUInt8);
    expect_scaled<uint16_t>(BNNSDataTypeUInt16);
    expect_scaled<uint32_t>(BNNSDataTypeUInt32);
    expect_scaled<uint64_t>(BNNSDataTypeUInt64);
  });
}

}  // namespace
}  // namespace bnns::test
