// Panels from plain matrices: panel[k * width + line], zeros behind the last line.

#if defined(OPENBNNS_OPS_GEMM_PACK_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef OPENBNNS_OPS_GEMM_PACK_INL_H_
#undef OPENBNNS_OPS_GEMM_PACK_INL_H_
#else
#define OPENBNNS_OPS_GEMM_PACK_INL_H_
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <cstring>

#include "ops/gemm/tile-inl.h"

HWY_BEFORE_NAMESPACE();
namespace bnns::impl::HWY_NAMESPACE {
namespace gemm {

// Whole panels copy a number of values known to the compiler: two or three vectors instead of a
// call.
template <size_t kWidth>
HWY_INLINE void CopyLines(const float* source, size_t stride, size_t depth, float* panel) {
  for (size_t k = 0; k < depth; ++k)
    std::memcpy(panel + k * kWidth, source + k * stride, kWidth * sizeof(float));
}

// Lines next to each other: source[k * stride + line].
HWY_INLINE void PackAcross(const float* source, size_t stride, size_t count, size_t depth,
                           size_t width, float* panel) {
  if (count == kColumns && width == kColumns) {
    CopyLines<kColumns>(source, stride, depth, panel);
  } else if (count == kRows && width == kRows) {
    CopyLines<kRows>(source, stride, depth, panel);
  } else {
    for (size_t k = 0; k < depth; ++k) {
      float* to = panel + k * width;
      for (size_t i = 0; i < count; ++i) to[i] = source[k * stride + i];
      for (size_t i = count; i < width; ++i) to[i] = 0;
    }
  }
}

// Rows of B may lie a page apart: the longer the piece read of each, the better, and no hardware
// fetches it in advance.
HWY_INLINE void PackWide(const float* HWY_RESTRICT source, size_t stride, size_t depth,
                         size_t panel_step, float* HWY_RESTRICT panels) {
  constexpr size_t kAhead = 8;
  const D d;
  for (size_t k = 0; k < depth; ++k, source += stride, panels += kColumns) {
    HWY_UNROLL(4)
    for (size_t p = 0; p < kGemmPackPanels; ++p) {
      __builtin_prefetch(source + kAhead * stride + p * kColumns);
      HWY_UNROLL(2)
      for (size_t y = 0; y < kVectors; ++y) {
        const size_t at = y * hn::Lanes(d);
        hn::StoreU(hn::LoadU(d, source + p * kColumns + at), d, panels + p * panel_step + at);
      }
    }
  }
}

HWY_INLINE void PackLine(const float* line, size_t depth, size_t width, float* to) {
  for (size_t k = 0; k < depth; ++k) to[k * width] = line[k];
}

#if HWY_TARGET != HWY_SCALAR
// Four lines at once: blocks of 4 x 4 are transposed in registers.
HWY_INLINE void PackFour(const float* source, size_t stride, size_t depth, size_t width,
                         float* to) {
  const hn::Full128<float> d;
  const hn::Repartition<double, decltype(d)> pairs;
  const float *s0 = source, *s1 = s0 + stride, *s2 = s1 + stride, *s3 = s2 + stride;
  size_t k = 0;
  for (; k + 4 <= depth; k += 4, to += 4 * width) {
    const auto v0 = hn::LoadU(d, s0 + k), v1 = hn::LoadU(d, s1 + k);
    const auto v2 = hn::LoadU(d, s2 + k), v3 = hn::LoadU(d, s3 + k);
    const auto low01 = hn::BitCast(pairs, hn::InterleaveLower(d, v0, v1));
    const auto low23 = hn::BitCast(pairs, hn::InterleaveLower(d, v2, v3));
    const auto high01 = hn::BitCast(pairs, hn::InterleaveUpper(d, v0, v1));
    const auto high23 = hn::BitCast(pairs, hn::InterleaveUpper(d, v2, v3));
    hn::StoreU(hn::BitCast(d, hn::InterleaveLower(pairs, low01, low23)), d, to);
    hn::StoreU(hn::BitCast(d, hn::InterleaveUpper(pairs, low01, low23)), d, to + width);
    hn::StoreU(hn::BitCast(d, hn::InterleaveLower(pairs, high01, high23)), d, to + 2 * width);
    hn::StoreU(hn::BitCast(d, hn::InterleaveUpper(pairs, high01, high23)), d, to + 3 * width);
  }
  for (; k < depth; ++k, to += width) {
    to[0] = s0[k];
    to[1] = s1[k];
    to[2] = s2[k];
    to[3] = s3[k];
  }
}

HWY_INLINE void PackTwo(const float* source, size_t stride, size_t depth, size_t width, float* to) {
  for (size_t k = 0; k < depth; ++k, to += width) {
    to[0] = source[k];
    to[1] = source[stride + k];
  }
}
#endif

// Lines contiguous along K: source[line * stride + k].
HWY_INLINE void PackAlong(const float* source, size_t stride, size_t count, size_t depth,
                          size_t width, float* panel) {
  size_t line = 0;
#if HWY_TARGET != HWY_SCALAR
  for (; line + 4 <= count; line += 4)
    PackFour(source + line * stride, stride, depth, width, panel + line);
  for (; line + 2 <= count; line += 2)
    PackTwo(source + line * stride, stride, depth, width, panel + line);
#endif
  for (; line < count; ++line) PackLine(source + line * stride, depth, width, panel + line);
  for (; line < width; ++line)
    for (size_t k = 0; k < depth; ++k) panel[k * width + line] = 0;
}

}  // namespace gemm
}  // namespace bnns::impl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // OPENBNNS_OPS_GEMM_PACK_INL_H_
