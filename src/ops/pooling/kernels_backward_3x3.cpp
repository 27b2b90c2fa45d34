// The gradient of the average of windows of 3 x 3 at a stride of 2. Counted from the start of the
// padding, the middle of a window is an odd cell of its own, and the even cells on both sides are
// shared:
//   odd cell: its window        even cell: the window that ends there, and the one that begins
// The same holds for rows. Columns are walked downwards, two rows of cells for each row of windows,
// so that the contributions to a shared row stay in registers and each cell is written once. Pair i
// is cells 2 i and 2 i + 1: the middle of window i, and the even cell behind it (with a pad of 1)
// or before it (without padding).
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/pooling/kernels_backward_3x3.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

#include "ops/pooling/special.h"
#include "ops/pooling/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace bnns::impl::HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;
using D = hn::ScalableTag<float>;
using DI = hn::RebindToSigned<D>;
using V = hn::Vec<D>;

struct AverageCall {
  const PlaneAxes& axes;
  bool whole;
  PoolingPlane<const float> g;
  const float* divisor;
  PoolingPlane<float> dx;

  HWY_INLINE float Factor(size_t j) const {
    const size_t top = 2 * j, bottom = axes.y.cells + axes.y.pad;
    return whole ? 1.0f : static_cast<float>(size_t{1} + (top >= axes.y.pad) + (top + 2 < bottom));
  }
};

// An order of lanes, rotated by `shift`, in which InterleaveLower yields the first half of all
// lanes and InterleaveUpper the second, although both work on 128-bit blocks.
HWY_INLINE auto HalvesApart(size_t shift) {
  const DI di;
  constexpr size_t kMax = hn::MaxLanes(DI());
  HWY_ALIGN int32_t from[kMax];
  const size_t lanes = hn::Lanes(di), half = lanes / 2;
  for (size_t i = 0; i < lanes; ++i) {
    const size_t at = lanes < 4 ? i : i / 4 * 2 + i % 2 + (i % 4 < 2 ? 0 : half);
    from[i] = static_cast<int32_t>((at + shift) % lanes);
  }
  return hn::SetTableIndices(D(), from);
}

HWY_INLINE void Interleave(V a, V b, V& lower, V& upper) {
#if HWY_TARGET == HWY_SCALAR
  lower = a;
  upper = b;
#else
  lower = hn::InterleaveLower(D(), a, b);
  upper = hn::InterleaveUpper(D(), a, b);
#endif
}

// The lane, first or last, whose neighbouring window is in another vector.
template <size_t kPad>
HWY_INLINE hn::Mask<D> OuterLane() {
  const DI di;
  const size_t lane = kPad == 1 ? hn::Lanes(di) - 1 : 0;
  return hn::RebindMask(D(), hn::Eq(hn::Iota(di, 0), hn::Set(di, static_cast<int32_t>(lane))));
}

// Vectors of windows and the pairs of cells at their middles. A single vector may be partial.
template <size_t kPad, size_t kVectors, bool kAccumulate>
struct AverageColumns {
  size_t windows, pairs;
  V divisor[kVectors];
  float outer_divisor;

  // Computes what the windows at g, and the next one beyond them with gradient `outer`, contribute
  // to a row of cells.
  HWY_INLINE void Row(const float* g, float outer, float factor, V (&cells)[2 * kVectors]) const {
    const D d;
    const size_t lanes = hn::Lanes(d);
    const auto own = HalvesApart(0), next = HalvesApart(kPad == 1 ? 1 : lanes - 1);
    const auto outer_lane = OuterLane<kPad>();
    V middle[kVectors], turned[kVectors + 1];
    for (size_t k = 0; k < kVectors; ++k) {
      const V from = kVectors > 1 ? hn::LoadU(d, g + k * lanes) : LoadFirst(d, g, windows);
      const V q = hn::Div(from, hn::Mul(divisor[k], hn::Set(d, factor)));
      middle[k] = hn::TableLookupLanes(q, own);
      turned[kPad == 1 ? k : k + 1] = hn::TableLookupLanes(q, next);
    }
    turned[kPad == 1 ? kVectors : 0] = hn::Set(d, outer / (outer_divisor * factor));
    for (size_t k = 0; k < kVectors; ++k) {
      const V beside =
          hn::IfThenElse(outer_lane, turned[kPad == 1 ? k + 1 : k], turned[kPad == 1 ? k : k + 1]);
      const V both = hn::Add(middle[k], beside);
      Interleave(kPad == 1 ? middle[k] : both, kPad == 1 ? both : middle[k], cells[2 * k],
                 cells[2 * k + 1]);
    }
  }

  HWY_INLINE void Store(const V (&cells)[2 * kVectors], float* to) const {
    const D d;
    const size_t lanes = hn::Lanes(d);
    for (size_t k = 0; k < 2 * kVectors; ++k, to += lanes) {
      if (kVectors > 1) {
        hn::StoreU(kAccumulate ? hn::Add(hn::LoadU(d, to), cells[k]) : cells[k], d, to);
      } else if (2 * pairs > k * lanes) {
        const size_t n = 2 * pairs - k * lanes;
        StoreFirst(d, kAccumulate ? hn::Add(LoadFirst(d, to, n), cells[k]) : cells[k], n, to);
      }
    }
  }
};

