// Keeps values in registers where compilers would give them up too early.

#if defined(OPENBNNS_OPS_CONVOLUTION_KEEP_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef OPENBNNS_OPS_CONVOLUTION_KEEP_INL_H_
#undef OPENBNNS_OPS_CONVOLUTION_KEEP_INL_H_
#else
#define OPENBNNS_OPS_CONVOLUTION_KEEP_INL_H_
#endif

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace bnns::impl::HWY_NAMESPACE {
namespace {

// The factor of a product is used until here, and nothing is moved across. Else a sum takes the
// register of a factor at its last use, and in an unrolled loop all sums are moved back at the end:
// with 16 registers a step of twelve products has 19 instructions and every other one counts where
// another thread of the core takes half of them.
template <class Vector>
HWY_INLINE void Keep(Vector v) {
#if HWY_ARCH_X86 && !HWY_COMPILER_MSVC
  asm volatile("" : : "v"(v.raw));
#else
  (void)v;
#endif
}

}  // namespace
}  // namespace bnns::impl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
