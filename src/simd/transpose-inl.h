// Transposition of 4 x 4 blocks in registers.

#if defined(OPENBNNS_SIMD_TRANSPOSE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef OPENBNNS_SIMD_TRANSPOSE_INL_H_
#undef OPENBNNS_SIMD_TRANSPOSE_INL_H_
#else
#define OPENBNNS_SIMD_TRANSPOSE_INL_H_
#endif

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace bnns::impl::HWY_NAMESPACE {
namespace {

#if HWY_TARGET != HWY_SCALAR
// to[e * to_row + k] = from[k * from_row + e] for e, k < 4; to_row may be negative.
HWY_INLINE void TransposeBlock(const float* from, size_t from_row, float* to, ptrdiff_t to_row) {
  namespace hn = hwy::HWY_NAMESPACE;
  const hn::Full128<float> d;
  const hn::Repartition<double, decltype(d)> pairs;
  const auto r0 = hn::LoadU(d, from), r1 = hn::LoadU(d, from + from_row),
             r2 = hn::LoadU(d, from + 2 * from_row), r3 = hn::LoadU(d, from + 3 * from_row);
  const auto low01 = hn::BitCast(pairs, hn::InterleaveLower(d, r0, r1)),
             low23 = hn::BitCast(pairs, hn::InterleaveLower(d, r2, r3)),
             up01 = hn::BitCast(pairs, hn::InterleaveUpper(d, r0, r1)),
             up23 = hn::BitCast(pairs, hn::InterleaveUpper(d, r2, r3));
  hn::StoreU(hn::BitCast(d, hn::InterleaveLower(pairs, low01, low23)), d, to);
  hn::StoreU(hn::BitCast(d, hn::InterleaveUpper(pairs, low01, low23)), d, to + to_row);
  hn::StoreU(hn::BitCast(d, hn::InterleaveLower(pairs, up01, up23)), d, to + 2 * to_row);
  hn::StoreU(hn::BitCast(d, hn::InterleaveUpper(pairs, up01, up23)), d, to + 3 * to_row);
}
#endif

}  // namespace
}  // namespace bnns::impl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // OPENBNNS_SIMD_TRANSPOSE_INL_H_
