// What the pooling kernels share: vectors of neighbouring windows, and incomplete vectors.

#if defined(OPENBNNS_OPS_POOLING_VECTORS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef OPENBNNS_OPS_POOLING_VECTORS_INL_H_
#undef OPENBNNS_OPS_POOLING_VECTORS_INL_H_
#else
#define OPENBNNS_OPS_POOLING_VECTORS_INL_H_
#endif

#include <cstring>

#include "hwy/highway.h"
#include "ops/masks.h"

HWY_BEFORE_NAMESPACE();
namespace bnns::impl::HWY_NAMESPACE {

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

// The other lanes are 0.
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

// One value of each of neighbouring windows, `stride` apart. kStride 0: any stride.
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

// at(i, n) for vectors that cover [0, n): whole ones, the last overlapping the one before it, which
// what is computed must allow; or a single incomplete one.
template <class D, class At>
HWY_INLINE void ForVectors(D d, size_t n, const At& at) {
  const size_t lanes = hwy::HWY_NAMESPACE::Lanes(d);
  if (n < lanes) return at(size_t{0}, n);
  for (size_t i = 0;; i = HWY_MIN(i + lanes, n - lanes)) {
    at(i, lanes);
    if (i + lanes == n) return;
  }
}

}  // namespace bnns::impl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
