// Loops over several neighbouring vectors at a time. All of them are loaded from one tensor before
// the next tensor is touched: where two tensors lie a multiple of 4 KB apart, some processors let a
// cache line of one evict that of the other (their first-level cache is indexed by a hash of the
// address), and alternating vector by vector makes a loop up to three times as slow.

#if defined(OPENBNNS_OPS_NORMALIZATION_VECTORS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef OPENBNNS_OPS_NORMALIZATION_VECTORS_INL_H_
#undef OPENBNNS_OPS_NORMALIZATION_VECTORS_INL_H_
#else
#define OPENBNNS_OPS_NORMALIZATION_VECTORS_INL_H_
#endif

#include <cstddef>
#include <cstring>

#include "hwy/highway.h"
#include "simd/masks.h"

HWY_BEFORE_NAMESPACE();
namespace bnns::impl::HWY_NAMESPACE {
namespace norm {

namespace hn = hwy::HWY_NAMESPACE;
using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;

// Extent of one step of a loop: K whole vectors, or a partial vector (tail) of `size` elements.
template <size_t K>
struct Whole {
  static constexpr size_t kVectors = K;
  static constexpr bool kPart = false;
  size_t size = 0;
};
struct Part {
  static constexpr size_t kVectors = 1;
  static constexpr bool kPart = true;
  size_t size;
};

template <class Extent>
struct Vectors {
  V v[Extent::kVectors];
  HWY_INLINE V& operator[](size_t k) { return v[k]; }
  HWY_INLINE const V& operator[](size_t k) const { return v[k]; }
};

// Stands for any number of equal vectors.
struct Same {
  V v;
  HWY_INLINE const V& operator[](size_t) const { return v; }
};

// Loads vector k of those at p. The unused lanes of a partial vector are `fill`.
template <class Extent>
HWY_INLINE V LoadOne(Extent extent, const float* p, size_t k, float fill = 0) {
  const D d;
  if constexpr (Extent::kPart) {
#if OPENBNNS_MASKS_ARE_SAFE
    const auto used = hn::FirstN(d, extent.size);
    return hn::IfThenElse(used, hn::MaskedLoad(used, d, p), hn::Set(d, fill));
#else
    HWY_ALIGN float tail[hn::MaxLanes(d)];
    hn::Store(hn::Set(d, fill), d, tail);
    std::memcpy(tail, p, extent.size * sizeof(float));
    return hn::Load(d, tail);
#endif
  } else {
    return hn::LoadU(d, p + k * hn::Lanes(d));
  }
}

template <class Extent>
HWY_INLINE void StoreOne(Extent extent, V v, float* p, size_t k) {
  const D d;
  if constexpr (Extent::kPart) {
#if OPENBNNS_MASKS_ARE_SAFE
    hn::BlendedStore(v, hn::FirstN(d, extent.size), d, p);
#else
    HWY_ALIGN float tail[hn::MaxLanes(d)];
    hn::Store(v, d, tail);
    std::memcpy(p, tail, extent.size * sizeof(float));
#endif
  } else {
    hn::StoreU(v, d, p + k * hn::Lanes(d));
  }
}

template <class Extent>
HWY_INLINE Vectors<Extent> Load(Extent extent, const float* p) {
  Vectors<Extent> vectors;
  for (size_t k = 0; k < Extent::kVectors; ++k) vectors[k] = LoadOne(extent, p, k);
  return vectors;
}

template <class Extent>
HWY_INLINE void Store(Extent extent, const Vectors<Extent>& vectors, float* p) {
  for (size_t k = 0; k < Extent::kVectors; ++k) StoreOne(extent, vectors[k], p, k);
}

// Compiler barrier between the vectors of a loop that uses all registers: without it the compiler
// hoists the loads of the next vectors, runs out of registers and no longer folds loads into
// arithmetic instructions.
HWY_INLINE void CompilerBarrier() {
  asm volatile("" :::);
}

// Calls step(extent, i) for every K whole vectors, then for single vectors, then for the tail. The
// kernels take their row structs by value, because through a reference the compiler would reload
// the pointers after every store.
template <size_t K, class Step>
HWY_INLINE void ForVectors(size_t n, const Step& step) {
  const size_t lanes = hn::Lanes(D());
  size_t i = 0;
  for (; i + K * lanes <= n; i += K * lanes) step(Whole<K>(), i);
  for (; i + lanes <= n; i += lanes) step(Whole<1>(), i);
  if (i < n) step(Part{n - i}, i);
}

// Prefetches the cache lines of one step at p, for writing if kWrite is 1.
template <int kWrite, class Extent>
HWY_INLINE void Prefetch(Extent, const float* p) {
  for (size_t k = 0; k < Extent::kVectors * hn::Lanes(D()); k += 64 / sizeof(float))
    __builtin_prefetch(p + k, kWrite);
}

// A coefficient of a row: one per element (kEach), or one for the whole row.
template <bool kEach>
struct Coefficient {
  const float* data;
  V value;

  HWY_INLINE explicit Coefficient(const float* p) : data(p), value(hn::Set(D(), *p)) {}
  template <class Extent>
  HWY_INLINE auto at(Extent extent, size_t i) const {
    if constexpr (kEach) {
      return Load(extent, data + i);
    } else {
      return Same{value};
    }
  }
  template <class Extent>
  HWY_INLINE V at(Extent extent, size_t i, size_t k) const {
    if constexpr (kEach) {
      return LoadOne(extent, data + i, k);
    } else {
      return value;
    }
  }
};

// Elements that are summed in float vectors before the sum is added to a double.
constexpr size_t kSumBlock = 2048;

using Sum = Vectors<Whole<4>>;

HWY_INLINE double Total(const Sum& sum) {
  const V all = hn::Add(hn::Add(sum[0], sum[1]), hn::Add(sum[2], sum[3]));
  return double{hn::GetLane(hn::SumOfLanes(D(), all))};
}

HWY_INLINE Sum NoSum() {
  Sum sum;
  for (V& v : sum.v) v = hn::Zero(D());
  return sum;
}

}  // namespace norm
}  // namespace bnns::impl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
