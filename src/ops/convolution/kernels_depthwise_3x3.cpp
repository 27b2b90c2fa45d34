// Products of 3 x 3 taps for one output channel: depthwise layers, gradients of one input channel.
//   out(i, j) = epilogue of the sum over c, r, s of w(c, r, s) * x(c, i + r, j + s)
// A vector of columns walks down the rows: each source row is loaded once for the three output rows
// that use it, and the nine weights stay in registers. The source may be the image itself; the zero
// padding around it is supplied as it is loaded.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/convolution/kernels_depthwise_3x3.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

#include <algorithm>

#include "ops/convolution/edges-inl.h"
#include "ops/convolution/kernels.h"
#include "ops/epilogue/epilogue-inl.h"

HWY_BEFORE_NAMESPACE();
namespace bnns::impl::HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;
using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;

// Outputs of a block, which stays in the first-level cache together with its source.
constexpr size_t kOutputs = 2048;
constexpr size_t kColumns = kOutputs / 4;
// Source channels whose sums are collected in a buffer before they are added to the outputs. Each
// channel is summed from zero.
constexpr size_t kChannels = kDepthBlock / (kDepthwiseTaps * kDepthwiseTaps);

// Destination of a block of sums.
struct Target {
  float* data;
  size_t row;
  ChannelTerms terms;
  bool add;  // to the values that are there
};

// Outputs [row, row + rows) x [column, column + columns).
struct Block {
  size_t row, rows;
  size_t column, columns;
  size_t pitch;  // distance of rows in the buffer, a multiple of the vector length
};

// Computes the outputs of one vector of columns in all rows of a block.
template <bool kScales, class Window>
HWY_NOINLINE void Walk(const ConvolutionDepthwise& x, const float* plane, const float* w,
                       const Window& window, const Block& block, const Target& to) {
  const D d;
  V weight[kDepthwiseTaps * kDepthwiseTaps];
  HWY_UNROLL(9)
  for (size_t k = 0; k < kDepthwiseTaps * kDepthwiseTaps; ++k) weight[k] = hn::Set(d, w[k]);
  // Copies of the terms, which stores to the outputs cannot change.
  const bool has_bias = to.terms.bias != nullptr, accumulate = to.add;
  const float bias = has_bias ? *to.terms.bias : 0, scale = kScales ? *to.terms.scale : 1,
              shift = kScales ? *to.terms.shift : 0;
  const ChannelTerms terms = {.bias = has_bias ? &bias : nullptr,
                              .scale = kScales ? &scale : nullptr,
                              .shift = kScales ? &shift : nullptr};
  const size_t pitch = x.row, out_row = to.row;
  const Window at = window;
  // Partial sums of the next two outputs, and the sum of the output that is complete.
  V second = hn::Zero(d), third = hn::Zero(d), sums[1];
  const auto add = [&](V v0, V v1, V v2) HWY_ATTR {
    const auto taps = [&](size_t r, V v) HWY_ATTR {
      v = hn::MulAdd(weight[r * kDepthwiseTaps], v0, v);
      v = hn::MulAdd(weight[r * kDepthwiseTaps + 1], v1, v);
      return hn::MulAdd(weight[r * kDepthwiseTaps + 2], v2, v);
    };
    sums[0] = taps(2, third);
    third = taps(1, second);
    second = taps(0, hn::Zero(d));
  };
  float* out = to.data;
  const auto store = [&]() HWY_ATTR {
    epilogue::ApplyRows<1, 1>(d, terms, 0, sums);
    if (accumulate) sums[0] = hn::Add(hn::LoadU(d, out), sums[0]);
    hn::StoreU(sums[0], d, out);
    out += out_row;
  };
  // The walk covers source rows [first, end); [low, high) of them are inside the image.
  const ptrdiff_t first = x.first_row + static_cast<ptrdiff_t>(block.row);
  const ptrdiff_t end = first + static_cast<ptrdiff_t>(block.rows + kDepthwiseTaps - 1);
  const ptrdiff_t high = std::clamp(static_cast<ptrdiff_t>(x.rows), first, end);
  const ptrdiff_t low = std::clamp<ptrdiff_t>(0, first, high), begin = first + kDepthwiseTaps - 1;
  ptrdiff_t y = first;
  for (; y < low; ++y) {
    add(hn::Zero(d), hn::Zero(d), hn::Zero(d));
    if (y >= begin) store();
  }
  const float* from = plane + y * static_cast<ptrdiff_t>(pitch);
  for (; y < std::min(begin, high); ++y, from += pitch)
    add(at.first(from), at.second(from), at.third(from));
  HWY_UNROLL(4)
  for (; y < high; ++y, from += pitch) {
    add(at.first(from), at.second(from), at.third(from));
    store();
  }
  for (; y < end; ++y) {
    add(hn::Zero(d), hn::Zero(d), hn::Zero(d));
    if (y >= begin) store();
  }
}

