// The average of windows of 2 x 2 at a stride of 2, all inside the plane, and its gradient. Every
// window has four cells, whichever way they are counted, and dividing by 4 is multiplying by 1/4,
// to the bit.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/pooling/kernels_average_2x2.cpp"
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

// ---- Forward ----

// The averages of a vector of windows. The first half of them begins at `top`, the other `apart`
// cells behind it. Columns are summed first, then the two columns of each window.
template <class D>
HWY_INLINE hn::Vec<D> AveragesAt(D d, const float* top, size_t row, size_t apart) {
  using V = hn::Vec<D>;
  const V zero = hn::Zero(d);
  // Adding 0 turns -0 into +0, just as the general steps do.
#if HWY_TARGET == HWY_SCALAR
  const V even = hn::Add(hn::Add(zero, hn::LoadU(d, top)), hn::LoadU(d, top + row));
  const V odd = hn::Add(hn::Add(zero, hn::LoadU(d, top + apart)), hn::LoadU(d, top + row + apart));
#else
  const V low = hn::Add(hn::Add(zero, hn::LoadU(d, top)), hn::LoadU(d, top + row));
  top += apart;
  const V high = hn::Add(hn::Add(zero, hn::LoadU(d, top)), hn::LoadU(d, top + row));
  const V even = hn::ConcatEven(d, high, low), odd = hn::ConcatOdd(d, high, low);
#endif
  return hn::Mul(hn::Add(even, odd), hn::Set(d, 0.25f));
}

// The last vector of a row overlaps the one before it. Where a row does not fill one vector, the
// two halves of a vector overlap in the same way.
template <class D>
HWY_INLINE void AverageRows(D d, const PoolingRowsCall& call) {
  const size_t lanes = hn::Lanes(d), n = call.axes.x.windows, row = call.x.row, y_row = call.y.row;
  const auto bias = hn::Set(d, call.bias);
  const float* top = call.x.data + 2 * call.first * row;
  float* y = call.y.data;
#if HWY_TARGET != HWY_SCALAR
  if (n < lanes) {
    const hn::Half<D> half;
    const size_t second = n - lanes / 2;
    for (size_t r = call.count; r > 0; --r, top += 2 * row, y += y_row) {
      const auto v = hn::Add(AveragesAt(d, top, row, 2 * second), bias);
      hn::StoreU(hn::LowerHalf(half, v), half, y);
      hn::StoreU(hn::UpperHalf(half, v), half, y + second);
    }
    return;
  }
#endif
  for (size_t r = call.count; r > 0; --r, top += 2 * row, y += y_row) {
    for (size_t i = 0; i < n; i += lanes) {
      const size_t at = HWY_MIN(i, n - lanes);
      hn::StoreU(hn::Add(AveragesAt(d, top + 2 * at, row, lanes), bias), d, y + at);
    }
  }
}

void Average2x2Planes(const PoolingPlanesCall& call) {
  WithVectorsAround(call.axes.x.windows, [&](auto d) HWY_ATTR {
    for (size_t k = 0; k < call.count; ++k) AverageRows(d, call[k]);
  });
}

void Average2x2(const PoolingRowsCall& call, bool, const float*) {
  WithVectorsAround(call.axes.x.windows, [&](auto d) HWY_ATTR { AverageRows(d, call); });
}

// ---- Backward ----

// Writes or adds a quarter of a vector of gradients to the two rows of cells under it.
template <bool kAccumulate, class D>
HWY_INLINE void SpreadAt(D d, const float* g, float* top, float* bottom) {
  using V = hn::Vec<D>;
  const V share = hn::Add(hn::Zero(d), hn::Mul(hn::LoadU(d, g), hn::Set(d, 0.25f)));
  for (float* to : {top, bottom}) {
    V even = share, odd = share;
    if constexpr (kAccumulate) {
      V old[2];
      hn::LoadInterleaved2(d, to, old[0], old[1]);
      even = hn::Add(old[0], share);
      odd = hn::Add(old[1], share);
    }
    hn::StoreInterleaved2(even, odd, d, to);
  }
}

