// C = act(alpha A B + beta C + bias) in single precision, or with more terms by row or column (see
// ops/epilogue): M rows and N columns of C (columns contiguous), K summed; all four cases of
// transposed operands, 16-bit and 8-bit operands too.
//   Depth: K is cut into blocks of kGemmDepth. Inside a block, chains of kGemmChain products are
//   joined pairwise; blocks are joined with a compensated sum (hi, lo).
//   Threads: grains, panels and the order of sums follow from the problem alone, so the bits do
//   not depend on the number of threads; they depend on the SIMD target.
// Nothing here allocates. A GemmOp is a small value: whoever knows all sizes at creation makes it
// once; whoever learns some of them with a call (M is the batch of a fully connected layer) makes
// one per call on the stack, which takes some ten nanoseconds.
#pragma once

#include <cstddef>
#include <optional>

#include "ops/gemm/operand.h"
#include "ops/gemm/plan.h"

namespace bnns::impl {

struct GemmProblem {
  GemmShape shape;
  GemmOperand a = {}, b = {};
  size_t c_row = 0;  // distance of rows of C
  // alpha, beta and the activation, a function of one element that outlives the op. Terms, and
  // whether to accumulate, come with each run.
  Epilogue epilogue = {};
};

// What arrives with a run. The place of an operand that packs itself, or of which only panels are
// left, is not used.
struct GemmData {
  const void* a = nullptr;
  const void* b = nullptr;
  float* c = nullptr;
  ChannelTerms row = {}, column = {};  // one value per row, one per column
  bool accumulate = false;             // false: C is not read, beta not used
};

// From one product of a batch to the next, in values; 0: all products share it.
struct GemmSteps {
  size_t a = 0, b = 0, c = 0;
  size_t row = 0, column = 0;  // of their terms
};

class GemmOp {
 public:
  // `kernels` are those of the SIMD target that was chosen when the owner was made.
  GemmOp(const GemmKernels& kernels, size_t threads, const GemmProblem& problem);

  // Floats of working memory that a batch of `count` products needs, aligned to kAlignment; 0 for
  // the shapes that are not packed. All counts above 1 need the same. Bounded: at most a few
  // megabytes and some hundred kilobytes a thread, whatever the shape.
  size_t scratch(size_t count = 1) const;

  void run(const GemmData& data, float* scratch) const;
  // `count` products, independent of each other. Small ones are shared out among the threads; of
  // large ones, and if there are few, each uses all threads. Operands given as panels or packers
  // are shared by all products.
  void run_batch(size_t count, const GemmSteps& steps, const GemmData& data, float* scratch) const;

 private:
  void run(size_t threads, const GemmData& data, float* scratch) const;
  // Small enough for one thread to compute a product of a batch alone.
  bool is_small() const;

  const GemmKernels* kernels_;
  size_t threads_;
  GemmProblem problem_;
  double nanoseconds_;  // of one product on one core, about
  GemmForm form_;
  std::optional<GemmPlan> plan_;  // if it is packed
};

}  // namespace bnns::impl
