// Maximum and average of windows of 3 x 3 at a stride of 2. A vector of cells serves half as many
// windows as it has lanes; each window has its first tap, and its result, in an even lane:
//   left  = cells c, c + 1, ...     mid = cells c + 1, c + 2, ...     right = odd lanes of mid
// with c the first cell of the first window. The odd lanes are wasted, but nothing is shuffled
// before the results are stored. Columns of windows are walked downwards, so that the row of cells
// that two windows share stays in registers.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/pooling/kernels_3x3.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

#include "ops/pooling/special.h"
#include "ops/pooling/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace bnns::impl::HWY_NAMESPACE {
namespace {
#if HWY_TARGET == HWY_SCALAR

const PoolingForwardSpecial* Pooling3x3Table() {
  static constexpr PoolingForwardSpecial kTable = {
      .takes = [](const PoolingAxis&) { return false; }};
  return &kTable;
}

#else

namespace hn = hwy::HWY_NAMESPACE;
using D = hn::ScalableTag<float>;
using DI = hn::RebindToSigned<D>;
using DH = hn::Half<D>;
using V = hn::Vec<D>;
using VI = hn::Vec<DI>;

constexpr float kLowest = -std::numeric_limits<float>::infinity();

// Vectors of windows in a row. kFirst: the first window begins before the row of cells. kLast: the
// last window ends behind it.
template <size_t kVectors, bool kFirst, bool kLast>
struct WindowSpan {
  static constexpr size_t vectors = kVectors;
};

// The even lanes of v, as half a vector.
template <class DHalf, class Vec>
HWY_INLINE hn::Vec<DHalf> EvenLanes(DHalf half, Vec v) {
  return hn::ConcatEven(half, hn::UpperHalf(half, v), hn::LowerHalf(half, v));
}

HWY_INLINE hn::Mask<D> LaneIs(size_t lane) {
  const DI di;
  return hn::RebindMask(D(), hn::Eq(hn::Iota(di, 0), hn::Set(di, static_cast<int32_t>(lane))));
}

// Loads the taps of the windows whose first cell is at `from`; taps outside the row are `fill`.
template <size_t kVectors, bool kFirst, bool kLast>
HWY_INLINE void LoadTaps(WindowSpan<kVectors, kFirst, kLast>, const float* from, V fill, V& left,
                         V& mid) {
  static_assert(kVectors == 1 ? !kFirst || !kLast : !kFirst && !kLast);
  const D d;
  const DI di;
  const VI lanes = hn::Iota(di, 0), ones = hn::Set(di, 1);
  const size_t last = hn::Lanes(d) - 1;
  if constexpr (kFirst) {
    const VI before = hn::Max(hn::Sub(lanes, ones), hn::Zero(di));
    mid = hn::LoadU(d, from + 1);
    left =
        hn::IfThenElse(LaneIs(0), fill, hn::TableLookupLanes(mid, hn::IndicesFromVec(d, before)));
  } else if constexpr (kLast) {
    const VI after = hn::Min(hn::Add(lanes, ones), hn::Set(di, static_cast<int32_t>(last)));
    left = hn::LoadU(d, from);
    mid = hn::IfThenElse(LaneIs(last), fill,
                         hn::TableLookupLanes(left, hn::IndicesFromVec(d, after)));
  } else {
    left = hn::LoadU(d, from);
    mid = hn::LoadU(d, from + 1);
  }
}

// Whether the last window ends behind the row of cells.
HWY_INLINE bool HangsOver(const PoolingAxis& axis) {
  return 2 * axis.windows + 1 > axis.pad + axis.cells;
}

bool FillVectors(const PoolingAxis& axis) {
  return axis.windows >= hn::Lanes(D()) / 2 + HangsOver(axis);
}

// Calls columns(i, span) for all windows of a row, from window i on; the last vector overlaps the
// one before it.
template <class Columns>
HWY_INLINE void ForColumns(const PoolingAxis& axis, const Columns& columns) {
  const size_t n = axis.windows, step = hn::Lanes(D()) / 2;
  const bool hangs_over = HangsOver(axis);
  size_t i = 0;
  if (axis.pad == 1) {
    columns(i, WindowSpan<1, true, false>());
    i = step;
  }
  for (; i + 2 * step + hangs_over <= n; i += 2 * step) columns(i, WindowSpan<2, false, false>());
  for (; i < n; i += step) {
    const size_t at = HWY_MIN(i, n - step);
    if (at + step == n && hangs_over) {
      columns(at, WindowSpan<1, false, true>());
    } else {
      columns(at, WindowSpan<1, false, false>());
    }
  }
}

// The results of one or two vectors of windows, without the unused lanes.
HWY_INLINE hn::Vec<DH> Packed(const V (&v)[1]) {
  return EvenLanes(DH(), v[0]);
}
HWY_INLINE V Packed(const V (&v)[2]) {
  return hn::ConcatEven(D(), v[1], v[0]);
}

// Computes rows of windows [first, first + count) of a plane. Op pools the taps in a row of cells
// (Row), joins the results of the rows of a window (Join), and stores vectors of windows (Store).
template <class Op>
struct ColumnWalk {
  const PlaneAxes& axes;
  size_t first, count;
  PoolingPlane<const float> x;
  Op& op;

