#include "mps/formats.h"

#include <cmath>
#include <cstdint>
#include <cstring>

#include "core/private.h"

namespace bnns::impl::mps {
namespace {

// Of the formats that are converted one element at a time.
template <class F>
struct ByElement {
  static void load(const std::byte* from, size_t n, float* to) {
    for (size_t i = 0; i < n; ++i) {
      typename F::Stored v;
      std::memcpy(&v, from + i * sizeof v, sizeof v);
      to[i] = F::to_float(v);
    }
  }
  static void store(const float* from, size_t n, std::byte* to) {
    for (size_t i = 0; i < n; ++i) {
      const typename F::Stored v = F::from_float(from[i]);
      std::memcpy(to + i * sizeof v, &v, sizeof v);
    }
  }
};

template <class T>
struct Unorm : ByElement<Unorm<T>> {
  using Stored = T;
  static constexpr T kLargest = static_cast<T>(~T{0});
  static float to_float(T v) { return static_cast<float>(v) / static_cast<float>(kLargest); }
  // The product is exact in double, so that it is rounded only once.
  static T from_float(float v) {
    if (!(v > 0)) return 0;  // NaN too
    return static_cast<T>(std::nearbyint(double{v < 1 ? v : 1} * kLargest));
  }
};

struct Half {
  using Stored = uint16_t;
  static void load(const std::byte* from, size_t n, float* to) {
    OpenBNNSPrivateHalfToFloat(reinterpret_cast<const uint16_t*>(from), n, to);
  }
  static void store(const float* from, size_t n, std::byte* to) {
    OpenBNNSPrivateFloatToHalf(from, n, reinterpret_cast<uint16_t*>(to));
  }
};

struct Float {
  using Stored = float;
  static void load(const std::byte* from, size_t n, float* to) {
    std::memcpy(to, from, n * sizeof *to);
  }
  static void store(const float* from, size_t n, std::byte* to) {
    std::memcpy(to, from, n * sizeof *from);
  }
};

template <class F>
constexpr FormatInfo format(ImageFeatureChannelFormat value, const char* name, size_t precision) {
  return {value, name, sizeof(typename F::Stored), precision, F::load, F::store};
}

constexpr FormatInfo kFormats[] = {
    format<Unorm<uint8_t>>(ImageFeatureChannelFormat::Unorm8, "Unorm8", 8),
    format<Unorm<uint16_t>>(ImageFeatureChannelFormat::Unorm16, "Unorm16", 16),
    format<Half>(ImageFeatureChannelFormat::Float16, "Float16", 11),
    format<Float>(ImageFeatureChannelFormat::Float32, "Float32", 24),
};

}  // namespace

const FormatInfo* find_format(ImageFeatureChannelFormat format) {
  for (const FormatInfo& info : kFormats) {
    if (info.format == format) return &info;
  }
  return nullptr;
}

}  // namespace bnns::impl::mps
