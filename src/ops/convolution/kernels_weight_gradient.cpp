// The weight gradient: dot products of rows of `a` with windows of the padded rows. A tile of four
// channels times three windows keeps its sums in lanes over a whole block of rows; their horizontal
// sums are then added to the sums in memory. The last vector of a row is moved back so that it ends
// with the row; the lanes that it repeats are zeroed in both factors, so that a NaN there does not
// count twice.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/convolution/kernels_weight_gradient.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

#include <algorithm>

#include "ops/convolution/kernels.h"

HWY_BEFORE_NAMESPACE();
namespace bnns::impl::HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;
using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;

template <size_t kM>
constexpr size_t kWidest = kM == 1   ? 9
                           : kM == 2 ? 5
                                     : 3;

// Adds the horizontal sums of the accumulators to the sums in memory.
template <size_t kM, size_t kN>
HWY_INLINE void Fold(V (&sums)[kM][kN], float* to, size_t row) {
  const D d;
  for (size_t n = 0; n < kN; ++n) {
#if HWY_TARGET != HWY_SCALAR
    if constexpr (kM == 4) {
      const auto halve = [&](V low, V high) HWY_ATTR {
        return hn::Add(hn::ConcatEven(d, high, low), hn::ConcatOdd(d, high, low));
      };
      V four = halve(halve(sums[0][n], sums[1][n]), halve(sums[2][n], sums[3][n]));
      for (size_t lanes = hn::Lanes(d); lanes > 4; lanes /= 2) four = halve(four, four);
      const hn::Full128<float> d4;
      HWY_ALIGN float folded[hn::MaxLanes(D())];
      hn::Store(four, d, folded);
      hn::StoreU(hn::Add(hn::LoadU(d4, to + n * row), hn::Load(d4, folded)), d4, to + n * row);
      continue;
    }
#endif
    for (size_t m = 0; m < kM; ++m) to[n * row + m] += hn::GetLane(hn::SumOfLanes(d, sums[m][n]));
  }
}

template <size_t kM, size_t kN>
HWY_NOINLINE void Tile(const ConvolutionWeightGradient& b, size_t channel, size_t window) {
  const D d;
  const size_t lanes = hn::Lanes(d);
  V sums[kM][kN];
  for (auto& row : sums)
    for (V& sum : row) sum = hn::Zero(d);
  const float* first = b.a + channel * b.a_plane;
  const size_t a_plane = b.a_plane, rest = b.columns % lanes, whole = b.columns - rest;
  const bool is_short = b.columns < lanes;
  const size_t last = is_short ? 0 : b.columns - lanes;
  // Mask of the lanes that count in the last vector.
  const auto counts = is_short ? hn::FirstN(d, rest) : hn::Not(hn::FirstN(d, lanes - rest));
  const float* x[kN];
  for (size_t n = 0; n < kN; ++n) x[n] = b.x + b.offset[window + n];
  for (size_t i = 0; i < b.rows; ++i) {
    const float* a = first + i * b.a_row;
    for (size_t j = 0; j < whole; j += lanes) {
      V row[kN];
      for (size_t n = 0; n < kN; ++n) row[n] = hn::LoadU(d, x[n] + j);
      for (size_t m = 0; m < kM; ++m) {
        const V left = hn::LoadU(d, a + m * a_plane + j);
        for (size_t n = 0; n < kN; ++n) sums[m][n] = hn::MulAdd(left, row[n], sums[m][n]);
      }
    }
    if (rest > 0) {
      V row[kN];
      for (size_t n = 0; n < kN; ++n)
        row[n] = hn::IfThenElseZero(counts, hn::LoadU(d, x[n] + last));
      for (size_t m = 0; m < kM; ++m) {
        const V left = hn::IfThenElseZero(counts, hn::LoadU(d, a + m * a_plane + last));
        for (size_t n = 0; n < kN; ++n) sums[m][n] = hn::MulAdd(left, row[n], sums[m][n]);
      }
    }
    for (size_t n = 0; n < kN; ++n) x[n] += b.x_row;
  }
  Fold<kM, kN>(sums, b.sums + window * b.sums_row + channel, b.sums_row);
}

template <size_t kM, size_t kN>
HWY_INLINE void TileOf(const ConvolutionWeightGradient& b, size_t channel, size_t window,
                       size_t width) {
  if constexpr (kN > 1) {
    if (width < kN) return TileOf<kM, kN - 1>(b, channel, window, width);
  }
  Tile<kM, kN>(b, channel, window);
}

template <size_t kM>
void AllWindows(const ConvolutionWeightGradient& b, size_t channel) {
  for (size_t n = 0; n < b.depth; n += kWidest<kM>)
    TileOf<kM, kWidest<kM>>(b, channel, n, std::min(b.depth - n, kWidest<kM>));
}

void WeightGradient(const ConvolutionWeightGradient& b) {
  const size_t rest = b.channels % kPanel, whole = b.channels - rest;
  for (size_t m = 0; m < whole; m += kPanel) AllWindows<kPanel>(b, m);
  if (rest == 1) AllWindows<1>(b, whole);
  if (rest == 2) AllWindows<2>(b, whole);
  if (rest == 3) AllWindows<3>(b, whole);
}

}  // namespace

WeightGradientKernel ConvolutionWeightGradientKernel() {
  return WeightGradient;
}

}  // namespace bnns::impl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "core/target.h"

namespace bnns::impl {

HWY_EXPORT(ConvolutionWeightGradientKernel);
WeightGradientKernel convolution_weight_gradient() {
  return pick(HWY_DISPATCH_TABLE(ConvolutionWeightGradientKernel))();
}

}  // namespace bnns::impl
#endif
