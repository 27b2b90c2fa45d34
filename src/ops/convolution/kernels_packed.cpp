// Products for many output channels. The columns of a tile are copied, block of depth by block of
// depth, into a panel that stays in the first-level cache while the weights of all channels pass
// by. Columns run on from row to row where the outputs do, so that no lane is wasted at row ends.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/convolution/kernels_packed.cpp"
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

constexpr size_t kVectors = 3;
constexpr size_t kTileColumns = kVectors * hn::MaxLanes(D());
// Channels whose sums wait in the first-level cache for the next block of depth.
constexpr size_t kChannels = 128;

// Columns [column, column + kN vectors) of a line; [skip, end) of them are stored.
struct Place {
  size_t line, column, skip, end;
};

// Stretches of a tile that lie in one row.
struct Stretches {
  size_t count = 0;
  size_t from[kTileColumns], length[kTileColumns];
};

Stretches stretches_of(const ConvolutionProducts& b, const Place& place) {
  Stretches s;
  size_t column = place.column;
  const size_t end = place.column + place.end;
  while (column < end) {
    const size_t x = column % b.columns, n = std::min(b.columns - x, end - column);
    s.from[s.count] = (place.line + column / b.columns) * b.x_row + x;
    s.length[s.count++] = n;
    column += n;
  }
  return s;
}

template <size_t kN>
HWY_NOINLINE void Pack(const ConvolutionProducts& b, const Stretches& s, size_t k0, size_t depth,
                       float* panel) {
  const D d;
  const size_t lanes = hn::Lanes(d);
  for (size_t k = k0; k < k0 + depth; ++k, panel += kN * lanes) {
    const float* from = b.x + (b.x_plane > 0 ? static_cast<ptrdiff_t>(k * b.x_plane) : b.offset[k]);
    if (HWY_LIKELY(s.count == 1)) {
      for (size_t n = 0; n < kN; ++n)
        hn::Store(hn::LoadU(d, from + s.from[0] + n * lanes), d, panel + n * lanes);
      continue;
    }
    // What a vector writes too much the next stretch, or the next line of the panel, puts right.
    float* to = panel;
    for (size_t i = 0; i < s.count; ++i) {
      for (size_t x = 0; x < s.length[i]; x += lanes)
        hn::StoreU(hn::LoadU(d, from + s.from[i] + x), d, to + x);
      to += s.length[i];
    }
  }
}

template <size_t kM, size_t kN>
HWY_INLINE void Multiply(const float* HWY_RESTRICT panel, const float* HWY_RESTRICT weights,
                         size_t depth, V (&sums)[kM * kN]) {
  const D d;
  const size_t lanes = hn::Lanes(d);
  HWY_UNROLL(12)
  for (size_t i = 0; i < kM * kN; ++i) sums[i] = hn::Zero(d);
  for (size_t k = 0; k < depth; ++k, panel += kN * lanes, weights += kM) {
    V row[kN];
    HWY_UNROLL(3)
    for (size_t n = 0; n < kN; ++n) row[n] = hn::Load(d, panel + n * lanes);
    HWY_UNROLL(4)
    for (size_t m = 0; m < kM; ++m) {
      const V factor = hn::Set(d, weights[m]);
      HWY_UNROLL(3)
      for (size_t n = 0; n < kN; ++n)
        sums[m * kN + n] = hn::MulAdd(factor, row[n], sums[m * kN + n]);
    }
  }
}

// Whole vectors, next to each other.
template <size_t kM, size_t kN, bool kAccumulate>
HWY_INLINE void StoreWhole(float* HWY_RESTRICT to, size_t plane, const float* HWY_RESTRICT bias,
                           V (&sums)[kM * kN]) {
  const D d;
  const size_t lanes = hn::Lanes(d);
  HWY_UNROLL(4)
  for (size_t m = 0; m < kM; ++m) {
    HWY_UNROLL(3)
    for (size_t n = 0; n < kN; ++n) {
      V v = sums[m * kN + n];
      if (bias != nullptr) v = hn::Add(v, hn::Set(d, bias[m]));
      float* at = to + m * plane + n * lanes;
      if (kAccumulate) v = hn::Add(hn::LoadU(d, at), v);
      hn::StoreU(v, d, at);
    }
  }
}

// Columns [skip, end), any distance apart.
template <size_t kM, size_t kN>
HWY_NOINLINE void StoreApart(const ConvolutionProducts& b, size_t channel, const Place& place,
                             float* to, const float* sums) {
  const size_t columns = kN * hn::Lanes(D());
  for (size_t m = 0; m < kM; ++m) {
    const float bias = b.bias == nullptr ? 0 : b.bias[channel + m];
    for (size_t i = place.skip; i < place.end; ++i) {
      float& value = to[m * b.out_plane + i * b.out_step];
      const float sum = b.bias == nullptr ? sums[m * columns + i] : sums[m * columns + i] + bias;
      value = b.accumulate ? value + sum : sum;
    }
  }
}

