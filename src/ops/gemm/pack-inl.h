// Packs plain matrices into panels: panel[k * width + line], padded with zeros behind the last
// line.

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
#include "simd/transpose-inl.h"

HWY_BEFORE_NAMESPACE();
namespace bnns::impl::HWY_NAMESPACE {
namespace gemm {

// Whole panels copy a number of values that the compiler knows: two or three vector moves instead
// of a call of memcpy.
template <size_t kWidth>
HWY_INLINE void CopyLines(const float* source, size_t stride, size_t depth, float* panel) {
  for (size_t k = 0; k < depth; ++k)
    std::memcpy(panel + k * kWidth, source + k * stride, kWidth * sizeof(float));
}

// Lines are adjacent: source[k * stride + line].
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

// Packs kGemmPackPanels panels at once, so that a longer piece of each row of B is read. Rows may
// lie a page apart, where the hardware prefetcher does not help; they are prefetched kAhead rows
// early.
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
// Transposes four lines at once.
HWY_INLINE void PackFour(const float* source, size_t stride, size_t depth, size_t width,
                         float* to) {
  size_t k = 0;
  for (; k + 4 <= depth; k += 4, to += 4 * width)
    TransposeBlock(source + k, stride, to, static_cast<ptrdiff_t>(width));
  for (; k < depth; ++k, to += width)
    for (size_t i = 0; i < 4; ++i) to[i] = source[i * stride + k];
}

HWY_INLINE void PackTwo(const float* source, size_t stride, size_t depth, size_t width, float* to) {
  for (size_t k = 0; k < depth; ++k, to += width) {
    to[0] = source[k];
    to[1] = source[stride + k];
  }
}
#endif

// Lines are contiguous along K: source[line * stride + k].
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