  template <class P>
  HWY_INLINE void operator()(size_t i, P span) const {
    constexpr size_t kVectors = P::vectors;
    const size_t lanes = hn::Lanes(D()), pad = axes.y.pad, bottom = axes.y.cells + pad;
    const ptrdiff_t row = static_cast<ptrdiff_t>(2 * first) - static_cast<ptrdiff_t>(pad);
    const ptrdiff_t column = static_cast<ptrdiff_t>(2 * i) - static_cast<ptrdiff_t>(axes.x.pad);
    const float* from = x.data + row * static_cast<ptrdiff_t>(x.row) + column;
    Op walk = op;  // a local copy, which stores cannot alias
    walk.Begin(i);
    typename Op::Pooled shared[kVectors], pooled[kVectors];
    for (size_t k = 0; k < kVectors && row >= 0; ++k) shared[k] = walk.Row(span, from + k * lanes);
    for (size_t r = 0; r < count; ++r, from += 2 * x.row) {
      const size_t top = 2 * (first + r);
      const bool has_top = top >= pad, has_bottom = top + 2 < bottom;
      for (size_t k = 0; k < kVectors; ++k) {
        pooled[k] = walk.template Down<1>(walk.Row(span, from + x.row + k * lanes));
        if (has_top) pooled[k] = walk.Join(shared[k], pooled[k]);
        if (has_bottom) {
          shared[k] = walk.Row(span, from + 2 * x.row + k * lanes);
          pooled[k] = walk.Join(pooled[k], walk.template Down<2>(shared[k]));
        }
      }
      walk.Store(pooled, r, i, size_t{1} + has_top + has_bottom);
    }
    op = walk;
  }
};

// ---- Maximum ----

// The first largest tap, and the negated distance of its cell from the first cell of the window.
template <bool kIndex>
struct Max {
  struct Pooled {
    V best;
    VI before;
  };

  uint32_t width;  // unsigned: twice the width may exceed int32_t
  int32_t cell;    // of the first window
  VI cells;        // of the windows to be stored
  V bias;
  PoolingPlane<float> y;
  PoolingPlane<int32_t> index;
  // The sum of all taps but those in column 0: comparisons overlook a NaN, but it stays in the sum.
  V seen;

  HWY_INLINE void Begin(size_t i) {
    const DI di;
    cells = hn::Add(hn::Iota(di, 0), hn::Set(di, cell + static_cast<int32_t>(2 * i)));
  }

  template <size_t kVectors, bool kFirst, bool kLast>
  HWY_INLINE Pooled Row(WindowSpan<kVectors, kFirst, kLast> span, const float* from) {
    const DI di;
    V left, mid;
    LoadTaps(span, from, hn::Set(D(), kLowest), left, mid);
    const V right = hn::DupOdd(mid);
    seen = hn::Add(seen, mid);
    auto mid_wins = hn::Gt(mid, left);
    // The padding must not win a tie against a tap of -infinity.
    if constexpr (kFirst) mid_wins = hn::Or(mid_wins, LaneIs(0));
    const V best = hn::Max(left, mid);
    const VI before = hn::VecFromMask(di, hn::RebindMask(di, mid_wins));  // a set mask is -1
    const auto right_wins = hn::RebindMask(di, hn::Gt(right, best));
    return {hn::Max(best, right), hn::IfThenElse(right_wins, hn::Set(di, -2), before)};
  }

  template <uint32_t kRows>
  HWY_INLINE Pooled Down(const Pooled& a) const {
    return {a.best, hn::Sub(a.before, hn::Set(DI(), static_cast<int32_t>(kRows * width)))};
  }

  HWY_INLINE Pooled Join(const Pooled& a, const Pooled& below) const {
    const auto wins = hn::RebindMask(DI(), hn::Gt(below.best, a.best));
    return {hn::Max(a.best, below.best), hn::IfThenElse(wins, below.before, a.before)};
  }