template <size_t kM, size_t kN>
HWY_INLINE void Store(const ConvolutionProducts& b, size_t channel, const Place& place,
                      V (&sums)[kM * kN]) {
  const D d;
  const size_t lanes = hn::Lanes(d);
  float* to = b.out + channel * b.out_plane + place.line * b.out_row + place.column * b.out_step;
  const float* bias = b.bias == nullptr ? nullptr : b.bias + channel;
  if (b.out_step == 1 && place.end == kN * lanes) {
    if (!b.accumulate) return StoreWhole<kM, kN, false>(to, b.out_plane, bias, sums);
    if (place.skip == 0) return StoreWhole<kM, kN, true>(to, b.out_plane, bias, sums);
  }
  HWY_ALIGN float values[kM * kTileColumns];
  HWY_UNROLL(12)
  for (size_t i = 0; i < kM * kN; ++i) hn::Store(sums[i], d, values + i * lanes);
  StoreApart<kM, kN>(b, channel, place, to, values);
}

// A block of depth for kM channels; `total` holds the sums of the blocks before.
template <size_t kM, size_t kN>
HWY_NOINLINE void Channels(const ConvolutionProducts& b, const float* panel, size_t k0,
                           size_t depth, size_t channel, const Place& place, float* total) {
  const D d;
  const size_t lanes = hn::Lanes(d);
  V sums[kM * kN];
  Multiply<kM, kN>(panel, b.panels + channel * b.depth + k0 * kM, depth, sums);
  if (k0 > 0) {
    HWY_UNROLL(12)
    for (size_t i = 0; i < kM * kN; ++i) sums[i] = hn::Add(hn::Load(d, total + i * lanes), sums[i]);
  }
  if (k0 + depth == b.depth) return Store<kM, kN>(b, channel, place, sums);
  HWY_UNROLL(12)
  for (size_t i = 0; i < kM * kN; ++i) hn::Store(sums[i], d, total + i * lanes);
}

template <size_t kN>
void TileOf(const ConvolutionProducts& b, size_t first, size_t end, const Place& place,
            float* panel, float* totals) {
  const size_t columns = kN * hn::Lanes(D());
  const Stretches stretches = stretches_of(b, place);
  const size_t whole = first + (end - first) / kPanel * kPanel;
  for (size_t k0 = 0; k0 < b.depth; k0 += kDepthBlock) {
    const size_t depth = std::min(b.depth - k0, kDepthBlock);
    Pack<kN>(b, stretches, k0, depth, panel);
    for (size_t m = first; m < whole; m += kPanel)
      Channels<kPanel, kN>(b, panel, k0, depth, m, place, totals + (m - first) * columns);
    float* rest = totals + (whole - first) * columns;
    if (end - whole == 1) Channels<1, kN>(b, panel, k0, depth, whole, place, rest);
    if (end - whole == 2) Channels<2, kN>(b, panel, k0, depth, whole, place, rest);
    if (end - whole == 3) Channels<3, kN>(b, panel, k0, depth, whole, place, rest);
  }
}

void PackedProducts(const ConvolutionProducts& b) {
  const size_t lanes = hn::Lanes(D());
  // The slack takes what the last vector of the last stretch writes too much.
  HWY_ALIGN float panel[kDepthBlock * kTileColumns + hn::MaxLanes(D())];
  HWY_ALIGN float totals[kChannels * kTileColumns];
  const bool runs_on = b.out_row == b.columns * b.out_step;
  const size_t lines = runs_on ? 1 : b.rows;
  const size_t length = runs_on ? b.rows * b.columns : b.columns;
  const size_t vectors = (length + lanes - 1) / lanes;
  for (size_t first = 0; first < b.channels; first += kChannels) {
    const size_t end = std::min(b.channels, first + kChannels);
    for (size_t line = 0; line < lines; ++line) {
      size_t width = 0;
      for (size_t v = 0; v < vectors; v += width) {
        width = std::min(vectors - v, kVectors);
        if (vectors - v == width + 1) --width;  // a single vector would wait for its sums
        Place place = {.line = line, .column = v * lanes, .skip = 0, .end = width * lanes};
        if (v + width == vectors && length >= place.end) {  // move back to end with the line
          place.skip = place.column + place.end - length;
          place.column -= place.skip;
        }
        place.end = std::min(place.end, length);
        if (width == 3) TileOf<3>(b, first, end, place, panel, totals);
        if (width == 2) TileOf<2>(b, first, end, place, panel, totals);
        if (width == 1) TileOf<1>(b, first, end, place, panel, totals);
      }
    }
  }
}

}  // namespace

ProductsKernel ConvolutionPackedKernel() {
  return PackedProducts;
}

}  // namespace bnns::impl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "core/target.h"

namespace bnns::impl {

HWY_EXPORT(ConvolutionPackedKernel);
ProductsKernel convolution_packed_products() {
  return pick(HWY_DISPATCH_TABLE(ConvolutionPackedKernel))();
}

}  // namespace bnns::impl
#endif
