// Register tiles of kPanel output channels times three vectors of adjacent columns. Vectors are
// loaded from the padded rows in place, weights are broadcast from their panel. The last vector of
// a row is moved back so that it ends with the row: some columns are computed twice, with equal
// bits, and nothing beyond a row is accessed.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/convolution/kernels_products.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

#include <algorithm>

#include "ops/convolution/kernels.h"
#include "ops/epilogue/epilogue-inl.h"
#include "simd/register_barrier-inl.h"

HWY_BEFORE_NAMESPACE();
namespace bnns::impl::HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;
using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;

// Weights that stay in the second-level cache while all columns stream past.
constexpr size_t kResidentWeights = 32768;

// Unroll factor of the loop over the terms: with 12 accumulators compilers would run out of
// registers.
template <size_t kSums>
constexpr size_t kSteps = kSums < 12 ? 2 : 1;

// Vectors side by side in a tile of kM channels. About 12 accumulators hide the latency of the FMA
// and leave registers for the operands on targets with 16.
template <size_t kM>
constexpr size_t kWidest = kM == 1   ? 8
                           : kM == 2 ? 5
                                     : 3;

// Rows of outputs whose partial sums are stored between two blocks of depth.
constexpr size_t kRows = 8;

// The columns of a tile in some rows: kN vectors from `column` on, the last of which begins `last`
// behind the first.
struct ColumnTile {
  size_t row, rows, column;
  ptrdiff_t last;
  size_t repeated;  // first lanes of the last vector that the vector before it also has
};

// Adds the products of one term at offset `at` with kM weights. kFirst: the sums begin with them.
// The vectors or the weights, whichever are fewer, are held in registers; the others are loaded one
// by one.
template <size_t kM, size_t kN, bool kFirst>
HWY_INLINE void Step(const float* x, const float* x_last, ptrdiff_t at, const float* weights,
                     V (&sums)[kM * kN]) {
  const D d;
  const auto vector = [&](size_t n) HWY_ATTR {
    return hn::LoadU(d, n + 1 < kN ? x + at + n * hn::Lanes(d) : x_last + at);
  };
  const auto add = [&](size_t m, size_t n, V factor, V v) HWY_ATTR {
    V& sum = sums[m * kN + n];
    sum = kFirst ? hn::Mul(factor, v) : hn::MulAdd(factor, v, sum);
  };
  if constexpr (kM < kN) {
    V factor[kM];
    HWY_UNROLL(4)
    for (size_t m = 0; m < kM; ++m) factor[m] = hn::Set(d, weights[m]);
    HWY_UNROLL(8)
    for (size_t n = 0; n < kN; ++n) {
      const V v = vector(n);
      HWY_UNROLL(4)
      for (size_t m = 0; m < kM; ++m) add(m, n, factor[m], v);
      if constexpr (kM > 1) KeepInRegister(v);  // with one channel the load folds into the FMA
    }
    HWY_UNROLL(4)
    for (size_t m = 0; m < kM; ++m) KeepInRegister(factor[m]);
  } else {
    V row[kN];
    HWY_UNROLL(8)
    for (size_t n = 0; n < kN; ++n) row[n] = vector(n);
    HWY_UNROLL(4)
    for (size_t m = 0; m < kM; ++m) {
      const V factor = hn::Set(d, weights[m]);
      HWY_UNROLL(8)
      for (size_t n = 0; n < kN; ++n) add(m, n, factor, row[n]);
      KeepInRegister(factor);
    }
    HWY_UNROLL(8)
    for (size_t n = 0; n < kN; ++n) KeepInRegister(row[n]);
  }
}

template <size_t kM, size_t kN>
HWY_INLINE void Multiply(const float* x, const int32_t* offset, size_t depth, const float* panel,
                         ptrdiff_t last, V (&sums)[kM * kN]) {
  constexpr size_t kRound = kSteps<kM * kN>;
  const float* x_last = x + last;
  Step<kM, kN, true>(x, x_last, offset[0], panel, sums);
  ++offset;
  panel += kM;
  for (size_t i = (depth - 1) / kRound; i > 0; --i, offset += kRound, panel += kRound * kM) {
    HWY_UNROLL(2)
    for (size_t k = 0; k < kRound; ++k)
      Step<kM, kN, false>(x, x_last, offset[k], panel + k * kM, sums);
  }
  if ((depth - 1) % kRound > 0) Step<kM, kN, false>(x, x_last, *offset, panel, sums);
}

