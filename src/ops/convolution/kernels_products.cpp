// Register tiles of kPanel output channels times three vectors of neighbouring columns. Vectors are
// loaded from the padded rows as they lie, weights are broadcast from their panel. The last vector
// of a row is moved back so that it ends with the row: some columns are computed twice, with equal
// bits, and no row is ever left.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/convolution/kernels_products.cpp"
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

// Weights that stay in the second-level cache while all columns pass by.
constexpr size_t kResidentWeights = 32768;

// Vectors beside each other in a tile of kM channels: 12 sums hide the latency of the FMA and leave
// registers for the operands on targets with 16.
template <size_t kM>
constexpr size_t kWidest = kM == 1   ? 8
                           : kM == 2 ? 5
                                     : 3;

// Columns [column, ...) in kN vectors, the last of which begins `last` behind the first.
struct Columns {
  size_t row, column;
  ptrdiff_t last;
  size_t repeated;  // lanes of the last vector that the one before it has too
};

template <size_t kM, size_t kN>
HWY_INLINE void Multiply(const float* x, const int32_t* offset, size_t depth, const float* panel,
                         ptrdiff_t last, V (&sums)[kM * kN]) {
  const D d;
  const size_t lanes = hn::Lanes(d);
  HWY_UNROLL(12)
  for (size_t i = 0; i < kM * kN; ++i) sums[i] = hn::Zero(d);
  for (size_t k = 0; k < depth; ++k) {
    const float* from = x + offset[k];
    V row[kN];
    HWY_UNROLL(8)
    for (size_t n = 0; n + 1 < kN; ++n) row[n] = hn::LoadU(d, from + n * lanes);
    row[kN - 1] = hn::LoadU(d, from + last);
    HWY_UNROLL(4)
    for (size_t m = 0; m < kM; ++m) {
      const V factor = hn::Set(d, panel[k * kM + m]);
      HWY_UNROLL(8)
      for (size_t n = 0; n < kN; ++n)
        sums[m * kN + n] = hn::MulAdd(factor, row[n], sums[m * kN + n]);
    }
  }
}

// Rows shorter than a vector, and outputs that are not neighbours.
HWY_NOINLINE void StoreApart(const float* lanes, size_t first, size_t end, float* to, size_t step,
                             bool accumulate) {
  for (size_t i = first; i < end; ++i)
    to[i * step] = accumulate ? to[i * step] + lanes[i] : lanes[i];
}

template <size_t kM, size_t kN>
HWY_INLINE void Store(const ConvolutionProducts& b, size_t channel, const Columns& c,
                      V (&sums)[kM * kN]) {
  const D d;
  const size_t lanes = hn::Lanes(d);
  const size_t step = b.out_step, plane = b.out_plane, columns = b.columns;
  const bool accumulate = b.accumulate, whole = step == 1 && columns >= lanes;
  const float* bias = b.bias == nullptr ? nullptr : b.bias + channel;
  // Strides of single rows and channels may be anything: they are multiplied, never added up.
  float* row = b.out + channel * plane + c.row * b.out_row + c.column * step;
  HWY_UNROLL(4)
  for (size_t m = 0; m < kM; ++m) {
    HWY_UNROLL(8)
    for (size_t n = 0; n < kN; ++n) {
      const bool is_last = n + 1 == kN;
      const ptrdiff_t at = is_last ? c.last : static_cast<ptrdiff_t>(n * lanes);
      V v = sums[m * kN + n];
      if (bias != nullptr) v = hn::Add(v, hn::Set(d, bias[m]));
      const size_t repeated = is_last ? c.repeated : 0;
      float* to = row + m * plane + at * static_cast<ptrdiff_t>(step);
      if (HWY_LIKELY(whole)) {
        if (accumulate) {
          if (repeated > 0) v = hn::IfThenZeroElse(hn::FirstN(d, repeated), v);
          v = hn::Add(hn::LoadU(d, to), v);
        }
        hn::StoreU(v, d, to);
        continue;
      }
      HWY_ALIGN float values[hn::MaxLanes(D())];
      hn::Store(v, d, values);
      StoreApart(values, repeated, std::min(lanes, columns), to, step, accumulate);
    }
  }
}

