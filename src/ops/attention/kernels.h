// Kernels on one row of scores, which lies in the cache.
#pragma once

#include <cstddef>

#include "ops/attention/masks.h"

namespace bnns::impl {

struct AttentionKernels {
  // Whether no element of s is infinite or NaN.
  bool (*finite)(const float* s, size_t n);
  // s = the masked s; returns its maximum.
  float (*mask)(float* s, size_t n, const AttentionMaskRow& mask);
  // s = e^(s - top); returns the sum. No element of s is above `top`.
  float (*exp_sum)(float* s, size_t n, float top);
  // s = factor e^(s - top)
  void (*exp_scaled)(float* s, size_t n, float top, float factor);
  // g = p (g - sum(p g))
  void (*gradient)(const float* p, float* g, size_t n);
};
const AttentionKernels* attention_kernels();

}  // namespace bnns::impl
