// Quantization of a tensor, with one scale s and bias b, or one pair per index of an axis:
//   quantize    y = saturate(round-to-even(s x + b)), an integer
//   dequantize  y = (x - b) / s, rounded if y is an integer
// All in double, which holds every value of the types involved; a product and a sum, or a
// difference and a quotient, each rounded once. NaN becomes the integer 0.
#pragma once

#include <cstddef>

#include "core/memory.h"
#include "core/scratch_pool.h"
#include "core/view.h"

namespace bnns::impl {

struct QuantizeProblem {
  bool dequantize = false;
  // Elements in the order of memory that follow each other with the same coefficients, and number
  // of coefficients: element i has those of index i / inner % extent.
  size_t inner = 1, extent = 1;
  View scale, bias;  // collapsed vectors of `extent` values; data NULL: 1 and 0
};

class QuantizeOp {
 public:
  // Scale and bias are copied, or read where they lie at every call.
  QuantizeOp(const Memory& memory, size_t threads, const QuantizeProblem& problem,
             bool use_client_pointers);

  // x and y are collapsed views of the whole batch, of equal count.
  void run(const View& x, const View& y);

  void reserve(size_t callers);

 private:
  // The scales, then the biases.
  void load(Array<float>& to) const;

  Memory memory_;
  size_t threads_;
  QuantizeProblem problem_;
  Array<float> own_;
  ScratchPool<Array<float>> scratch_;
};

}  // namespace bnns::impl
