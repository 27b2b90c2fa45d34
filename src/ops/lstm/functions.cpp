#include "ops/lstm/functions.h"

#include <algorithm>

namespace bnns::impl {

void LstmFunction::forward(const float* x, float* y, size_t n) const {
  if (fused_.is_element()) return element_.forward(x, y, n);
  std::copy_n(x, n, y);
  fused_.forward(ActivationRows{y, n}, 1, n);
}

void LstmFunction::gradient(const float* x, const float* y, const float* dy, float* dx,
                            size_t n) const {
  if (fused_.is_element()) return element_.from_input(x, dy, dx, n);
  // The row functions take rows that may be written; y and dy are only read.
  fused_.multiply_by_slope({const_cast<float*>(y), n}, {const_cast<float*>(dy), n}, {dx, n}, 1, n);
}

namespace {

void apply_gates(const LstmFunctions& f, const float* a, size_t n, float* y) {
  for (size_t k : {kInputGate, kForgetGate, kCandidateGate})
    f.gate[k].forward(a + k * n, y + k * n, n);
}

}  // namespace

void lstm_cell(const LstmFunctions& f, const float* a, const float* c_prev, float* c, size_t n,
               float* work) {
  apply_gates(f, a, n, work);
  const float *in = work + kInputGate * n, *forget = work + kForgetGate * n;
  const float* candidate = work + kCandidateGate * n;
  for (size_t h = 0; h < n; ++h) c[h] = forget[h] * c_prev[h] + in[h] * candidate[h];
}

void lstm_output(const LstmFunctions& f, const float* a, const float* c, float* h, size_t n,
                 float* work) {
  float *out = work, *phi = work + n;
  f.gate[kOutputGate].forward(a + kOutputGate * n, out, n);
  f.hidden.forward(c, phi, n);
  for (size_t i = 0; i < n; ++i) h[i] = out[i] * phi[i];
}

void lstm_output_gradient(const LstmFunctions& f, const float* a, const float* c, const float* dy,
                          const float* dh, float* dc, float* da, size_t n, float* work) {
  float *out = work, *phi = work + n, *to_gate = work + 2 * n, *to_phi = work + 3 * n;
  float* slope = work + 4 * n;
  f.gate[kOutputGate].forward(a + kOutputGate * n, out, n);
  f.hidden.forward(c, phi, n);
  for (size_t h = 0; h < n; ++h) {
    const float g = dy[h] + dh[h];
    to_gate[h] = g * phi[h];
    to_phi[h] = g * out[h];
  }
  f.gate[kOutputGate].gradient(a + kOutputGate * n, out, to_gate, da + kOutputGate * n, n);
  f.hidden.gradient(c, phi, to_phi, slope, n);
  for (size_t h = 0; h < n; ++h) dc[h] += slope[h];
}

void lstm_cell_gradient(const LstmFunctions& f, const float* a, const float* c_prev, float* dc,
                        float* da, size_t n, float* work) {
  apply_gates(f, a, n, work);
  const float *in = work + kInputGate * n, *forget = work + kForgetGate * n;
  const float *candidate = work + kCandidateGate * n, *other[kLstmGates - 1];
  other[kInputGate] = candidate;
  other[kForgetGate] = c_prev;
  other[kCandidateGate] = in;
  float* g = work + 3 * n;
  for (size_t k : {kInputGate, kForgetGate, kCandidateGate}) {
    for (size_t h = 0; h < n; ++h) g[h] = dc[h] * other[k][h];
    f.gate[k].gradient(a + k * n, work + k * n, g, da + k * n, n);
  }
  for (size_t h = 0; h < n; ++h) dc[h] *= forget[h];
}

}  // namespace bnns::impl
