// C = alpha sum of A B, or added to C: a product of two tensors over named axes. An axis that C
// does not have is summed; one that A or B does not have repeats it. Matrix products with leading
// axes, Einstein sums and the gradients of both are problems of this kind: those of
// C = contract(A, B) are dA = contract(dC, B) and dB = contract(A, dC) on the same axes.
//   Products: axes of A and C are rows, of B and C columns, of A and B are summed: ops/gemm, on the
//   tensors where they lie or through panels that are gathered; axes of all three are a batch.
//   Elements: what is no product of matrices worth the name is a loop nest, summed in double.
//   Types: Float32, Float16 and BFloat16 in any mix; sums are those of ops/gemm.
//   Threads: the form and the order of sums follow from the problem alone.
// Nothing here allocates. An op is a value that is made on the stack when the batch is known.
#pragma once

#include <optional>

#include "ops/contraction/axes.h"
#include "ops/contraction/plan.h"
#include "ops/convert/convert.h"
#include "ops/gemm/gemm.h"

namespace bnns::impl {

struct ContractionData {
  const void* a;
  const void* b;
  void* c;
  bool accumulate = false;
};

class ContractionOp {
 public:
  // The kernels are those of the SIMD target that was chosen when the owner was made.
  ContractionOp(const GemmKernels& gemm, const ConvertKernels& convert, size_t threads,
                const ContractionProblem& problem);

  // Floats of working memory, aligned to kAlignment.
  size_t scratch() const;
  void run(const ContractionData& data, float* scratch) const;

 private:
  void run_matrices(const ContractionData& data, float* scratch) const;
  void run_gathered(const ContractionData& data, float* scratch) const;
  void store(const ContractionAxes& axes, size_t first, size_t n, const float* values,
             const ContractionOffsets& base, const ContractionData& data) const;
  bool shares_products() const;
  GemmProblem product(size_t rows) const;
  size_t product_scratch() const;
  const void* moved(const void* data, ContractionTensor t, size_t values) const {
    return static_cast<const char*>(data) + values * type_bytes(plan_.type[t]);
  }

  const GemmKernels* gemm_;
  const ConvertKernels* convert_;
  size_t threads_;
  ContractionPlan plan_;
  std::optional<GemmOp> matrices_;  // a product, or a block of its rows, of the form kMatrices
};

}  // namespace bnns::impl