// Without accumulation the last vector of a row overlaps the one before it; with it, the rest of a
// row goes cell by cell.
template <bool kAccumulate, class D>
HWY_INLINE void SpreadRows(D d, const PlaneAxes& axes, const PoolingPlane<const float>& g,
                           const PoolingPlane<float>& dx) {
  const hn::CappedTag<float, 1> one;
  const size_t lanes = hn::Lanes(d), n = axes.x.windows, g_row = g.row, row = dx.row;
  const float* from = g.data;
  float* top = dx.data;
  for (size_t j = axes.y.windows; j > 0; --j, from += g_row, top += 2 * row) {
    size_t i = 0;
    for (; kAccumulate ? i + lanes <= n : i < n; i += lanes) {
      const size_t at = HWY_MIN(i, n - lanes);
      SpreadAt<kAccumulate>(d, from + at, top + 2 * at, top + row + 2 * at);
    }
    for (; i < n; ++i) SpreadAt<kAccumulate>(one, from + i, top + 2 * i, top + row + 2 * i);
  }
}

// The cells right of and below all windows.
template <bool kAccumulate>
HWY_INLINE void ClearRest(const PlaneAxes& axes, const PoolingPlane<float>& dx) {
  const size_t width = axes.x.cells, begin = 2 * axes.x.windows, height = 2 * axes.y.windows;
  const auto clear = [](float& cell) { cell = kAccumulate ? cell + 0.0f : 0.0f; };
  for (size_t j = 0; begin < width && j < height; ++j)
    for (size_t i = begin; i < width; ++i) clear(dx.data[j * dx.row + i]);
  for (size_t j = height; j < axes.y.cells; ++j)
    for (size_t i = 0; i < width; ++i) clear(dx.data[j * dx.row + i]);
}

template <bool kAccumulate>
void SpreadPlanes(const PlaneAxes& axes, size_t count, const PoolingPlane<const float>& g,
                  size_t g_step, const PoolingPlane<float>& dx, size_t dx_step) {
  WithVectorsFor(axes.x.windows, [&](auto d) HWY_ATTR {
    for (size_t k = 0; k < count; ++k) {
      const PoolingPlane<float> to = {dx.data + k * dx_step, dx.row};
      SpreadRows<kAccumulate>(d, axes, {g.data + k * g_step, g.row}, to);
      ClearRest<kAccumulate>(axes, to);
    }
  });
}

void SpreadAverage2x2Planes(const PlaneAxes& axes, size_t count, const PoolingPlane<const float>& g,
                            size_t g_step, bool accumulate, const PoolingPlane<float>& dx,
                            size_t dx_step) {
  (accumulate ? SpreadPlanes<true> : SpreadPlanes<false>)(axes, count, g, g_step, dx, dx_step);
}

void SpreadAverage2x2(const PlaneAxes& axes, bool, const PoolingPlane<const float>& g, const float*,
                      bool accumulate, const PoolingPlane<float>& dx) {
  SpreadAverage2x2Planes(axes, 1, g, 0, accumulate, dx, 0);
}

const PoolingForwardSpecial* Average2x2Table() {
  static constexpr PoolingForwardSpecial kTable = {
      .takes = FillVectors, .average = Average2x2, .planes = Average2x2Planes};
  return &kTable;
}

const PoolingBackwardSpecial* Average2x2BackwardTable() {
  static constexpr PoolingBackwardSpecial kTable = {
      .takes = FillVectors, .average = SpreadAverage2x2, .planes = SpreadAverage2x2Planes};
  return &kTable;
}

}  // namespace
}  // namespace bnns::impl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "core/target.h"

namespace bnns::impl {

HWY_EXPORT(Average2x2Table);
const PoolingForwardSpecial* pooling_2x2_average() {
  return pick(HWY_DISPATCH_TABLE(Average2x2Table))();
}

HWY_EXPORT(Average2x2BackwardTable);
const PoolingBackwardSpecial* pooling_2x2_average_backward() {
  return pick(HWY_DISPATCH_TABLE(Average2x2BackwardTable))();
}

}  // namespace bnns::impl
#endif
