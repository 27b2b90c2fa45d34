// The cell update with the usual functions, for one sample of n values; one table per SIMD target.
#pragma once

#include <cstddef>

namespace bnns::impl {

struct LstmForwardRow {
  float* gates;  // the sums of i, f, g, o; becomes the gates, if they are kept
  const float* c_prev;
  float *c, *h;  // c may be c_prev
};

struct LstmBackwardRow {
  const float *gates, *c_prev, *c;
  const float *dy, *dh;  // the gradient of h is their sum
  float* dc;             // that of c, without what comes through h; becomes that of c_prev
  float* da;             // of the sums of the four gates
};

struct LstmKernels {
  void (*forward)(const LstmForwardRow& row, size_t n, bool keeps_gates);
  void (*backward)(const LstmBackwardRow& row, size_t n);
};
const LstmKernels* lstm_kernels();

}  // namespace bnns::impl
