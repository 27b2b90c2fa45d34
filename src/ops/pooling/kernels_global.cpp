// The global average of small planes, many planes per call: a plane is so short that the steps of
// the general kernels cost several times as much as the sum itself.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/pooling/kernels_global.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

#include "ops/pooling/special.h"
#include "ops/pooling/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace bnns::impl::HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;
using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;

void AveragePlanes(const float* x, size_t x_step, size_t n, size_t count, float divisor,
                   const float* bias, float* y, size_t y_step) {
  const D d;
  const size_t lanes = hn::Lanes(d);
  for (size_t k = 0; k < count; ++k, x += x_step) {
    V sums[2] = {hn::Zero(d), hn::Zero(d)};
    size_t i = 0;
    for (; i + 2 * lanes <= n; i += 2 * lanes) {
      sums[0] = hn::Add(sums[0], hn::LoadU(d, x + i));
      sums[1] = hn::Add(sums[1], hn::LoadU(d, x + i + lanes));
    }
    for (; i < n; i += lanes) sums[0] = hn::Add(sums[0], LoadFirst(d, x + i, n - i));
    const float sum = hn::GetLane(hn::SumOfLanes(d, hn::Add(sums[0], sums[1])));
    y[k * y_step] = (bias == nullptr ? 0 : bias[k]) + sum / divisor;
  }
}

void SpreadPlanes(const float* g, size_t g_step, float divisor, size_t n, size_t count, float* dx,
                  size_t dx_step) {
  const D d;
  for (size_t k = 0; k < count; ++k, dx += dx_step) {
    const V share = hn::Set(d, g[k * g_step] / divisor);
    ForVectors(
        d, n, [&](size_t i, size_t m) HWY_ATTR __attribute__((always_inline)) {
          StoreFirst(d, share, m, dx + i);
        });
  }
}

const PoolingForwardSpecial* GlobalAverageTable() {
  static constexpr PoolingForwardSpecial kTable = {.average_planes = AveragePlanes};
  return &kTable;
}

const PoolingBackwardSpecial* GlobalAverageBackwardTable() {
  static constexpr PoolingBackwardSpecial kTable = {.average_planes = SpreadPlanes};
  return &kTable;
}

}  // namespace
}  // namespace bnns::impl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "core/target.h"

namespace bnns::impl {

HWY_EXPORT(GlobalAverageTable);
const PoolingForwardSpecial* pooling_global_average() {
  return pick(HWY_DISPATCH_TABLE(GlobalAverageTable))();
}

HWY_EXPORT(GlobalAverageBackwardTable);
const PoolingBackwardSpecial* pooling_global_average_backward() {
  return pick(HWY_DISPATCH_TABLE(GlobalAverageBackwardTable))();
}

}  // namespace bnns::impl
#endif
