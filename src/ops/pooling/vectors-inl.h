// Shared by the pooling kernels: vectors of neighbouring windows, partial vectors, and the pairs of
// cells of windows of 3 at a stride of 2. Pair i is cells 2 i and 2 i + 1: the middle of window i,
// and the even cell behind it (with a pad of 1) or before it (without padding).

#if defined(OPENBNNS_OPS_POOLING_VECTORS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef OPENBNNS_OPS_POOLING_VECTORS_INL_H_
#undef OPENBNNS_OPS_POOLING_VECTORS_INL_H_
#else
#define OPENBNNS_OPS_POOLING_VECTORS_INL_H_
#endif

#include <cstring>

#include "hwy/highway.h"
#include "simd/masks.h"
#include "ops/pooling/special.h"

HWY_BEFORE_NAMESPACE();
namespace bnns::impl::HWY_NAMESPACE {

// Stores the first n lanes.
template <class D, class V, class T = hwy::HWY_NAMESPACE::TFromD<D>>
HWY_INLINE void StoreFirst(D d, V v, size_t n, T* to) {
  namespace hn = hwy::HWY_NAMESPACE;
  if (n >= hn::Lanes(d)) return hn::StoreU(v, d, to);
#if OPENBNNS_MASKS_ARE_SAFE
  return hn::BlendedStore(v, hn::FirstN(d, n), d, to);
#endif
  HWY_ALIGN T tail[hn::MaxLanes(d)];
  hn::Store(v, d, tail);
  std::memcpy(to, tail, n * sizeof(T));
}

// Loads the first n lanes; the others are 0.
template <class D, class T = hwy::HWY_NAMESPACE::TFromD<D>>
HWY_INLINE hwy::HWY_NAMESPACE::Vec<D> LoadFirst(D d, const T* from, size_t n) {
  namespace hn = hwy::HWY_NAMESPACE;
  if (n >= hn::Lanes(d)) return hn::LoadU(d, from);
#if OPENBNNS_MASKS_ARE_SAFE
  return hn::MaskedLoad(hn::FirstN(d, n), d, from);
#endif
  HWY_ALIGN T tail[hn::MaxLanes(d)] = {};
  std::memcpy(tail, from, n * sizeof(T));
  return hn::Load(d, tail);
}

// Loads one value of each of a vector of windows, `stride` apart. kStride is the stride, or 0 for
// any.
template <int kStride, class D, class T = hwy::HWY_NAMESPACE::TFromD<D>>
HWY_INLINE hwy::HWY_NAMESPACE::Vec<D> LoadStrided(D d, const T* from, size_t stride) {
  namespace hn = hwy::HWY_NAMESPACE;
  if constexpr (kStride == 1) {
    return hn::LoadU(d, from);
  } else if constexpr (kStride == 2) {
    hn::Vec<D> even, odd;
    hn::LoadInterleaved2(d, from, even, odd);
    return even;
  } else {
    const hn::RebindToSigned<D> di;
    return hn::GatherIndex(d, from,
                           hn::Mul(hn::Iota(di, 0), hn::Set(di, static_cast<int32_t>(stride))));
  }
}

// A value replaces the largest of the values before it if it is larger, or if it is the first NaN.
template <bool kCells, class V, class VI>
HWY_INLINE void TakeLater(V v, VI cell, V& best, VI& best_cell) {
  namespace hn = hwy::HWY_NAMESPACE;
  const auto best_stays = hn::Or(hn::Ge(best, v), hn::IsNaN(best));
  best = hn::IfThenElse(best_stays, best, v);
  if constexpr (kCells)
    best_cell = hn::IfThenElse(hn::RebindMask(hn::DFromV<VI>(), best_stays), best_cell, cell);
}

// Calls at(i, n) for vectors that cover [0, n): whole ones, the last of which overlaps the one
// before it, so that the operation must be repeatable; or a single partial vector.
template <class D, class At>
HWY_INLINE void ForVectors(D d, size_t n, const At& at) {
  const size_t lanes = hwy::HWY_NAMESPACE::Lanes(d);
  if (n < lanes) return at(size_t{0}, n);
  for (size_t i = 0;; i = HWY_MIN(i + lanes, n - lanes)) {
    at(i, lanes);
    if (i + lanes == n) return;
  }
}

// Calls run(d) with the longest vectors that a row of n windows fills. Short rows take shorter
// vectors than the target has: a plane of 14 x 14 has rows of 7 windows.
using ShortestRow = hwy::HWY_NAMESPACE::CappedTag<float, 2>;
template <class Run>
HWY_INLINE void WithVectorsFor(size_t n, const Run& run) {
  namespace hn = hwy::HWY_NAMESPACE;
  if (n >= hn::Lanes(hn::ScalableTag<float>())) return run(hn::ScalableTag<float>());
  if (n >= 8) return run(hn::CappedTag<float, 8>());
  if (n >= 4) return run(hn::CappedTag<float, 4>());
  run(ShortestRow());
}

// Calls run(d) with vectors of which a row of n windows fills more than half. Only a row of up to 4
// windows may fill just half of its vector.
template <class Run>
HWY_INLINE void WithVectorsAround(size_t n, const Run& run) {
  namespace hn = hwy::HWY_NAMESPACE;
  if (n >= hn::Lanes(hn::ScalableTag<float>())) return run(hn::ScalableTag<float>());
  if (n > 8) return run(hn::CappedTag<float, 16>());
  if (n > 4) return run(hn::CappedTag<float, 8>());
  run(hn::CappedTag<float, 4>());
}

// The number of pairs that lie entirely inside; and whether the last window reaches one more cell.
HWY_INLINE size_t WholePairs(const PoolingAxis& x) {
  return HWY_MIN(x.windows, x.cells / 2);
}
HWY_INLINE bool HasLastCell(const PoolingAxis& x) {
  const size_t pairs = WholePairs(x);
  return 2 * pairs < x.cells && (x.pad == 0 || pairs < x.windows);
}

// Clears the cells right of the pairs and below the windows.
inline void ClearBehindPairs(const PlaneAxes& axes, const PoolingPlane<float>& dx) {
  const size_t width = axes.x.cells, begin = 2 * WholePairs(axes.x);
  const size_t end = 2 * axes.y.windows + 1 - axes.y.pad;
  for (size_t j = begin < width ? 0 : end; j < axes.y.cells; ++j)
    std::fill(dx.data + j * dx.row + (j < end ? begin : 0), dx.data + j * dx.row + width, 0.0f);
}

}  // namespace bnns::impl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
