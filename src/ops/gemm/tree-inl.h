// Sums of vectors that are exact on equal terms and have small errors on others. SumTree joins
// leaves pairwise, like the carries of a binary counter; TwoSum recovers the rounding error of an
// addition.

#if defined(OPENBNNS_OPS_GEMM_TREE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef OPENBNNS_OPS_GEMM_TREE_INL_H_
#undef OPENBNNS_OPS_GEMM_TREE_INL_H_
#else
#define OPENBNNS_OPS_GEMM_TREE_INL_H_
#endif

#include <hwy/highway.h>

#include <cstddef>

HWY_BEFORE_NAMESPACE();
namespace bnns::impl::HWY_NAMESPACE {
namespace gemm {
namespace hn = hwy::HWY_NAMESPACE;
using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;

// kCount sums side by side, each of up to 2^kLevels leaves.
template <size_t kCount, size_t kLevels>
class SumTree {
 public:
  // Adds one leaf to each sum. All loops over sums are unrolled, because an array that is indexed
  // at run time cannot stay in registers.
  HWY_INLINE void Push(V (&leaf)[kCount]) {
    const D d;
    float* to = Carry(leaf);
    HWY_UNROLL(24)
    for (size_t i = 0; i < kCount; ++i) hn::Store(leaf[i], d, to + i * hn::Lanes(d));
  }

  // The same, but the caller stores the joined leaves at the address that is returned.
  HWY_INLINE float* Carry(V (&leaf)[kCount]) {
    const D d;
    float* at = partial_;
    for (size_t carry = leaves_++; carry & 1; carry >>= 1, at += kCount * hn::Lanes(d)) {
      HWY_UNROLL(24)
      for (size_t i = 0; i < kCount; ++i)
        leaf[i] = hn::Add(leaf[i], hn::Load(d, at + i * hn::Lanes(d)));
    }
    return at;
  }

  // Adds all leaves that were pushed to the last leaf.
  HWY_INLINE void Finish(V (&last)[kCount]) const {
    const D d;
    const float* at = partial_;
    for (size_t rest = leaves_; rest != 0; rest >>= 1, at += kCount * hn::Lanes(d)) {
      if ((rest & 1) == 0) continue;
      HWY_UNROLL(24)
      for (size_t i = 0; i < kCount; ++i)
        last[i] = hn::Add(last[i], hn::Load(d, at + i * hn::Lanes(d)));
    }
  }

 private:
  size_t leaves_ = 0;
  HWY_ALIGN float partial_[kLevels * kCount * hn::MaxLanes(D())];
};

// hi + lo += term, whichever is larger.
HWY_INLINE void TwoSum(V& hi, V& lo, V term) {
  const V sum = hn::Add(hi, term);
  const V part = hn::Sub(sum, hi);
  const V lost = hn::Add(hn::Sub(hi, hn::Sub(sum, part)), hn::Sub(term, part));
  hi = sum;
  lo = hn::Add(lo, lost);
}

// hi + lo. Where hi is infinite or NaN, lo is NaN and hi alone is the result.
HWY_INLINE V Total(V hi, V lo) {
  const V sum = hn::Add(hi, lo);
  return hn::IfThenElse(hn::IsNaN(sum), hi, sum);
}

}  // namespace gemm
}  // namespace bnns::impl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // OPENBNNS_OPS_GEMM_TREE_INL_H_
