// Keeps values in registers where compilers would give them up too early.

#if defined(OPENBNNS_SIMD_REGISTER_BARRIER_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef OPENBNNS_SIMD_REGISTER_BARRIER_INL_H_
#undef OPENBNNS_SIMD_REGISTER_BARRIER_INL_H_
#else
#define OPENBNNS_SIMD_REGISTER_BARRIER_INL_H_
#endif

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace bnns::impl::HWY_NAMESPACE {
namespace {

// A factor is used until here, and nothing is moved across. Else a sum takes the register of a
// factor at its last use, and in an unrolled loop the sums wander between registers and end on the
// stack. A step of twelve products has 20 instructions with 16 registers, and every other one
// counts where another thread of the core takes half of the slots.
template <class Vector>
HWY_INLINE void KeepInRegister(Vector v) {
#if HWY_ARCH_X86 && !HWY_COMPILER_MSVC
  asm volatile("" : : "v"(v.raw));
#else
  (void)v;
#endif
}

}  // namespace
}  // namespace bnns::impl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // OPENBNNS_SIMD_REGISTER_BARRIER_INL_H_
