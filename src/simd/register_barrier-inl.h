// A barrier that keeps accumulators of unrolled loops in their registers.

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

// Keeps the factor v alive in a register up to this point. Without it the compiler lets an
// accumulator take over the register of a factor at its last use; in an unrolled loop the
// accumulators then move from register to register and are spilled to the stack. A step of twelve
// products takes 20 instructions and 16 registers, and every further instruction counts where a
// second hardware thread takes half of the issue slots.
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
