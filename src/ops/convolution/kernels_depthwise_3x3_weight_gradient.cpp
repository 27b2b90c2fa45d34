// The weight gradient of 3 x 3 taps for one channel of the small image: depthwise layers.
//   sums(c, r, s) += sum over i, j of a(i, j) * x(c, i + r, j + s)
// A vector of columns walks down the rows: each source row is multiplied with the three rows of a
// that are in registers, and so are the nine accumulators, whose horizontal sums are taken at the
// end of a block. Only rows that overlap are multiplied, and the excess lanes of a last vector are
// zeroed in both factors, so that an infinity counts only where a product exists.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/convolution/kernels_depthwise_3x3_weight_gradient.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

#include <algorithm>

#include "ops/convolution/edges-inl.h"
#include "ops/convolution/kernels.h"

HWY_BEFORE_NAMESPACE();
namespace bnns::impl::HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;
using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;

// Loads whole vectors of the rows of a; Edge, with the same interface, loads partial ones.
struct Whole {
  size_t at;
  HWY_INLINE V load(const float* row) const { return hn::LoadU(D(), row + at); }
};

// Adds the products of source row y, counted from x.first_row, if fewer than three rows of a meet
// it.
template <class Window, class Row>
HWY_NOINLINE void MeetSome(const float* from, ptrdiff_t y, const ConvolutionWeightGradient& b,
                           const Window& window, const Row& row, float* sums) {
  const D d;
  const size_t lanes = hn::Lanes(d);
  const V v[kDepthwiseTaps] = {window.first(from), window.second(from), window.third(from)};
  for (size_t r = 0; r < kDepthwiseTaps; ++r) {
    // For y < r the subtraction wraps around to a very large number.
    const size_t i = static_cast<size_t>(y) - r;
    if (i >= b.rows) continue;
    const V a = row.load(b.a + i * b.a_row);
    for (size_t s = 0; s < kDepthwiseTaps; ++s) {
      float* to = sums + (r * kDepthwiseTaps + s) * lanes;
      hn::Store(hn::MulAdd(a, v[s], hn::Load(d, to)), d, to);
    }
  }
}

// Adds the products of source rows from y on that meet three rows of a each.
template <class Window, class Row>
HWY_NOINLINE void MeetAll(const float* from, size_t pitch, size_t y, size_t rows,
                          const ConvolutionWeightGradient& b, const Window& window, const Row& row,
                          float* sums) {
  const D d;
  const size_t lanes = hn::Lanes(d), a_row = b.a_row;
  const Window at = window;
  const Row a_at = row;
  V sum[kDepthwiseTaps * kDepthwiseTaps];
  HWY_UNROLL(9)
  for (size_t k = 0; k < kDepthwiseTaps * kDepthwiseTaps; ++k)
    sum[k] = hn::Load(d, sums + k * lanes);
  const float* a = b.a + y * a_row;
  V a1 = a_at.load(a - a_row), a2 = a_at.load(a - 2 * a_row);
  HWY_UNROLL(3)
  for (size_t i = 0; i < rows; ++i, a += a_row, from += pitch) {
    const V a0 = a_at.load(a);
    const V v[kDepthwiseTaps] = {at.first(from), at.second(from), at.third(from)};
    HWY_UNROLL(3)
    for (size_t s = 0; s < kDepthwiseTaps; ++s) {
      sum[s] = hn::MulAdd(a0, v[s], sum[s]);
      sum[s + kDepthwiseTaps] = hn::MulAdd(a1, v[s], sum[s + kDepthwiseTaps]);
      sum[s + 2 * kDepthwiseTaps] = hn::MulAdd(a2, v[s], sum[s + 2 * kDepthwiseTaps]);
    }
    a2 = a1;
    a1 = a0;
  }
  HWY_UNROLL(9)
  for (size_t k = 0; k < kDepthwiseTaps * kDepthwiseTaps; ++k)
    hn::Store(sum[k], d, sums + k * lanes);
}

// Walks down all rows of a block with one vector of columns; adds to the sums of all nine taps.
template <class Window, class Row>
void Walk(const ConvolutionDepthwise& x, const float* plane, const ConvolutionWeightGradient& b,
          const Window& window, const Row& row, float* sums) {
  constexpr ptrdiff_t kHalo = kDepthwiseTaps - 1;
  const auto rows = static_cast<ptrdiff_t>(b.rows), pitch = static_cast<ptrdiff_t>(x.row);
  const ptrdiff_t high = std::min(static_cast<ptrdiff_t>(x.rows) - x.first_row, rows + kHalo);
  const float* first = plane + x.first_row * pitch;
  ptrdiff_t y = std::max<ptrdiff_t>(0, -x.first_row);
  for (; y < std::min(high, kHalo); ++y) MeetSome(first + y * pitch, y, b, window, row, sums);
  const ptrdiff_t end = std::min(high, rows);
  if (y < end) {
    MeetAll(first + y * pitch, x.row, static_cast<size_t>(y), static_cast<size_t>(end - y), b,
            window, row, sums);
    y = end;
  }
  for (; y < high; ++y) MeetSome(first + y * pitch, y, b, window, row, sums);
}

// The same for the vector of columns that begins at `column`, whether it is whole or partial.
void WalkAt(const ConvolutionDepthwise& x, const float* plane, const ConvolutionWeightGradient& b,
            size_t column, float* sums) {
  const D d;
  const size_t lanes = hn::Lanes(d);
  const DepthwiseColumns at(x, column);
  const Whole whole = {column};
  if (column + lanes <= b.columns) {
    at.visit([&](const auto& window) HWY_ATTR { Walk(x, plane, b, window, whole, sums); });
    return;
  }
  const auto counts = hn::FirstN(d, b.columns - column);
  const size_t columns = std::max(b.columns, Edge::narrowest());
  const Edge row = Edge::of(static_cast<ptrdiff_t>(column), columns);
  DepthwiseEdges edges = at.edges();
  for (Edge& edge : edges.edge) edge.has_column = hn::And(edge.has_column, counts);
  Walk(x, plane, b, edges, row, sums);
}

void DepthwiseWeightGradient(const ConvolutionDepthwise& x, const ConvolutionWeightGradient& b) {
  const D d;
  const size_t lanes = hn::Lanes(d), taps = kDepthwiseTaps * kDepthwiseTaps;
  for (size_t c = 0; c < b.depth / taps; ++c) {
    HWY_ALIGN float sums[kDepthwiseTaps * kDepthwiseTaps * hn::MaxLanes(D())] = {};
    for (size_t column = 0; column < b.columns; column += lanes)
      WalkAt(x, x.data + c * x.plane, b, column, sums);
    for (size_t k = 0; k < taps; ++k)
      b.sums[(c * taps + k) * b.sums_row] +=
          hn::GetLane(hn::SumOfLanes(d, hn::Load(d, sums + k * lanes)));
  }
}

}  // namespace

DepthwiseWeightGradientKernel ConvolutionDepthwiseWeightGradientKernel() {
  return DepthwiseWeightGradient;
}

}  // namespace bnns::impl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "core/target.h"

namespace bnns::impl {

HWY_EXPORT(ConvolutionDepthwiseWeightGradientKernel);
DepthwiseWeightGradientKernel convolution_depthwise_weight_gradient() {
  return pick(HWY_DISPATCH_TABLE(ConvolutionDepthwiseWeightGradientKernel))();
}

}  // namespace bnns::impl
#endif
