// Shared by the float functions of this folder: polynomials, clamps that pass NaN through, and ln 2
// split in two. Everything works on whole vectors, without branches and without tables.
//
// Error bounds of the functions are in docs/numerics.md; "ulp" there and in the comments of this
// folder is the distance between neighbouring floats at the exact result.

#if defined(OPENBNNS_MATH_SUPPORT_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef OPENBNNS_MATH_SUPPORT_INL_H_
#undef OPENBNNS_MATH_SUPPORT_INL_H_
#else
#define OPENBNNS_MATH_SUPPORT_INL_H_
#endif

#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace bnns::impl::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// ln 2 = kLn2High + kLn2Low. The high part has 9 significant bits, so its product with an exponent
// (8 bits) is exact with and without fused multiply-add; the low part adds 24 more bits.
inline constexpr float kLn2High = 355.0f / 512.0f;
inline constexpr float kLn2Low = -2.12194440e-4f;
inline constexpr float kLog2E = 1.44269504f;

// c0 + c1 x + c2 x^2 + ... by Horner's rule.
template <class D, class V>
HWY_INLINE V Polynomial(D d, V /*x*/, float c0) {
  return hn::Set(d, c0);
}

template <class D, class V, class... Floats>
HWY_INLINE V Polynomial(D d, V x, float c0, Floats... rest) {
  return hn::MulAdd(Polynomial(d, x, rest...), x, hn::Set(d, c0));
}

// The x86 instructions return their second operand when one operand is NaN. Elsewhere, and in
// Highway's emulation, min and max may return the limit instead, which would hide bad data.
inline constexpr bool kMinMaxReturnsSecond =
    HWY_ARCH_X86 && HWY_TARGET != HWY_EMU128 && HWY_TARGET != HWY_SCALAR;

template <class D, class V>
HWY_INLINE V AtMost(D d, V x, float limit) {
  const V top = hn::Set(d, limit);
  if constexpr (kMinMaxReturnsSecond) {
    return hn::Min(top, x);
  } else {
    return hn::IfThenElse(hn::Gt(x, top), top, x);
  }
}

template <class D, class V>
HWY_INLINE V AtLeast(D d, V x, float limit) {
  const V bottom = hn::Set(d, limit);
  if constexpr (kMinMaxReturnsSecond) {
    return hn::Max(bottom, x);
  } else {
    return hn::IfThenElse(hn::Lt(x, bottom), bottom, x);
  }
}

}  // namespace bnns::impl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // OPENBNNS_MATH_SUPPORT_INL_H_
