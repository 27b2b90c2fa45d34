// Gradients of the maxima of windows of 3 x 3 at a stride of 2, computed from offsets as in
// kernels_2x2.cpp. Counted from the start of the padding, the middle of a window is an odd cell of
// its own, and the even cells on both sides are shared:
//   odd cell: its window        even cell: the window that ends there, and the one that begins
// The same holds for rows: contributions to the row that windows share with those below are stored
// until these are done, so that each cell is written once.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/pooling/kernels_offsets_3x3.cpp"
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
using VI = hn::Vec<DI>;

struct MaxCall {
  const PlaneAxes& axes;
  const uint16_t* offsets;
  PoolingPlane<const float> g;
  PoolingPlane<float> dx;
};

// A vector of windows, and the neighbouring windows that share their even cells.
template <size_t kPad>
struct MaxWindows {
  V g, beside_g;
  VI offset, beside_offset;

  HWY_INLINE MaxWindows(const uint16_t* offsets, const float* from) {
    const D d;
    const DI di;
    const hn::Rebind<uint16_t, DI> d16;
    constexpr ptrdiff_t kBeside = kPad == 1 ? 1 : -1;
    offset = hn::PromoteTo(di, hn::LoadU(d16, offsets));
    beside_offset = hn::PromoteTo(di, hn::LoadU(d16, offsets + kBeside));
    // Adding 0 turns -0 into +0, just as adding to a cleared cell does.
    g = hn::Add(hn::Zero(d), hn::LoadU(d, from));
    beside_g = hn::Add(hn::Zero(d), hn::LoadU(d, from + kBeside));
  }

  static HWY_INLINE V Take(V from, VI offsets, VI tap) {
    return hn::And(from, hn::BitCast(D(), hn::VecFromMask(DI(), hn::Eq(offsets, tap))));
  }
  // The contributions in one row of cells: to the middle cell; and to the shared cell, from the
  // window that ends there and from the one that begins there.
  HWY_INLINE V Middle(const VI (&taps)[3]) const { return Take(g, offset, taps[1]); }
  HWY_INLINE V Ending(const VI (&taps)[3]) const {
    return kPad == 1 ? Take(g, offset, taps[2]) : Take(beside_g, beside_offset, taps[2]);
  }
  HWY_INLINE V Beginning(const VI (&taps)[3]) const {
    return kPad == 1 ? Take(beside_g, beside_offset, taps[0]) : Take(g, offset, taps[0]);
  }
  HWY_INLINE V Between(const VI (&taps)[3]) const { return hn::Add(Ending(taps), Beginning(taps)); }
};

// Stores a row of cells from the middles of windows and the cells between them.
template <size_t kPad>
HWY_INLINE void StorePairs(V middle, V between, float* to) {
  hn::StoreInterleaved2(kPad == 1 ? middle : between, kPad == 1 ? between : middle, D(), to);
}

// Up to four vectors of pairs of cells in all rows; the last vector overlaps the one before it.
struct MaxStrip {
  static constexpr size_t kVectors = 4;

  size_t width;
  size_t last;                                       // the first pair of the last vector
  HWY_ALIGN int32_t alone[hn::MaxLanes(DI())] = {};  // -1 where a window has no neighbour
  // The contributions of the windows above to the row of cells that they share with those below.
  HWY_ALIGN float middle[kVectors * hn::MaxLanes(D())] = {};
  HWY_ALIGN float between[kVectors * hn::MaxLanes(D())] = {};
};

// Rows of windows.
struct MaxRows {
  size_t count;
  PoolingPlane<const uint16_t> offsets;
  PoolingPlane<const float> g;
  PoolingPlane<float> cells;  // from the row of the middles of the first row of windows on
};

// Each cell adds the contributions of its windows in scan order.
template <size_t kPad, bool kTop, size_t kVectors>
void SpreadMaxRows(const MaxRows& rows, MaxStrip& strip) {
  const D d;
  const DI di;
  const size_t lanes = hn::Lanes(d), row = rows.cells.row, last = strip.last;
  VI taps[3][3];
  const auto width = static_cast<int32_t>(strip.width);
  for (int32_t k = 0; k < 9; ++k) taps[k / 3][k % 3] = hn::Set(di, k / 3 * width + k % 3);
  const uint16_t* offsets = rows.offsets.data;
  const float* g = rows.g.data;
  float* cells = rows.cells.data;
  const auto at = [&](size_t v) HWY_ATTR __attribute__((always_inline)) {
    const size_t i = v + 1 == kVectors ? last : v * lanes;
    float *middle = strip.middle + v * lanes, *between = strip.between + v * lanes;
    MaxWindows<kPad> windows(offsets + i, g + i);
    if (v == (kPad == 1 ? kVectors - 1 : 0))
      windows.beside_offset = hn::Or(windows.beside_offset, hn::Load(di, strip.alone));
    if constexpr (kTop) {
      const V shared = hn::Add(hn::Load(d, between), windows.Ending(taps[0]));
      StorePairs<kPad>(hn::Add(hn::Load(d, middle), windows.Middle(taps[0])),
                       hn::Add(shared, windows.Beginning(taps[0])), cells - row + 2 * i);
    }
    StorePairs<kPad>(windows.Middle(taps[1]), windows.Between(taps[1]), cells + 2 * i);
    hn::Store(windows.Middle(taps[2]), d, middle);
    hn::Store(windows.Between(taps[2]), d, between);
  };
  for (size_t count = rows.count; count > 0; --count) {
    at(0);
    if constexpr (kVectors > 1) at(1);
    if constexpr (kVectors > 2) at(2);
    if constexpr (kVectors > 3) at(3);
    offsets += rows.offsets.row;
    g += rows.g.row;
    cells += 2 * row;
  }
}

