// Applies a vector function to a row of floats. The tail of the row goes through a buffer on the
// stack, so that nothing outside the row is read or written, and every element is computed by the
// same instructions whatever its position.

#if defined(OPENBNNS_SIMD_ROWS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef OPENBNNS_SIMD_ROWS_INL_H_
#undef OPENBNNS_SIMD_ROWS_INL_H_
#else
#define OPENBNNS_SIMD_ROWS_INL_H_
#endif

#include <cstring>

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace bnns::impl::HWY_NAMESPACE {

// y[i] = f(x[i]), two vectors at a time: this halves the loop overhead of functions that wait for
// memory and overlaps the latencies of the others.
template <class F>
HWY_INLINE void MapRow(const float* x, float* y, size_t n, const F& f) {
  namespace hn = hwy::HWY_NAMESPACE;
  const hn::ScalableTag<float> d;
  const size_t lanes = hn::Lanes(d);
  size_t i = 0;
  for (; i + 2 * lanes <= n; i += 2 * lanes) {
    const auto y0 = f(hn::LoadU(d, x + i)), y1 = f(hn::LoadU(d, x + i + lanes));
    hn::StoreU(y0, d, y + i);
    hn::StoreU(y1, d, y + i + lanes);
  }
  for (; i + lanes <= n; i += lanes) hn::StoreU(f(hn::LoadU(d, x + i)), d, y + i);
  if (i == n) return;
  HWY_ALIGN float tail[hn::MaxLanes(d)] = {};
  std::memcpy(tail, x + i, (n - i) * sizeof(float));
  hn::Store(f(hn::Load(d, tail)), d, tail);
  std::memcpy(y + i, tail, (n - i) * sizeof(float));
}

// z[i] = f(x[i], y[i]), four vectors of each tensor at a time: where tensors lie a multiple of 4 KB
// apart, some processors let a cache line of one evict that of another, and longer turns reduce the
// cost.
template <class F>
HWY_INLINE void MapRow(const float* x, const float* y, float* z, size_t n, const F& f) {
  namespace hn = hwy::HWY_NAMESPACE;
  const hn::ScalableTag<float> d;
  const size_t lanes = hn::Lanes(d);
  size_t i = 0;
  for (; i + 4 * lanes <= n; i += 4 * lanes) {
    const auto x0 = hn::LoadU(d, x + i), x1 = hn::LoadU(d, x + i + lanes);
    const auto x2 = hn::LoadU(d, x + i + 2 * lanes), x3 = hn::LoadU(d, x + i + 3 * lanes);
    const auto z0 = f(x0, hn::LoadU(d, y + i)), z1 = f(x1, hn::LoadU(d, y + i + lanes));
    const auto z2 = f(x2, hn::LoadU(d, y + i + 2 * lanes));
    const auto z3 = f(x3, hn::LoadU(d, y + i + 3 * lanes));
    hn::StoreU(z0, d, z + i);
    hn::StoreU(z1, d, z + i + lanes);
    hn::StoreU(z2, d, z + i + 2 * lanes);
    hn::StoreU(z3, d, z + i + 3 * lanes);
  }
  for (; i + lanes <= n; i += lanes) {
    hn::StoreU(f(hn::LoadU(d, x + i), hn::LoadU(d, y + i)), d, z + i);
  }
  if (i == n) return;
  HWY_ALIGN float x_tail[hn::MaxLanes(d)] = {};
  HWY_ALIGN float y_tail[hn::MaxLanes(d)] = {};
  std::memcpy(x_tail, x + i, (n - i) * sizeof(float));
  std::memcpy(y_tail, y + i, (n - i) * sizeof(float));
  hn::Store(f(hn::Load(d, x_tail), hn::Load(d, y_tail)), d, x_tail);
  std::memcpy(z + i, x_tail, (n - i) * sizeof(float));
}

// z[i] = f(a[i], b[i], c[i]).
template <class F>
HWY_INLINE void MapRow(const float* a, const float* b, const float* c, float* z, size_t n,
                       const F& f) {
  namespace hn = hwy::HWY_NAMESPACE;
  const hn::ScalableTag<float> d;
  const size_t lanes = hn::Lanes(d);
  size_t i = 0;
  for (; i + 2 * lanes <= n; i += 2 * lanes) {
    const auto z0 = f(hn::LoadU(d, a + i), hn::LoadU(d, b + i), hn::LoadU(d, c + i));
    const auto z1 =
        f(hn::LoadU(d, a + i + lanes), hn::LoadU(d, b + i + lanes), hn::LoadU(d, c + i + lanes));
    hn::StoreU(z0, d, z + i);
    hn::StoreU(z1, d, z + i + lanes);
  }
  for (; i + lanes <= n; i += lanes)
    hn::StoreU(f(hn::LoadU(d, a + i), hn::LoadU(d, b + i), hn::LoadU(d, c + i)), d, z + i);
  if (i == n) return;
  HWY_ALIGN float a_tail[hn::MaxLanes(d)] = {};
  HWY_ALIGN float b_tail[hn::MaxLanes(d)] = {};
  HWY_ALIGN float c_tail[hn::MaxLanes(d)] = {};
  std::memcpy(a_tail, a + i, (n - i) * sizeof(float));
  std::memcpy(b_tail, b + i, (n - i) * sizeof(float));
  std::memcpy(c_tail, c + i, (n - i) * sizeof(float));
  hn::Store(f(hn::Load(d, a_tail), hn::Load(d, b_tail), hn::Load(d, c_tail)), d, a_tail);
  std::memcpy(z + i, a_tail, (n - i) * sizeof(float));
}

}  // namespace bnns::impl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