  template <size_t kVectors>
  HWY_INLINE void Store(const Pooled (&pooled)[kVectors], size_t r, size_t i, size_t) {
    const DI di;
    const hn::Half<DI> half;
    const size_t lanes = hn::Lanes(di);
    V best[kVectors];
    for (size_t k = 0; k < kVectors; ++k) {
      best[k] = hn::Add(pooled[k].best, bias);
      if constexpr (!kIndex) continue;
      const VI from = hn::Add(cells, hn::Set(di, static_cast<int32_t>(k * lanes)));
      hn::StoreU(EvenLanes(half, hn::Sub(from, pooled[k].before)), half,
                 index.data + r * index.row + i + k * lanes / 2);
    }
    cells = hn::Add(cells, hn::Set(di, static_cast<int32_t>(2 * width)));
    const auto packed = Packed(best);
    hn::StoreU(packed, hn::DFromV<decltype(packed)>(), y.data + r * y.row + i);
  }
};

template <bool kIndex>
bool Max3x3By(const PoolingRowsCall& call, const PoolingPlane<int32_t>& index) {
  const D d;
  const PlaneAxes& axes = call.axes;
  const size_t first = call.first;
  const auto width = static_cast<int32_t>(axes.x.cells), pad_x = static_cast<int32_t>(axes.x.pad);
  const int32_t row = static_cast<int32_t>(2 * first) - static_cast<int32_t>(axes.y.pad);
  Max<kIndex> max = {static_cast<uint32_t>(width),
                     row * width - pad_x,
                     hn::Zero(DI()),
                     hn::Set(d, call.bias),
                     call.y,
                     index,
                     hn::Zero(d)};
  // Without padding on the left, column 0 holds first taps only, which `mid` does not cover.
  const size_t end = HWY_MIN(2 * (first + call.count) + 1 - axes.y.pad, axes.y.cells);
  for (size_t j = 2 * first - (first != 0 ? axes.y.pad : 0); pad_x == 0 && j < end; ++j)
    max.seen = hn::Add(max.seen, hn::Set(d, call.x.data[j * call.x.row]));
  ForColumns(axes.x, ColumnWalk<Max<kIndex> >{axes, first, call.count, call.x, max});
  return hn::AllFalse(d, hn::IsNaN(max.seen));
}

bool Max3x3(const PoolingRowsCall& call, const PoolingPlane<int32_t>& index) {
  return (index.data != nullptr ? Max3x3By<true> : Max3x3By<false>)(call, index);
}

// ---- Average ----

struct Average {
  using Pooled = V;

  bool whole;
  const float* divisor;
  float bias;
  PoolingPlane<float> y;

  HWY_INLINE void Begin(size_t) const {}
  template <class P>
  HWY_INLINE V Row(P span, const float* from) const {
    V left, mid;
    LoadTaps(span, from, hn::Zero(D()), left, mid);
    return hn::Add(hn::Add(left, mid), hn::DupOdd(mid));
  }
  template <uint32_t kRows>
  HWY_INLINE V Down(V a) const {
    return a;
  }
  HWY_INLINE V Join(V a, V below) const { return hn::Add(a, below); }

  template <size_t kVectors>
  HWY_INLINE void Store(const V (&sums)[kVectors], size_t r, size_t i, size_t rows) const {
    const auto sum = Packed(sums);
    const hn::DFromV<decltype(sum)> d;
    const auto by =
        hn::Mul(hn::LoadU(d, divisor + i), hn::Set(d, whole ? 1.0f : static_cast<float>(rows)));
    hn::StoreU(hn::Add(hn::Div(sum, by), hn::Set(d, bias)), d, y.data + r * y.row + i);
  }
};

void Average3x3(const PoolingRowsCall& call, bool whole, const float* divisor) {
  Average average = {whole, divisor, call.bias, call.y};
  ForColumns(call.axes.x, ColumnWalk<Average>{call.axes, call.first, call.count, call.x, average});
}

const PoolingForwardSpecial* Pooling3x3Table() {
  static constexpr PoolingForwardSpecial kTable = {
      .takes = FillVectors, .max = Max3x3, .average = Average3x3};
  return &kTable;
}

#endif

}  // namespace
}  // namespace bnns::impl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "core/target.h"

namespace bnns::impl {

HWY_EXPORT(Pooling3x3Table);
const PoolingForwardSpecial* pooling_3x3() {
  return pick(HWY_DISPATCH_TABLE(Pooling3x3Table))();
}

}  // namespace bnns::impl
#endif
