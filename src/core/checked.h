// Size arithmetic that cannot overflow silently. Every product or sum of client-given sizes goes
// through here, at creation; kernels may then use plain arithmetic.
#pragma once

#include <cstddef>

#include "core/error.h"

namespace bnns::impl {

// `what` names the quantity in the message, e.g. "the span of i_desc".
inline size_t checked_mul(size_t a, size_t b, const char* what) {
  size_t product;
  if (__builtin_mul_overflow(a, b, &product)) [[unlikely]]
    fail(what, ": ", a, " * ", b, " overflows 64 bits");
  return product;
}

inline size_t checked_add(size_t a, size_t b, const char* what) {
  size_t sum;
  if (__builtin_add_overflow(a, b, &sum)) [[unlikely]]
    fail(what, ": ", a, " + ", b, " overflows 64 bits");
  return sum;
}

constexpr size_t div_up(size_t a, size_t b) {
  return a / b + (a % b != 0);
}

}  // namespace bnns::impl