void WalkAt(const ConvolutionDepthwise& x, const float* plane, const float* w, size_t column,
            const Block& block, const Target& to) {
  DepthwiseColumns(x, column).visit([&](const auto& window) HWY_ATTR {
    const bool scales = to.terms.scale != nullptr;
    scales ? Walk<true>(x, plane, w, window, block, to)
           : Walk<false>(x, plane, w, window, block, to);
  });
}

// Stores the sums of one channel directly in the outputs. The last vector of a row is moved back so
// that it ends with the row: some columns are computed twice, with equal bits.
void Direct(const ConvolutionDepthwise& x, const ConvolutionProducts& b, const Block& block) {
  const size_t lanes = hn::Lanes(D());
  for (size_t j = 0; j < block.columns; j += lanes) {
    const size_t column = std::min(block.column + j, b.columns - lanes);
    WalkAt(x, x.data, b.panels, column, block,
           {.data = b.out + block.row * b.out_row + column,
            .row = b.out_row,
            .terms = b.epilogue.row,
            .add = false});
  }
}

// Stores a row of n sums, or adds it to the outputs. Stores of whole vectors may overrun the row as
// long as they end before `room`.
void Finish(const ConvolutionProducts& b, const float* sums, size_t n, size_t room, float* out) {
  const D d;
  const size_t lanes = hn::Lanes(d), step = b.out_step;
  const ChannelTerms terms = b.epilogue.row;
  const bool accumulate = b.epilogue.accumulate;
  const auto put = [&](auto tag, auto sum, float* to) HWY_ATTR {
    decltype(sum) z[1] = {sum};
    epilogue::ApplyRows<1, 1>(tag, terms, 0, z);
    if (accumulate) z[0] = hn::Add(hn::LoadU(tag, to), z[0]);
    hn::StoreU(z[0], tag, to);
  };
  size_t j = 0;
  for (; j < n && j + lanes <= room; j += lanes) put(d, hn::Load(d, sums + j), out + j);
  const epilogue::One one;
  for (; j < n; ++j) put(one, hn::Set(one, sums[j]), out + j * step);
}

// Sums several channels, or outputs that are not contiguous, in a buffer first.
void Collect(const ConvolutionDepthwise& x, const ConvolutionProducts& all, const Block& block) {
  HWY_ALIGN float sums[kOutputs];
  const size_t lanes = hn::Lanes(D()), channels = all.depth / (kDepthwiseTaps * kDepthwiseTaps);
  const size_t row = block.pitch;
  ConvolutionProducts b = all;
  for (size_t first = 0; first < channels; first += kChannels) {
    for (size_t c = first; c < std::min(channels, first + kChannels); ++c) {
      for (size_t j = 0; j < block.columns; j += lanes) {
        WalkAt(x, x.data + c * x.plane, b.panels + c * kDepthwiseTaps * kDepthwiseTaps,
               block.column + j, block,
               {.data = sums + j, .row = row, .terms = {}, .add = c > first});
      }
    }
    float* out = b.out + block.row * b.out_row + block.column * b.out_step;
    // Where rows are contiguous, a store may overrun the row; the next row's store overwrites the
    // excess.
    const bool runs_on = b.out_row == block.columns && !b.epilogue.accumulate;
    for (size_t i = 0; i < block.rows; ++i) {
      const size_t rows = runs_on ? block.rows - i : 1;
      Finish(b, sums + i * row, block.columns, b.out_step == 1 ? rows * block.columns : 0,
             out + i * b.out_row);
    }
    b.epilogue.row = {};
    b.epilogue.accumulate = true;
  }
}

void DepthwiseProducts(const ConvolutionDepthwise& x, const ConvolutionProducts& b) {
  const size_t lanes = hn::Lanes(D());
  const bool direct = b.depth == kDepthwiseTaps * kDepthwiseTaps && b.out_step == 1 &&
                      !b.epilogue.accumulate && b.columns >= lanes;
  for (size_t column = 0; column < b.columns; column += kColumns) {
    const size_t columns = std::min(kColumns, b.columns - column);
    const size_t pitch = (columns + lanes - 1) / lanes * lanes, rows = kOutputs / pitch;
    for (size_t row = 0; row < b.rows; row += rows) {
      (direct ? Direct : Collect)(x, b,
                                  {.row = row,
                                   .rows = std::min(rows, b.rows - row),
                                   .column = column,
                                   .columns = columns,
                                   .pitch = pitch});
    }
  }
}

}  // namespace

DepthwiseProductsKernel ConvolutionDepthwiseKernel() {
  return DepthwiseProducts;
}

}  // namespace bnns::impl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "core/target.h"

namespace bnns::impl {

HWY_EXPORT(ConvolutionDepthwiseKernel);
DepthwiseProductsKernel convolution_depthwise_products() {
  return pick(HWY_DISPATCH_TABLE(ConvolutionDepthwiseKernel))();
}

}  // namespace bnns::impl
#endif
