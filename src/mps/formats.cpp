#include "mps/formats.h"

#include <cmath>
#include <cstdint>
#include <cstring>

#include "math/half.h"

namespace bnns::impl::mps {
namespace {

template <class T>
struct Unorm {
  using Stored = T;
  static constexpr double kLargest = static_cast<T>(~T{0});
  static double load(T v) { return v / kLargest; }
  static T store(double v) {
    if (!(v > 0)) return 0;  // NaN too
    return static_cast<T>(std::nearbyint((v < 1 ? v : 1) * kLargest));
  }
};
struct Half {
  using Stored = uint16_t;
  static double load(uint16_t v) { return half_to_float(v); }
  static uint16_t store(double v) { return float_to_half(static_cast<float>(v)); }
};
struct Float {
  using Stored = float;
  static double load(float v) { return v; }
  static float store(double v) { return static_cast<float>(v); }
};

template <class F>
void load_row(const std::byte* from, size_t n, double* to) {
  for (size_t i = 0; i < n; ++i) {
    typename F::Stored v;
    std::memcpy(&v, from + i * sizeof v, sizeof v);
    to[i] = F::load(v);
  }
}

template <class F>
void store_row(const double* from, size_t n, std::byte* to) {
  for (size_t i = 0; i < n; ++i) {
    const typename F::Stored v = F::store(from[i]);
    std::memcpy(to + i * sizeof v, &v, sizeof v);
  }
}

template <class F>
constexpr FormatInfo format(ImageFeatureChannelFormat value, const char* name, size_t precision) {
  return {value, name, sizeof(typename F::Stored), precision, load_row<F>, store_row<F>};
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
