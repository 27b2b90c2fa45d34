#include "train/files/tensor_file.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

#include "openbnns/train/error.hpp"
#include "train/files/text.h"

namespace bnns::train::impl {
namespace {

struct DTypeInfo {
  std::string_view name;
  std::size_t size;
};

// In the order of DType.
constexpr std::array<DTypeInfo, 8> kDTypes = {{{"BOOL", 1},
                                               {"U8", 1},
                                               {"I32", 4},
                                               {"I64", 8},
                                               {"F16", 2},
                                               {"BF16", 2},
                                               {"F32", 4},
                                               {"F64", 8}}};

const DTypeInfo& info(DType dtype) {
  return kDTypes.at(static_cast<std::size_t>(dtype));
}

// The i-th unsigned integer of little-endian bytes, and back.
template <class Bits>
Bits load(std::span<const std::byte> bytes, std::size_t i) {
  Bits bits = 0;
  if constexpr (std::endian::native == std::endian::little) {
    std::memcpy(&bits, bytes.data() + i * sizeof(Bits), sizeof(Bits));
  } else {
    for (std::size_t b = sizeof(Bits); b-- > 0;) {
      bits = static_cast<Bits>(bits << 8 | static_cast<Bits>(bytes[i * sizeof(Bits) + b]));
    }
  }
  return bits;
}

template <class Bits>
void store(std::span<std::byte> bytes, std::size_t i, Bits bits) {
  if constexpr (std::endian::native == std::endian::little) {
    std::memcpy(bytes.data() + i * sizeof(Bits), &bits, sizeof(Bits));
  } else {
    for (std::size_t b = 0; b < sizeof(Bits); ++b) {
      bytes[i * sizeof(Bits) + b] = static_cast<std::byte>(bits >> (8 * b));
    }
  }
}

template <class Bits, class Value>
NamedTensor make(std::string name, DType dtype, std::vector<std::size_t> shape,
                 std::span<const Value> values) {
  static_assert(sizeof(Bits) == sizeof(Value));
  NamedTensor tensor{std::move(name), dtype, std::move(shape),
                     std::vector<std::byte>(values.size_bytes())};
  for (std::size_t i = 0; i < values.size(); ++i) {
    store<Bits>(tensor.data, i, std::bit_cast<Bits>(values[i]));
  }
  return tensor;
}

// The values of a tensor, each made by convert(bits).
template <class Value, class Bits, class Convert>
std::vector<Value> converted(const NamedTensor& tensor, Convert convert) {
  std::vector<Value> values(tensor.count());
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = convert(load<Bits>(tensor.data, i));
  return values;
}

float from_half(std::uint16_t bits) {
  const int exponent = bits >> 10 & 31, mantissa = bits & 1023;
  const std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x8000) << 16;
  std::uint32_t magnitude;
  if (exponent == 0) {
    magnitude = std::bit_cast<std::uint32_t>(static_cast<float>(mantissa) * 0x1p-24f);
  } else {
    const int wide = exponent == 31 ? 255 : exponent + 112;
    magnitude = static_cast<std::uint32_t>(wide) << 23 | static_cast<std::uint32_t>(mantissa) << 13;
  }
  return std::bit_cast<float>(sign | magnitude);
}

float from_bfloat(std::uint16_t bits) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
}

[[noreturn]] void refuse(const NamedTensor& tensor, const char* rule) {
  throw Error(Error::Kind::model, "tensor " + in_quotes(tensor.name),
              "its type is " + std::string(name_of(tensor.dtype)) + "; it must be " + rule);
}

}  // namespace

std::string_view name_of(DType dtype) {
  return info(dtype).name;
}

std::size_t size_of(DType dtype) {
  return info(dtype).size;
}

std::optional<DType> dtype_named(std::string_view name) {
  for (std::size_t i = 0; i < kDTypes.size(); ++i) {
    if (kDTypes[i].name == name) return static_cast<DType>(i);
  }
  return std::nullopt;
}

std::optional<std::size_t> bytes_of(DType dtype, std::span<const std::size_t> shape) {
  constexpr std::size_t kMost = std::numeric_limits<std::size_t>::max() / 2;
  std::size_t bytes = size_of(dtype);
  bool empty = false;
  for (const std::size_t size : shape) {
    empty = empty || size == 0;
    if (size == 0) continue;
    if (size > kMost / bytes) return std::nullopt;
    bytes *= size;
  }
  return empty ? 0 : bytes;
}

NamedTensor NamedTensor::of(std::string name, std::vector<std::size_t> shape,
                            std::span<const float> values) {
  return make<std::uint32_t>(std::move(name), DType::f32, std::move(shape), values);
}

NamedTensor NamedTensor::of(std::string name, std::vector<std::size_t> shape,
                            std::span<const double> values) {
  return make<std::uint64_t>(std::move(name), DType::f64, std::move(shape), values);
}

NamedTensor NamedTensor::of(std::string name, std::vector<std::size_t> shape,
                            std::span<const std::int64_t> values) {
  return make<std::uint64_t>(std::move(name), DType::i64, std::move(shape), values);
}

std::vector<float> NamedTensor::floats() const {
  switch (dtype) {
    case DType::f32:
      return converted<float, std::uint32_t>(
          *this, [](std::uint32_t bits) { return std::bit_cast<float>(bits); });
    case DType::f64:
      return converted<float, std::uint64_t>(*this, [](std::uint64_t bits) {
        const auto value = std::bit_cast<double>(bits);
        // Beyond the largest float the conversion of a finite double is not defined by the
        // language.
        constexpr double kMost = std::numeric_limits<float>::max();
        const bool fits = !(std::abs(value) > kMost) || std::isinf(value);
        return fits ? static_cast<float>(value)
                    : std::copysign(std::numeric_limits<float>::infinity(),
                                    value < 0 ? -1.0f : 1.0f);
      });
    case DType::f16:
      return converted<float, std::uint16_t>(*this, from_half);
    case DType::bf16:
      return converted<float, std::uint16_t>(*this, from_bfloat);
    default:
      refuse(*this, "F32, F64, F16 or BF16");
  }
}

std::vector<double> NamedTensor::doubles() const {
  if (dtype != DType::f64) refuse(*this, "F64");
  return converted<double, std::uint64_t>(
      *this, [](std::uint64_t bits) { return std::bit_cast<double>(bits); });
}

std::vector<std::int64_t> NamedTensor::integers() const {
  if (dtype != DType::i64) refuse(*this, "I64");
  return converted<std::int64_t, std::uint64_t>(
      *this, [](std::uint64_t bits) { return static_cast<std::int64_t>(bits); });
}

const NamedTensor* TensorFile::find(std::string_view name) const {
  const auto found = std::find_if(tensors.begin(), tensors.end(),
                                  [&](const NamedTensor& tensor) { return tensor.name == name; });
  return found == tensors.end() ? nullptr : &*found;
}

}  // namespace bnns::train::impl
