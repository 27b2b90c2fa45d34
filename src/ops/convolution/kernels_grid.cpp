// Products of 3 x 3 taps for one output channel: depthwise layers, gradients of one input channel.
// A tile of output rows times two vectors of columns takes every vector of the source once for all
// rows that it meets, so that there are more products than loads:
//   out(i, j) (+)= bias + sum over c, s, r of w(c, r, s) * x(c, i + r, j + s)
// The last vector of a row is moved back so that it ends with the row: some columns are computed
// twice, with equal bits, and no row is ever left.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/convolution/kernels_grid.cpp"
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

constexpr size_t kTaps = 3;
constexpr size_t kRows = 4;
// Source channels whose sums are started from zero.
constexpr size_t kChannels = kDepthBlock / (kTaps * kTaps);

// One or two vectors of columns, the last of which begins `last` behind the first.
struct Columns {
  size_t first, last;
  size_t repeated;  // lanes of the last vector that the one before it has too
};

template <size_t kR, size_t kN>
HWY_INLINE void Multiply(const ConvolutionProducts& b, const float* x, size_t last, size_t c,
                         size_t channels, V (&sums)[kR * kN]) {
  const D d;
  HWY_UNROLL(8)
  for (size_t i = 0; i < kR * kN; ++i) sums[i] = hn::Zero(d);
  const size_t pitch = b.x_row;
  for (const size_t end = c + channels; c < end; ++c) {
    const int32_t* offset = b.offset + c * kTaps * kTaps;
    const float* w = b.panels + c * kTaps * kTaps;
    for (size_t s = 0; s < kTaps; ++s) {
      const float* from = x + offset[s];
      V factor[kTaps];
      HWY_UNROLL(3)
      for (size_t r = 0; r < kTaps; ++r) factor[r] = hn::Set(d, w[r * kTaps + s]);
      HWY_UNROLL(6)
      for (size_t y = 0; y < kR + kTaps - 1; ++y) {
        const V first = hn::LoadU(d, from + y * pitch);
        const V second = kN > 1 ? hn::LoadU(d, from + y * pitch + last) : first;
        HWY_UNROLL(4)
        for (size_t i = 0; i < kR; ++i) {
          if (y < i || y - i >= kTaps) continue;
          sums[i * kN] = hn::MulAdd(factor[y - i], first, sums[i * kN]);
          if (kN > 1) sums[i * kN + 1] = hn::MulAdd(factor[y - i], second, sums[i * kN + 1]);
        }
      }
    }
  }
}

// Rows shorter than a vector, and outputs that are not neighbours.
HWY_NOINLINE void StoreApart(const float* values, size_t first, size_t end, float* to, size_t step,
                             bool accumulate) {
  for (size_t i = first; i < end; ++i)
    to[i * step] = accumulate ? to[i * step] + values[i] : values[i];
}

// Anything but whole vectors that are only stored.
HWY_NOINLINE void StoreWithCare(const ConvolutionProducts& b, const float* values, size_t repeated,
                                float* to) {
  const D d;
  const size_t lanes = hn::Lanes(d);
  if (b.out_step != 1 || b.columns < lanes)
    return StoreApart(values, repeated, std::min(lanes, b.columns), to, b.out_step, b.accumulate);
  V v = hn::Load(d, values);
  if (b.accumulate) v = hn::Add(hn::LoadU(d, to), hn::IfThenZeroElse(hn::FirstN(d, repeated), v));
  hn::StoreU(v, d, to);
}

template <size_t kR, size_t kN>
HWY_INLINE void Store(const ConvolutionProducts& b, size_t row, const Columns& c,
                      V (&sums)[kR * kN]) {
  const D d;
  const size_t lanes = hn::Lanes(d), out_row = b.out_row;
  if (b.bias != nullptr) {
    const V bias = hn::Set(d, b.bias[0]);
    HWY_UNROLL(8)
    for (size_t i = 0; i < kR * kN; ++i) sums[i] = hn::Add(sums[i], bias);
  }
  float* to = b.out + row * out_row + c.first * b.out_step;
  if (HWY_LIKELY(b.out_step == 1 && b.columns >= lanes && !b.accumulate)) {
    const size_t last = c.last;
    HWY_UNROLL(4)
    for (size_t i = 0; i < kR; ++i) {
      if (kN > 1) hn::StoreU(sums[i * kN], d, to + i * out_row);
      hn::StoreU(sums[i * kN + kN - 1], d, to + i * out_row + last);
    }
    return;
  }
  HWY_ALIGN float values[kR * kN * hn::MaxLanes(D())];
  HWY_UNROLL(8)
  for (size_t i = 0; i < kR * kN; ++i) hn::Store(sums[i], d, values + i * lanes);
  for (size_t i = 0; i < kR * kN; ++i) {
    const bool is_last = i % kN + 1 == kN;
    StoreWithCare(b, values + i * lanes, is_last ? c.repeated : 0,
                  to + i / kN * out_row + (is_last ? c.last * b.out_step : 0));
  }
}

template <size_t kR, size_t kN>
HWY_INLINE void Tile(const ConvolutionProducts& b, size_t row, const Columns& c) {
  const D d;
  const size_t lanes = hn::Lanes(d), channels = b.depth / (kTaps * kTaps);
  const float* x = b.x + row * b.x_row + c.first;
  V sums[kR * kN];
  Multiply<kR, kN>(b, x, c.last, 0, std::min(channels, kChannels), sums);
  if (HWY_UNLIKELY(channels > kChannels)) {
    HWY_ALIGN float total[kR * kN * hn::MaxLanes(D())];
    for (size_t k = kChannels; k < channels; k += kChannels) {
      HWY_UNROLL(8)
      for (size_t i = 0; i < kR * kN; ++i) hn::Store(sums[i], d, total + i * lanes);
      Multiply<kR, kN>(b, x, c.last, k, std::min(channels - k, kChannels), sums);
      HWY_UNROLL(8)
      for (size_t i = 0; i < kR * kN; ++i)
        sums[i] = hn::Add(hn::Load(d, total + i * lanes), sums[i]);
    }
  }
  Store<kR, kN>(b, row, c, sums);
}

template <size_t kR>
HWY_NOINLINE void Rows(const ConvolutionProducts& b, size_t row) {
  const size_t lanes = hn::Lanes(D());
  size_t column = 0;
  for (; column + 2 * lanes <= b.columns; column += 2 * lanes)
    Tile<kR, 2>(b, row, {.first = column, .last = lanes, .repeated = 0});
  if (column == b.columns) return;
  const size_t last = b.columns < lanes ? 0 : b.columns - lanes;
  if (last > column) {
    const size_t distance = last - column;
    return Tile<kR, 2>(b, row, {.first = column, .last = distance, .repeated = lanes - distance});
  }
  Tile<kR, 1>(b, row, {.first = last, .last = 0, .repeated = column - last});
}

void GridProducts(const ConvolutionProducts& b) {
  size_t row = 0;
  for (; row + kRows <= b.rows; row += kRows) Rows<kRows>(b, row);
  const size_t rest = b.rows - row;
  if (rest == 1) Rows<1>(b, row);
  if (rest == 2) Rows<2>(b, row);
  if (rest == 3) Rows<3>(b, row);
}

}  // namespace

ProductsKernel ConvolutionGridKernel() {
  return GridProducts;
}

}  // namespace bnns::impl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "core/target.h"

namespace bnns::impl {

HWY_EXPORT(ConvolutionGridKernel);
ProductsKernel convolution_grid_products() {
  return pick(HWY_DISPATCH_TABLE(ConvolutionGridKernel))();
}

}  // namespace bnns::impl
#endif
