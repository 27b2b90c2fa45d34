// The weight gradient for many channels of the small image: lanes are its channels, and a window
// contributes one broadcast value per pixel. Tiles of windows times vectors of channels hold about
// 12 accumulators over a block of pixels and then add them to the sums in memory.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/convolution/kernels_outer.cpp"
#include "hwy/foreach_target.h"
#include "hwy/cache_control.h"
#include "hwy/highway.h"

#include <algorithm>

#include "simd/register_barrier-inl.h"
#include "simd/transpose-inl.h"
#include "ops/convolution/kernels.h"

HWY_BEFORE_NAMESPACE();
namespace bnns::impl::HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;
using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;

constexpr size_t kCacheLine = 16;
// Unroll factor of the loop over pixels; unrolling saves updates of its counter and pointers. With
// few accumulators the loop is bound by the latency of the FMA anyway.
template <size_t kSums>
constexpr size_t kSteps = kSums < 9 ? 1 : 4;

template <size_t kN>
constexpr size_t kWindows = 12 / kN;

// Adds the products of pixel j in kM windows.
template <size_t kM, size_t kN>
HWY_INLINE void Step(const float* const (&x)[kM], size_t j, const float* a, V (&sums)[kM * kN]) {
  const D d;
  V row[kN];
  HWY_UNROLL(3)
  for (size_t n = 0; n < kN; ++n) row[n] = hn::Load(d, a + n * hn::Lanes(d));
  HWY_UNROLL(12)
  for (size_t m = 0; m < kM; ++m) {
    const V factor = hn::Set(d, x[m][j]);
    HWY_UNROLL(3)
    for (size_t n = 0; n < kN; ++n) sums[m * kN + n] = hn::MulAdd(factor, row[n], sums[m * kN + n]);
    KeepInRegister(factor);
  }
  HWY_UNROLL(3)
  for (size_t n = 0; n < kN; ++n) KeepInRegister(row[n]);
}

// Adds the products of pixels [j, end) of a row and advances `a` past them.
template <size_t kM, size_t kN>
HWY_INLINE void Accumulate(const float* const (&x)[kM], size_t j, size_t end,
                           const float* HWY_RESTRICT& a, V (&sums)[kM * kN]) {
  constexpr size_t kRound = kSteps<kM * kN>;
  const size_t pixel = kN * hn::Lanes(D());
  for (; j + kRound <= end; j += kRound, a += kRound * pixel) {
    HWY_UNROLL(4)
    for (size_t k = 0; k < kRound; ++k) Step<kM, kN>(x, j + k, a + k * pixel, sums);
  }
  for (; kRound > 1 && j < end; ++j, a += pixel) Step<kM, kN>(x, j, a, sums);
}

// kPlanes: windows are planes of the source, which come from memory; those of the next tile are
// prefetched.
template <size_t kM, size_t kN, bool kPlanes>
HWY_NOINLINE void Tile(const ConvolutionOuter& b, size_t window) {
  const D d;
  const size_t lanes = hn::Lanes(d);
  V sums[kM * kN];
  HWY_UNROLL(12)
  for (size_t i = 0; i < kM * kN; ++i) sums[i] = hn::Zero(d);
  const float* HWY_RESTRICT a = b.a;
  const float* x[kM];
  for (size_t m = 0; m < kM; ++m)
    x[m] =
        b.x + (kPlanes ? static_cast<ptrdiff_t>((window + m) * b.x_plane) : b.offset[window + m]);
  // From row to row only the index advances, not the kM pointers.
  for (size_t i = 0; i < b.rows; ++i) {
    const size_t first = i * b.x_row, end = first + b.columns;
    if constexpr (!kPlanes) {
      Accumulate<kM, kN>(x, first, end, a, sums);
    } else {
      for (size_t j = first; j < end; j += kCacheLine) {
        for (size_t m = 0; m < kM; ++m) hwy::Prefetch(x[m] + kM * b.x_plane + j);
        Accumulate<kM, kN>(x, j, std::min(end, j + kCacheLine), a, sums);
      }
    }
  }
  HWY_UNROLL(12)
  for (size_t i = 0; i < kM * kN; ++i) {
    float* to = b.sums + (window + i / kN) * b.sums_row + i % kN * lanes;
    hn::Store(hn::Add(hn::Load(d, to), sums[i]), d, to);
  }
}

template <size_t kM, size_t kN>
HWY_INLINE void TileOf(const ConvolutionOuter& b, size_t window, size_t width) {
  if constexpr (kM > 1) {
    if (width < kM) return TileOf<kM - 1, kN>(b, window, width);
  }
  if (b.x_plane > 0) return Tile<kM, kN, true>(b, window);
  Tile<kM, kN, false>(b, window);
}

template <size_t kN>
void AllWindows(const ConvolutionOuter& b) {
  for (size_t n = 0; n < b.depth; n += kWindows<kN>)
    TileOf<kWindows<kN>, kN>(b, n, std::min(b.depth - n, kWindows<kN>));
}

void Outer(const ConvolutionOuter& b) {
  if (b.vectors == 1) AllWindows<1>(b);
  if (b.vectors == 2) AllWindows<2>(b);
  if (b.vectors == 3) AllWindows<3>(b);
}

void Transpose(const ConvolutionTranspose& b) {
  const size_t stride = b.from_row, width = b.to_row, n = b.n;
  size_t k = 0;
#if HWY_TARGET != HWY_SCALAR
  for (; k + 4 <= b.count; k += 4) {
    const float* from = b.from + k * stride;
    for (size_t e = 0; e + 4 <= n; e += 4)
      TransposeBlock(from + e, stride, b.to + e * width + k, static_cast<ptrdiff_t>(width));
    for (size_t e = n / 4 * 4; e < n; ++e)
      for (size_t i = 0; i < 4; ++i) b.to[e * width + k + i] = from[i * stride + e];
  }
#endif
  for (; k < b.end; ++k)
    for (size_t e = 0; e < n; ++e) b.to[e * width + k] = k < b.count ? b.from[k * stride + e] : 0;
}

}  // namespace

OuterKernels ConvolutionOuterKernels() {
  return {.outer = Outer, .transpose = Transpose};
}

}  // namespace bnns::impl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "core/target.h"

namespace bnns::impl {

HWY_EXPORT(ConvolutionOuterKernels);
OuterKernels convolution_outer() {
  return pick(HWY_DISPATCH_TABLE(ConvolutionOuterKernels))();
}

}  // namespace bnns::impl
#endif