template <size_t kM, size_t kN>
HWY_NOINLINE void Tile(const ConvolutionProducts& b, const float* panel, size_t channel,
                       const Columns& c) {
  const D d;
  const size_t lanes = hn::Lanes(d);
  const float* x = b.x + c.row * b.x_row + c.column;
  V sums[kM * kN];
  size_t depth = std::min(b.depth, kDepthBlock);
  Multiply<kM, kN>(x, b.offset, depth, panel, c.last, sums);
  if (b.depth > kDepthBlock) {
    HWY_ALIGN float total[kM * kN * hn::MaxLanes(D())];
    for (size_t k = depth; k < b.depth; k += depth) {
      HWY_UNROLL(12)
      for (size_t i = 0; i < kM * kN; ++i) {
        float* to = total + i * lanes;
        hn::Store(k == kDepthBlock ? sums[i] : hn::Add(hn::Load(d, to), sums[i]), d, to);
      }
      depth = std::min(b.depth - k, kDepthBlock);
      Multiply<kM, kN>(x, b.offset + k, depth, panel + k * kM, c.last, sums);
    }
    HWY_UNROLL(12)
    for (size_t i = 0; i < kM * kN; ++i) sums[i] = hn::Add(hn::Load(d, total + i * lanes), sums[i]);
  }
  Store<kM, kN>(b, channel, c, sums);
}

template <size_t kM, size_t kN>
HWY_INLINE void Panels(const ConvolutionProducts& b, size_t first, size_t count, const Columns& c) {
  for (size_t p = first; p < first + count; ++p)
    Tile<kM, kN>(b, b.panels + p * kPanel * b.depth, p * kPanel, c);
}

template <size_t kM, size_t kN>
HWY_INLINE void PanelsOf(const ConvolutionProducts& b, size_t vectors, size_t first, size_t count,
                         const Columns& c) {
  if constexpr (kN > 1) {
    if (vectors < kN) return PanelsOf<kM, kN - 1>(b, vectors, first, count, c);
  }
  Panels<kM, kN>(b, first, count, c);
}

// Panels [first, first + count), each of kM channels, over all columns of the block.
template <size_t kM>
void AllColumns(const ConvolutionProducts& b, size_t first, size_t count) {
  const size_t lanes = hn::Lanes(D());
  const size_t vectors = (b.columns + lanes - 1) / lanes;
  for (size_t row = 0; row < b.rows; ++row) {
    size_t width = 0;
    for (size_t v = 0; v < vectors; v += width) {
      width = std::min(vectors - v, kWidest<kM>);
      // A single vector at the end would wait for its sums.
      if (vectors - v == width + 1 && width > 2) --width;
      Columns c = {.row = row,
                   .column = v * lanes,
                   .last = static_cast<ptrdiff_t>((width - 1) * lanes),
                   .repeated = 0};
      if (v + width == vectors && b.columns >= lanes) {
        c.repeated = vectors * lanes - b.columns;
        c.last -= static_cast<ptrdiff_t>(c.repeated);
      }
      PanelsOf<kM, kWidest<kM>>(b, width, first, count, c);
    }
  }
}

void Products(const ConvolutionProducts& b) {
  const size_t whole = b.channels / kPanel, rest = b.channels % kPanel;
  const size_t resident =
      std::max<size_t>(1, kResidentWeights / (kPanel * std::max<size_t>(1, b.depth)));
  for (size_t p = 0; p < whole; p += resident)
    AllColumns<kPanel>(b, p, std::min(resident, whole - p));
  if (rest == 1) AllColumns<1>(b, whole, 1);
  if (rest == 2) AllColumns<2>(b, whole, 1);
  if (rest == 3) AllColumns<3>(b, whole, 1);
}

}  // namespace

ProductsKernel ConvolutionProductsKernel() {
  return Products;
}

}  // namespace bnns::impl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "core/target.h"

namespace bnns::impl {

HWY_EXPORT(ConvolutionProductsKernel);
ProductsKernel convolution_products() {
  return pick(HWY_DISPATCH_TABLE(ConvolutionProductsKernel))();
}

}  // namespace bnns::impl
#endif
