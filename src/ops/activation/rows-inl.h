// Loops of a vector function over a row of floats. The last, incomplete vector goes through a
// buffer on the stack: nothing outside the row is read or written, and every element is computed by
// the same instructions whatever its position.

#if defined(OPENBNNS_OPS_ACTIVATION_ROWS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef OPENBNNS_OPS_ACTIVATION_ROWS_INL_H_
#undef OPENBNNS_OPS_ACTIVATION_ROWS_INL_H_
#else
#define OPENBNNS_OPS_ACTIVATION_ROWS_INL_H_
#endif

#include <cstring>

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace bnns::impl::HWY_NAMESPACE {

// y[i] = f(x[i])
template <class F>
HWY_INLINE void MapRow(const float* x, float* y, size_t n, const F& f) {
  namespace hn = hwy::HWY_NAMESPACE;
  const hn::ScalableTag<float> d;
  const size_t lanes = hn::Lanes(d);
  size_t i = 0;
  for (; i + lanes <= n; i += lanes) hn::StoreU(f(hn::LoadU(d, x + i)), d, y + i);
  if (i == n) return;
  HWY_ALIGN float tail[hn::MaxLanes(d)] = {};
  std::memcpy(tail, x + i, (n - i) * sizeof(float));
  hn::Store(f(hn::Load(d, tail)), d, tail);
  std::memcpy(y + i, tail, (n - i) * sizeof(float));
}

// z[i] = f(x[i], y[i])
template <class F>
HWY_INLINE void MapRow(const float* x, const float* y, float* z, size_t n, const F& f) {
  namespace hn = hwy::HWY_NAMESPACE;
  const hn::ScalableTag<float> d;
  const size_t lanes = hn::Lanes(d);
  size_t i = 0;
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

}  // namespace bnns::impl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