// Walks down the columns of kVectors vectors of windows, from window `first` on.
template <size_t kPad, size_t kVectors, bool kAccumulate>
HWY_INLINE void WalkAverage(const AverageCall& call, size_t first, size_t pairs) {
  const D d;
  const PoolingAxis& y = call.axes.y;
  const size_t lanes = hn::Lanes(d), n = call.axes.x.windows, height = y.windows;
  AverageColumns<kPad, kVectors, kAccumulate> columns;
  columns.windows = HWY_MIN(n - first, lanes);
  columns.pairs = pairs;
  for (size_t k = 0; k < kVectors; ++k) {
    const float* from = call.divisor + first + k * lanes;
    columns.divisor[k] =
        kVectors > 1 ? hn::LoadU(d, from)
                     : hn::IfThenElse(hn::FirstN(d, columns.windows),
                                      LoadFirst(d, from, columns.windows), hn::Set(d, 1.0f));
  }
  const size_t beside = kPad == 1 ? first + kVectors * lanes : first - 1;
  const bool alone = beside >= n;  // also if first - 1 wraps around
  const float none = 0, *outer = alone ? &none : call.g.data + beside;
  columns.outer_divisor = alone ? 1 : call.divisor[beside];
  const size_t g_row = call.g.row, outer_row = alone ? 0 : g_row, row = call.dx.row;
  const float* g = call.g.data + first;
  V cells[2 * kVectors], shared[2 * kVectors];
  for (V& v : shared) v = hn::Zero(d);
  for (size_t j = 0; j < height; ++j, g += g_row, outer += outer_row) {
    float* middle = call.dx.data + (2 * j + 1 - y.pad) * row + 2 * first;
    columns.Row(g, *outer, call.Factor(j), cells);
    for (size_t k = 0; k < 2 * kVectors; ++k) shared[k] = hn::Add(shared[k], cells[k]);
    if (2 * j >= y.pad) columns.Store(shared, middle - row);
    columns.Store(cells, middle);
    for (size_t k = 0; k < 2 * kVectors; ++k) shared[k] = cells[k];
  }
  const size_t below = 2 * height - y.pad;
  if (below < y.cells) columns.Store(shared, call.dx.data + below * row + 2 * first);
}

template <size_t kPad, bool kAccumulate>
void SpreadAverageBy(const AverageCall& call) {
  const PlaneAxes& axes = call.axes;
  const size_t lanes = hn::Lanes(D()), pairs = WholePairs(axes.x), last = axes.x.windows - 1;
  const bool may_overlap = !kAccumulate && pairs >= 2 * lanes;
  size_t i = 0;
  for (; may_overlap ? i < pairs : i + 2 * lanes <= pairs; i += 2 * lanes)
    WalkAverage<kPad, 2, kAccumulate>(call, HWY_MIN(i, pairs - 2 * lanes), 2 * lanes);
  for (; i < pairs; i += lanes)
    WalkAverage<kPad, 1, kAccumulate>(call, i, HWY_MIN(lanes, pairs - i));
  if (!kAccumulate) ClearBehindPairs(axes, call.dx);
  if (!HasLastCell(axes.x)) return;
  float shared = 0, *to = call.dx.data + 2 * pairs;
  for (size_t j = 0; j < axes.y.windows; ++j) {
    const float q = call.g.data[j * call.g.row + last] / (call.divisor[last] * call.Factor(j));
    const size_t row = 2 * j - axes.y.pad;
    if (2 * j >= axes.y.pad) to[row * call.dx.row] += shared + q;
    to[(row + 1) * call.dx.row] += q;
    shared = q;
  }
  const size_t row = 2 * axes.y.windows - axes.y.pad;
  if (row < axes.y.cells) to[row * call.dx.row] += shared;
}

void SpreadAverage(const PlaneAxes& axes, bool whole, const PoolingPlane<const float>& g,
                   const float* divisor, bool accumulate, const PoolingPlane<float>& dx) {
  const AverageCall call = {axes, whole, g, divisor, dx};
  if (accumulate)
    return (axes.x.pad == 0 ? SpreadAverageBy<0, true> : SpreadAverageBy<1, true>)(call);
  (axes.x.pad == 0 ? SpreadAverageBy<0, false> : SpreadAverageBy<1, false>)(call);
}

const PoolingBackwardSpecial* Average3x3BackwardTable() {
  static constexpr PoolingBackwardSpecial kTable = {.average = SpreadAverage};
  return &kTable;
}

}  // namespace
}  // namespace bnns::impl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "core/target.h"

namespace bnns::impl {

HWY_EXPORT(Average3x3BackwardTable);
const PoolingBackwardSpecial* pooling_3x3_average_backward() {
  return pick(HWY_DISPATCH_TABLE(Average3x3BackwardTable))();
}

}  // namespace bnns::impl
#endif