template <size_t kPad, bool kTop>
HWY_INLINE void SpreadMaxBy(size_t vectors, const MaxRows& rows, MaxStrip& strip) {
  static_assert(MaxStrip::kVectors == 4);
  const auto by = vectors == 1   ? SpreadMaxRows<kPad, kTop, 1>
                  : vectors == 2 ? SpreadMaxRows<kPad, kTop, 2>
                  : vectors == 3 ? SpreadMaxRows<kPad, kTop, 3>
                                 : SpreadMaxRows<kPad, kTop, 4>;
  by(rows, strip);
}

// A copy of a row of windows with room for whole vectors and for the windows on both sides.
struct MaxRowCopy {
  static constexpr size_t kSize = MaxStrip::kVectors * hn::MaxLanes(D()) + 2;
  uint16_t offsets[kSize] = {};
  float g[kSize] = {};

  // Copies `size` windows from window `first` of the row on, and the one before them.
  void Take(MaxRows& rows, size_t first, size_t size) {
    const size_t before = first > 0 ? 1 : 0;
    std::copy_n(rows.offsets.data - before, before + size, offsets + 1 - before);
    std::copy_n(rows.g.data - before, before + size, g + 1 - before);
    rows.offsets.data = offsets + 1;
    rows.g.data = g + 1;
  }
};

// Processes pairs [first, first + pairs) in all rows.
template <size_t kPad>
void SpreadMaxStrip(const MaxCall& call, size_t first, size_t pairs) {
  const D d;
  const PoolingAxis& y = call.axes.y;
  const size_t lanes = hn::Lanes(d), n = call.axes.x.windows, height = y.windows;
  const size_t row = call.dx.row, vectors = div_up(pairs, lanes);
  MaxStrip strip;
  strip.width = call.axes.x.cells;
  strip.last = pairs - lanes;
  if (kPad == 1 && first + pairs == n) strip.alone[lanes - 1] = -1;
  if (kPad == 0 && first == 0) strip.alone[0] = -1;
  MaxRowCopy copy;
  float* to = call.dx.data + 2 * first;  // the row of cells above the middles
  if (y.pad == 1) to -= row;
  for (size_t j = 0, count; j < height; j += count, to += 2 * count * row) {
    // Loads of neighbouring windows reach beyond the end of a row into another row, whose values
    // are masked out. The first or last row of the plane has no other row there and is copied, and
    // so are rows that are not contiguous.
    const size_t edge = kPad == 1 ? height - 1 : 0;
    const bool copied = call.g.row != n || j == edge, top = 2 * j >= y.pad;
    count = copied || j == 0 ? 1 : (edge == 0 ? height : edge) - j;
    MaxRows rows = {.count = count,
                    .offsets = {call.offsets + j * n + first, n},
                    .g = {call.g.data + j * call.g.row + first, call.g.row},
                    .cells = {to + row, row}};
    if (copied) copy.Take(rows, first, HWY_MIN(pairs + kPad, n - first));
    (top ? SpreadMaxBy<kPad, true> : SpreadMaxBy<kPad, false>)(vectors, rows, strip);
  }
  if (2 * height - y.pad >= y.cells) return;
  for (size_t v = 0; v < vectors; ++v) {
    float* at = to + 2 * (v + 1 == vectors ? strip.last : v * lanes);
    StorePairs<kPad>(hn::Load(d, strip.middle + v * lanes), hn::Load(d, strip.between + v * lanes),
                     at);
  }
}

template <size_t kPad>
void SpreadMaxOf(const MaxCall& call) {
  const PlaneAxes& axes = call.axes;
  const size_t lanes = hn::Lanes(D()), n = axes.x.windows, pairs = WholePairs(axes.x);
  const size_t most = MaxStrip::kVectors * lanes;
  for (size_t i = 0; i < pairs; i += most) {
    // The last strip is moved back so that it has at least one whole vector.
    const size_t first = HWY_MIN(i, pairs - lanes);
    SpreadMaxStrip<kPad>(call, first, HWY_MIN(most, pairs - first));
  }
  ClearBehindPairs(axes, call.dx);
  if (!HasLastCell(axes.x)) return;
  float* to = call.dx.data + 2 * pairs;
  for (size_t j = 0; j < axes.y.windows; ++j) {
    const size_t offset = call.offsets[j * n + n - 1], column = kPad == 1 ? 1 : 2;
    if (offset % axes.x.cells == column) {
      const size_t row = 2 * j + offset / axes.x.cells - axes.y.pad;
      to[row * call.dx.row] += call.g.data[j * call.g.row + n - 1];
    }
  }
}

void SpreadMax(const PlaneAxes& axes, const uint16_t* offsets, const PoolingPlane<const float>& g,
               const PoolingPlane<float>& dx) {
  (axes.x.pad == 0 ? SpreadMaxOf<0> : SpreadMaxOf<1>)({axes, offsets, g, dx});
}

bool FillVectors(const PoolingAxis& x) {
  return WholePairs(x) >= hn::Lanes(D());
}

const PoolingBackwardSpecial* Max3x3BackwardTable() {
  static constexpr PoolingBackwardSpecial kTable = {.takes = FillVectors, .max = SpreadMax};
  return &kTable;
}

}  // namespace
}  // namespace bnns::impl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "core/target.h"

namespace bnns::impl {

HWY_EXPORT(Max3x3BackwardTable);
const PoolingBackwardSpecial* pooling_3x3_max_backward() {
  return pick(HWY_DISPATCH_TABLE(Max3x3BackwardTable))();
}

}  // namespace bnns::impl
#endif
