// The formats of image channels: one table, and rows of elements converted to float and back.
// Unorm8 is v / 255, Unorm16 v / 65535; back: clamped to 0..1, scaled, rounded to nearest even, NaN
// becomes 0. Float16 rounds to nearest even, beyond its range to infinity.
#pragma once

#include <cstddef>

#include "openbnns/mps.hpp"

namespace bnns::impl::mps {

using MPS::ImageFeatureChannelFormat;

struct FormatInfo {
  ImageFeatureChannelFormat format;
  const char* name;
  size_t bytes;      // of an element
  size_t precision;  // in bits
  void (*load)(const std::byte* from, size_t n, float* to);
  void (*store)(const float* from, size_t n, std::byte* to);
};

// nullptr for None and for values that are no format.
const FormatInfo* find_format(ImageFeatureChannelFormat format);

}  // namespace bnns::impl::mps
