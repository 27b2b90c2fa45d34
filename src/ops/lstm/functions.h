// The activation functions of LSTM cells, and a cell update that takes any of them, on rows: the
// values of one sample. `a` holds the sums of the four gates, one after the other.
#pragma once

#include <cstddef>

#include "ops/activation/fused.h"

namespace bnns::impl {

constexpr size_t kLstmGates = 4;
enum LstmGate : size_t { kInputGate, kForgetGate, kCandidateGate, kOutputGate };

// An element-wise function, or softmax or log-softmax of a row.
class LstmFunction {
 public:
  LstmFunction() = default;
  LstmFunction(const ActivationInfo& info, const ActivationCoefficients& p)
      : element_(info, p), fused_(info, p) {}

  const ActivationInfo& info() const { return element_.info(); }
  const ActivationCoefficients& coefficients() const { return element_.coefficients(); }
  void forward(const float* x, float* y, size_t n) const;
  // dx = f'(x) dy; y is f(x).
  void gradient(const float* x, const float* y, const float* dy, float* dx, size_t n) const;

 private:
  ElementActivation element_;
  FusedActivation fused_;
};

struct LstmFunctions {
  LstmFunction gate[kLstmGates], hidden;
  // Sigmoid and tanh as usual, and no peephole that makes the output gate wait for the cell: then
  // one kernel does the whole update, and the cache has the gates with the functions applied.
  bool standard = false;
};

// Floats of working memory that each of these functions needs.
constexpr size_t lstm_row_floats(size_t n) {
  return 6 * n;
}

// c = f c_prev + i g; c may be c_prev.
void lstm_cell(const LstmFunctions& f, const float* a, const float* c_prev, float* c, size_t n,
               float* work);
// h = o phi(c)
void lstm_output(const LstmFunctions& f, const float* a, const float* c, float* h, size_t n,
                 float* work);
// The gradient of h is dy + dh: writes that of the sum of the gate o, adds that of c to dc.
void lstm_output_gradient(const LstmFunctions& f, const float* a, const float* c, const float* dy,
                          const float* dh, float* dc, float* da, size_t n, float* work);
// Writes the gradients of the sums of the gates i, f, g; dc becomes that of c_prev, as far as it
// goes through f.
void lstm_cell_gradient(const LstmFunctions& f, const float* a, const float* c_prev, float* dc,
                        float* da, size_t n, float* work);

}  // namespace bnns::impl
