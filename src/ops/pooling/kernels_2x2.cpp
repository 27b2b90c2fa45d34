// The maximum of windows of 2 x 2 at a stride of 2, all inside the plane, and its gradient.
// Forward, one deinterleaving load of each row of cells gives the four taps of a vector of windows.
// Backward, each cell belongs to at most one window, so every cell is written once and without a
// branch: a tap receives the gradient of its window if the offset of the maximum is that of the
// tap, else 0.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/pooling/kernels_2x2.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

#include "ops/pooling/special.h"
#include "ops/pooling/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace bnns::impl::HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;
bool FillVectors(const PoolingAxis& x) {
  return x.windows >= hn::Lanes(ShortestRow());
}

// The gradient of rows of 2 or 3 windows is faster with the general steps.
bool FillVectorsBackward(const PoolingAxis& x) {
  return x.windows >= hn::Lanes(hn::CappedTag<float, 4>());
}

// ---- Forward ----

template <bool kCells, class D, class V = hn::Vec<D>, class VI = hn::Vec<hn::RebindToSigned<D>>>
HWY_INLINE void Max2x2At(D d, const float* top, const float* bottom, VI cell, VI cell_step, V bias,
                         float* y, int32_t* index) {
  const hn::RebindToSigned<D> di;
  const VI one = hn::Set(di, 1);
  V v[4];
  hn::LoadInterleaved2(d, top, v[0], v[1]);
  hn::LoadInterleaved2(d, bottom, v[2], v[3]);
  V best = v[0];
  VI best_cell = cell;
  TakeLater<kCells>(v[1], hn::Add(cell, one), best, best_cell);
  cell = hn::Add(cell, cell_step);
  TakeLater<kCells>(v[2], cell, best, best_cell);
  TakeLater<kCells>(v[3], hn::Add(cell, one), best, best_cell);
  hn::StoreU(hn::Add(best, bias), d, y);
  if constexpr (kCells) hn::StoreU(best_cell, di, index);
}

// Computes a row of windows; the last vector overlaps the one before it.
template <bool kCells, class D>
HWY_INLINE void Max2x2Row(D d, const PoolingRowsCall& call, size_t row, int32_t* index) {
  const hn::RebindToSigned<D> di;
  using V = hn::Vec<D>;
  using VI = hn::Vec<hn::RebindToSigned<D>>;
  const size_t lanes = hn::Lanes(d), n = call.axes.x.windows, width = call.axes.x.cells;
  const size_t top_row = 2 * (call.first + row);
  const float* top = call.x.data + top_row * call.x.row;
  float* y = call.y.data + row * call.y.row;
  const V bias = hn::Set(d, call.bias);
  const VI step = hn::Set(di, static_cast<int32_t>(width));
  const VI twice = hn::Add(hn::Iota(di, 0), hn::Iota(di, 0));
  for (size_t i = 0; i < n; i += lanes) {
    const size_t at = HWY_MIN(i, n - lanes);
    const VI cell = hn::Add(twice, hn::Set(di, static_cast<int32_t>(top_row * width + 2 * at)));
    Max2x2At<kCells>(d, top + 2 * at, top + call.x.row + 2 * at, cell, step, bias, y + at,
                     kCells ? index + at : nullptr);
  }
}

bool Max2x2(const PoolingRowsCall& call, const PoolingPlane<int32_t>& index) {
  WithVectorsFor(call.axes.x.windows, [&](auto d) HWY_ATTR {
    for (size_t r = 0; r < call.count; ++r) {
      if (index.data == nullptr) {
        Max2x2Row<false>(d, call, r, nullptr);
      } else {
        Max2x2Row<true>(d, call, r, index.data + r * index.row);
      }
    }
  });
  return true;
}

// The maxima of rows that do not fill a vector. The first half of the vector has the first windows
// of a row, the second half the last; they overlap.
template <class D>
HWY_INLINE void Max2x2ShortRows([[maybe_unused]] D d,
                                [[maybe_unused]] const PoolingRowsCall& call) {
#if HWY_TARGET != HWY_SCALAR  // where every row fills a vector
  using V = hn::Vec<D>;
  const hn::Half<D> half;
  const size_t row = call.x.row, y_row = call.y.row;
  const size_t second = call.axes.x.windows - hn::Lanes(d) / 2;
  const V bias = hn::Set(d, call.bias);
  auto unused = hn::Zero(hn::RebindToSigned<D>());
  const float* top = call.x.data + 2 * call.first * row;
  float* y = call.y.data;
  for (size_t r = call.count; r > 0; --r, top += 2 * row, y += y_row) {
    const V low = hn::LoadU(d, top), high = hn::LoadU(d, top + 2 * second);
    const V low_2 = hn::LoadU(d, top + row), high_2 = hn::LoadU(d, top + row + 2 * second);
    V best = hn::ConcatEven(d, high, low);
    TakeLater<false>(hn::ConcatOdd(d, high, low), unused, best, unused);
    TakeLater<false>(hn::ConcatEven(d, high_2, low_2), unused, best, unused);
    TakeLater<false>(hn::ConcatOdd(d, high_2, low_2), unused, best, unused);
    best = hn::Add(best, bias);
    hn::StoreU(hn::LowerHalf(half, best), half, y);
    hn::StoreU(hn::UpperHalf(half, best), half, y + second);
  }
#endif
}

