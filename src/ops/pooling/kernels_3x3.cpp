// The forward kernels of kernels.h for windows of 3 cells at a stride of 2. A vector of cells holds
// half as many windows; each has its first tap, and what is found for it, in an even lane:
//   left  = cells c, c + 1, ...     mid = cells c + 1, c + 2, ...     right = mid's odd lanes
// with c the first window's cell. The odd lanes go to waste, but nothing is rearranged before the
// results are stored; indices of 64 bits not even then. Columns of windows are walked downwards,
// so that the row of cells that two windows share stays in registers.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/pooling/kernels_3x3.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

#include "ops/pooling/kernels.h"
#include "ops/pooling/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace bnns::impl::HWY_NAMESPACE {
namespace {
#if HWY_TARGET == HWY_SCALAR

template <class T>
bool Max3x3(const PlaneAxes&, size_t, size_t, const PoolingPlane<const float>&, float,
            const PoolingPlane<float>&, const PoolingPlane<T>&) {
  return false;
}

bool Average3x3(const PlaneAxes&, bool, size_t, size_t, const PoolingPlane<const float>&,
                const float*, float, const PoolingPlane<float>&) {
  return false;
}

#else

namespace hn = hwy::HWY_NAMESPACE;
using D = hn::ScalableTag<float>;
using DI = hn::RebindToSigned<D>;
using DW = hn::Repartition<uint64_t, D>;  // a lane per window
using DH = hn::Half<D>;
using V = hn::Vec<D>;
using VI = hn::Vec<DI>;

constexpr float kLowest = -std::numeric_limits<float>::infinity();

// Some vectors of windows of a row: whether the first window begins before the row of cells, and
// the last ends behind it.
template <size_t kVectors, bool kFirst, bool kLast>
struct Place {
  static constexpr size_t vectors = kVectors;
};

// The even lanes, in half a vector.
template <class DHalf, class Vec>
HWY_INLINE hn::Vec<DHalf> EvenLanes(DHalf half, Vec v) {
  return hn::ConcatEven(half, hn::UpperHalf(half, v), hn::LowerHalf(half, v));
}

HWY_INLINE hn::Mask<D> LaneIs(size_t lane) {
  const DI di;
  return hn::RebindMask(D(), hn::Eq(hn::Iota(di, 0), hn::Set(di, static_cast<int32_t>(lane))));
}

// The taps of windows from the cell at `from` on; outside the row they are `fill`.
template <size_t kVectors, bool kFirst, bool kLast>
HWY_INLINE void LoadTaps(Place<kVectors, kFirst, kLast>, const float* from, V fill, V& left,
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

// columns(i, place) for all windows of a row, from window i on; the last vector overlaps the one
// before it. False if there are too few.
template <class Columns>
HWY_INLINE bool ForColumns(const PoolingAxis& axis, const Columns& columns) {
  const size_t n = axis.windows, step = hn::Lanes(D()) / 2;
  const bool hangs_over = 2 * n + 1 > axis.pad + axis.cells;
  if (n < step + hangs_over) return false;
  size_t i = 0;
  if (axis.pad == 1) {
    columns(i, Place<1, true, false>());
    i = step;
  }
  for (; i + 2 * step + hangs_over <= n; i += 2 * step) columns(i, Place<2, false, false>());
  for (; i < n; i += step) {
    const size_t at = HWY_MIN(i, n - step);
    if (at + step == n && hangs_over) {
      columns(at, Place<1, false, true>());
    } else {
      columns(at, Place<1, false, false>());
    }
  }
  return true;
}

// The values of one or two vectors of windows, without gaps.
HWY_INLINE hn::Vec<DH> Packed(const V (&v)[1]) {
  return EvenLanes(DH(), v[0]);
}
HWY_INLINE V Packed(const V (&v)[2]) {
  return hn::ConcatEven(D(), v[1], v[0]);
}

// Rows of windows [first, first + count) of a plane, with an Op that pools the taps in a row of
// cells, joins what is pooled of a window's rows, and stores vectors of windows.
template <class Op>
struct Columns {
  const PlaneAxes& axes;
  size_t first, count;
  PoolingPlane<const float> x;
  Op& op;

  template <class P>
  HWY_INLINE void operator()(size_t i, P place) const {
    constexpr size_t kVectors = P::vectors;
    const size_t lanes = hn::Lanes(D()), pad = axes.y.pad, bottom = axes.y.cells + pad;
    const ptrdiff_t row = static_cast<ptrdiff_t>(2 * first) - static_cast<ptrdiff_t>(pad);
    const ptrdiff_t column = static_cast<ptrdiff_t>(2 * i) - static_cast<ptrdiff_t>(axes.x.pad);
    const float* from = x.data + row * static_cast<ptrdiff_t>(x.row) + column;
    Op walk = op;  // out of reach of what is stored
    walk.Begin(i);
    typename Op::Pooled shared[kVectors], pooled[kVectors];
    for (size_t k = 0; k < kVectors && row >= 0; ++k) shared[k] = walk.Row(place, from + k * lanes);
    for (size_t r = 0; r < count; ++r, from += 2 * x.row) {
      const size_t top = 2 * (first + r);
      const bool has_top = top >= pad, has_bottom = top + 2 < bottom;
      for (size_t k = 0; k < kVectors; ++k) {
        pooled[k] = walk.template Down<1>(walk.Row(place, from + x.row + k * lanes));
        if (has_top) pooled[k] = walk.Join(shared[k], pooled[k]);
        if (has_bottom) {
          shared[k] = walk.Row(place, from + 2 * x.row + k * lanes);
          pooled[k] = walk.Join(pooled[k], walk.template Down<2>(shared[k]));
        }
      }
      walk.Store(pooled, r, i, size_t{1} + has_top + has_bottom);
    }
    op = walk;
  }
};

// ---- Maximum ----

HWY_INLINE void StoreIndex(VI index, uint64_t* to) {
  const DW dw;
  hn::StoreU(hn::And(hn::BitCast(dw, index), hn::Set(dw, 0xffffffffu)), dw, to);
}
HWY_INLINE void StoreIndex(VI index, uint32_t* to) {
  const hn::RebindToUnsigned<DH> half;
  hn::StoreU(EvenLanes(half, hn::BitCast(hn::RebindToUnsigned<D>(), index)), half, to);
}

// The first largest of the taps, and how many cells it is before the first one: a negative number.
template <bool kIndex, class T>
struct Max {
  struct Pooled {
    V best;
    VI before;
  };

  uint32_t width;  // unsigned: twice a width may be beyond the cells of the plane
  int32_t cell;    // of the first window
  VI cells;        // of the windows to be stored
  V bias;
  PoolingPlane<float> y;
  PoolingPlane<T> index;
  V seen;  // the sum of all taps but the first ones in the rows: NaN is overlooked, but stays here

  HWY_INLINE void Begin(size_t i) {
    const DI di;
    cells = hn::Add(hn::Iota(di, 0), hn::Set(di, cell + static_cast<int32_t>(2 * i)));
  }

  template <size_t kVectors, bool kFirst, bool kLast>
  HWY_INLINE Pooled Row(Place<kVectors, kFirst, kLast> place, const float* from) {
    const DI di;
    V left, mid;
    LoadTaps(place, from, hn::Set(D(), kLowest), left, mid);
    const V right = hn::DupOdd(mid);
    seen = hn::Add(seen, mid);
    auto mid_wins = hn::Gt(mid, left);
    // What is outside does not win against the lowest value.
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
    const size_t lanes = hn::Lanes(di);
    V best[kVectors];
    for (size_t k = 0; k < kVectors; ++k) {
      best[k] = hn::Add(pooled[k].best, bias);
      if constexpr (!kIndex) continue;
      const VI from = hn::Add(cells, hn::Set(di, static_cast<int32_t>(k * lanes)));
      StoreIndex(hn::Sub(from, pooled[k].before), index.data + r * index.row + i + k * lanes / 2);
    }
    cells = hn::Add(cells, hn::Set(di, static_cast<int32_t>(2 * width)));
    const auto packed = Packed(best);
    hn::StoreU(packed, hn::DFromV<decltype(packed)>(), y.data + r * y.row + i);
  }
};

template <bool kIndex, class T>
bool Max3x3By(const PlaneAxes& axes, size_t first, size_t count, const PoolingPlane<const float>& x,
              float bias, const PoolingPlane<float>& y, const PoolingPlane<T>& index) {
  const D d;
  const auto width = static_cast<int32_t>(axes.x.cells), pad_x = static_cast<int32_t>(axes.x.pad);
  const int32_t row = static_cast<int32_t>(2 * first) - static_cast<int32_t>(axes.y.pad);
  Max<kIndex, T> max = {static_cast<uint32_t>(width),
                        row * width - pad_x,
                        hn::Zero(DI()),
                        hn::Set(d, bias),
                        y,
                        index,
                        hn::Zero(d)};
  // The first column where no window begins before it.
  const size_t end = HWY_MIN(2 * (first + count) + 1 - axes.y.pad, axes.y.cells);
  for (size_t j = 2 * first - (first != 0 ? axes.y.pad : 0); pad_x == 0 && j < end; ++j)
    max.seen = hn::Add(max.seen, hn::Set(d, x.data[j * x.row]));
  const bool done = ForColumns(axes.x, Columns<Max<kIndex, T> >{axes, first, count, x, max});
  return done && hn::AllFalse(d, hn::IsNaN(max.seen));
}

template <class T>
bool Max3x3(const PlaneAxes& axes, size_t first, size_t count, const PoolingPlane<const float>& x,
            float bias, const PoolingPlane<float>& y, const PoolingPlane<T>& index) {
  return (index.data != nullptr ? Max3x3By<true, T> : Max3x3By<false, T>)(axes, first, count, x,
                                                                          bias, y, index);
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
  HWY_INLINE V Row(P place, const float* from) const {
    V left, mid;
    LoadTaps(place, from, hn::Zero(D()), left, mid);
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

bool Average3x3(const PlaneAxes& axes, bool whole, size_t first, size_t count,
                const PoolingPlane<const float>& x, const float* divisor, float bias,
                const PoolingPlane<float>& y) {
  Average average = {whole, divisor, bias, y};
  return ForColumns(axes.x, Columns<Average>{axes, first, count, x, average});
}

#endif

const Pooling3x3Kernels* Pooling3x3Table() {
  static constexpr Pooling3x3Kernels kTable = {
      .max_32 = Max3x3<uint32_t>, .max_64 = Max3x3<uint64_t>, .average = Average3x3};
  return &kTable;
}

}  // namespace
}  // namespace bnns::impl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "core/target.h"

namespace bnns::impl {

HWY_EXPORT(Pooling3x3Table);
const Pooling3x3Kernels* pooling_3x3_kernels() {
  return pick(HWY_DISPATCH_TABLE(Pooling3x3Table))();
}

}  // namespace bnns::impl
#endif