// Stores rows shorter than a vector, and outputs that are not contiguous.
HWY_NOINLINE void StoreApart(const float* lanes, size_t first, size_t end, float* to, size_t step,
                             bool accumulate) {
  for (size_t i = first; i < end; ++i)
    to[i * step] = accumulate ? to[i * step] + lanes[i] : lanes[i];
}

template <size_t kM, size_t kN>
HWY_INLINE void Store(const ConvolutionProducts& b, size_t channel, const ColumnTile& c, size_t i,
                      V (&sums)[kM * kN]) {
  const D d;
  const size_t lanes = hn::Lanes(d);
  const size_t step = b.out_step, plane = b.out_plane, columns = b.columns;
  const bool accumulate = b.epilogue.accumulate, whole = step == 1 && columns >= lanes;
  // An axis of extent 1 may have any stride, so addresses are multiplied out; a running pointer
  // could leave the tensor.
  float* row = b.out + channel * plane + (c.row + i) * b.out_row + c.column * step;
  epilogue::ApplyRows<kM, kN>(d, b.epilogue.row, channel, sums);
  HWY_UNROLL(4)
  for (size_t m = 0; m < kM; ++m) {
    HWY_UNROLL(8)
    for (size_t n = 0; n < kN; ++n) {
      const bool is_last = n + 1 == kN;
      const ptrdiff_t at = is_last ? c.last : static_cast<ptrdiff_t>(n * lanes);
      V v = sums[m * kN + n];
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

// Every block of depth is applied to all rows before the next block, so that the source rows they
// share stay in the first-level cache.
template <size_t kM, size_t kN>
HWY_NOINLINE void Tile(const ConvolutionProducts& b, const float* panel, size_t channel,
                       const ColumnTile& c) {
  const D d;
  const size_t lanes = hn::Lanes(d);
  HWY_ALIGN float totals[kRows * kM * kN * hn::MaxLanes(D())];
  for (size_t k = 0; k < b.depth; k += kDepthBlock) {
    const size_t depth = std::min(b.depth - k, kDepthBlock);
    for (size_t i = 0; i < c.rows; ++i) {
      const float* x = b.x + (c.row + i) * b.x_row + c.column;
      float* total = totals + i * kM * kN * lanes;
      V sums[kM * kN];
      Multiply<kM, kN>(x, b.offset + k, depth, panel + k * kM, c.last, sums);
      if (k > 0) {
        HWY_UNROLL(12)
        for (size_t s = 0; s < kM * kN; ++s)
          sums[s] = hn::Add(hn::Load(d, total + s * lanes), sums[s]);
      }
      if (k + depth == b.depth) {
        Store<kM, kN>(b, channel, c, i, sums);
      } else {
        HWY_UNROLL(12)
        for (size_t s = 0; s < kM * kN; ++s) hn::Store(sums[s], d, total + s * lanes);
      }
    }
  }
}

template <size_t kM, size_t kN>
HWY_INLINE void Panels(const ConvolutionProducts& b, size_t first, size_t count,
                       const ColumnTile& c) {
  for (size_t p = first; p < first + count; ++p)
    Tile<kM, kN>(b, b.panels + p * kPanel * b.depth, p * kPanel, c);
}

template <size_t kM, size_t kN>
HWY_INLINE void PanelsOf(const ConvolutionProducts& b, size_t vectors, size_t first, size_t count,
                         const ColumnTile& c) {
  if constexpr (kN > 1) {
    if (vectors < kN) return PanelsOf<kM, kN - 1>(b, vectors, first, count, c);
  }
  Panels<kM, kN>(b, first, count, c);
}

// Multiplies panels [first, first + count), each of kM channels, with all columns of the block.
template <size_t kM>
void AllColumns(const ConvolutionProducts& b, size_t first, size_t count) {
  const size_t lanes = hn::Lanes(D());
  const size_t vectors = (b.columns + lanes - 1) / lanes;
  for (size_t row = 0; row < b.rows; row += kRows) {
    size_t width = 0;
    for (size_t v = 0; v < vectors; v += width) {
      width = std::min(vectors - v, kWidest<kM>);
      // A single vector at the end would not hide the latency of the FMA.
      if (vectors - v == width + 1 && width > 2) --width;
      ColumnTile c = {.row = row,
                      .rows = std::min(b.rows - row, kRows),
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