void Max2x2Planes(const PoolingPlanesCall& call) {
  const size_t n = call.axes.x.windows;
  WithVectorsAround(n, [&](auto d) HWY_ATTR {
    for (size_t k = 0; k < call.count; ++k) {
      const PoolingRowsCall plane = call[k];
      if (n < hn::Lanes(d)) {
        Max2x2ShortRows(d, plane);
      } else {
        for (size_t r = 0; r < plane.count; ++r) Max2x2Row<false>(d, plane, r, nullptr);
      }
    }
  });
}

// ---- Backward ----

// Writes the two rows of cells under a vector of windows.
template <class D, class VI = hn::Vec<hn::RebindToSigned<D>>>
HWY_INLINE void Spread2x2At(D d, const uint16_t* offsets, const float* g, VI width, float* top,
                            float* bottom) {
  using V = hn::Vec<D>;
  const hn::RebindToSigned<D> di;
  const VI offset = hn::PromoteTo(di, hn::LoadU(hn::Rebind<uint16_t, D>(), offsets));
  // Adding 0 turns -0 into +0, just as adding to a cleared cell does.
  const V value = hn::Add(hn::Zero(d), hn::LoadU(d, g));
  const auto take = [&](VI tap) HWY_ATTR __attribute__((always_inline)) {
    return hn::And(value, hn::BitCast(d, hn::VecFromMask(di, hn::Eq(offset, tap))));
  };
  const VI one = hn::Set(di, 1);
  hn::StoreInterleaved2(take(hn::Zero(di)), take(one), d, top);
  hn::StoreInterleaved2(take(width), take(hn::Add(width, one)), d, bottom);
}

// Processes up to four vectors of windows in all rows; the last vector begins at window `last`.
template <size_t kVectors, class D>
void Spread2x2Strip(const uint16_t* offsets, const PoolingPlane<const float>& g,
                    const PlaneAxes& axes, size_t last, const PoolingPlane<float>& dx) {
  const size_t lanes = hn::Lanes(D()), n = axes.x.windows, g_row = g.row, row = dx.row;
  const auto width = hn::Set(hn::RebindToSigned<D>(), static_cast<int32_t>(axes.x.cells));
  const float* from = g.data;
  float* to = dx.data;
  const auto at = [&](size_t v) HWY_ATTR __attribute__((always_inline)) {
    const size_t i = v + 1 == kVectors ? last : v * lanes;
    Spread2x2At(D(), offsets + i, from + i, width, to + 2 * i, to + row + 2 * i);
  };
  for (size_t j = axes.y.windows; j > 0; --j) {
    at(0);
    if constexpr (kVectors > 1) at(1);
    if constexpr (kVectors > 2) at(2);
    if constexpr (kVectors > 3) at(3);
    offsets += n;
    from += g_row;
    to += 2 * row;
  }
}

void Spread2x2(const PlaneAxes& axes, const uint16_t* offsets, const PoolingPlane<const float>& g,
               const PoolingPlane<float>& dx) {
  const size_t width = axes.x.cells, n = axes.x.windows, height = axes.y.windows;
  WithVectorsFor(n, [&](auto d) HWY_ATTR {
    using D = decltype(d);
    const size_t lanes = hn::Lanes(d);
    for (size_t i = 0; i < n; i += 4 * lanes) {
      const size_t first = HWY_MIN(i, n - lanes), size = HWY_MIN(n - first, 4 * lanes);
      const auto by = size > 3 * lanes   ? Spread2x2Strip<4, D>
                      : size > 2 * lanes ? Spread2x2Strip<3, D>
                      : size > lanes     ? Spread2x2Strip<2, D>
                                         : Spread2x2Strip<1, D>;
      by(offsets + first, {g.data + first, g.row}, axes, size - lanes,
         {dx.data + 2 * first, dx.row});
    }
  });
  // The cells right of and below all windows get 0.
  for (size_t j = 2 * n < width ? 0 : 2 * height; j < axes.y.cells; ++j) {
    const size_t begin = j < 2 * height ? 2 * n : 0;
    std::memset(dx.data + j * dx.row + begin, 0, (width - begin) * sizeof(float));
  }
}

const PoolingForwardSpecial* Max2x2Table() {
  static constexpr PoolingForwardSpecial kTable = {
      .takes = FillVectors, .max = Max2x2, .planes = Max2x2Planes};
  return &kTable;
}

const PoolingBackwardSpecial* Max2x2BackwardTable() {
  static constexpr PoolingBackwardSpecial kTable = {.takes = FillVectorsBackward, .max = Spread2x2};
  return &kTable;
}

}  // namespace
}  // namespace bnns::impl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "core/target.h"

namespace bnns::impl {

HWY_EXPORT(Max2x2Table);
const PoolingForwardSpecial* pooling_2x2_max() {
  return pick(HWY_DISPATCH_TABLE(Max2x2Table))();
}

HWY_EXPORT(Max2x2BackwardTable);
const PoolingBackwardSpecial* pooling_2x2_max_backward() {
  return pick(HWY_DISPATCH_TABLE(Max2x2BackwardTable))();
}

}  // namespace bnns::impl
#endif
