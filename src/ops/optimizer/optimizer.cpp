#include "ops/optimizer/optimizer.h"

#include <algorithm>
#include <cmath>

#include "core/checked.h"
#include "core/parallel.h"
#include "ops/vector_norm/vector_norm.h"

namespace bnns::impl {
namespace {

// Number of tensors that share a parallel loop; their table is on the stack (16 KB).
constexpr size_t kBlockTensors = 256;
// 64 KB of every tensor: the work is large compared with claiming a grain, small compared with a
// second-level cache, and a multiple of every vector length, so that grains of one tensor keep its
// alignment.
constexpr size_t kGrain = 16384;
// The sum of squares uses larger grains where there would be more of them than this.
constexpr size_t kMaxNormGrains = 256;

// The elements of up to kBlockTensors tensors, laid end to end.
class Block {
 public:
  Block(const OptimizerTensors& tensors, size_t first) {
    size_ = std::min(kBlockTensors, tensors.count - first);
    begin_[0] = 0;
    for (size_t t = 0; t < size_; ++t) {
      const OptimizerTensor tensor = tensors.at(tensors.context, first + t);
      rows_[t] = tensor.rows;
      begin_[t + 1] = begin_[t] + tensor.count;
    }
  }

  size_t size() const { return size_; }
  size_t elements() const { return begin_[size_]; }
  const OptimizerRows& rows(size_t t) const { return rows_[t]; }

  // Calls body(tensor, first element in it, number of elements) for all stretches in [begin, end).
  template <class Body>
  void for_stretches(size_t begin, size_t end, const Body& body) const {
    const size_t* after = std::upper_bound(begin_, begin_ + size_, begin);
    for (size_t t = static_cast<size_t>(after - begin_) - 1; begin < end; ++t) {
      const size_t stop = std::min(end, begin_[t + 1]);
      body(t, begin - begin_[t], stop - begin);
      begin = stop;
    }
  }

 private:
  size_t size_;
  OptimizerRows rows_[kBlockTensors];
  size_t begin_[kBlockTensors + 1];
};

template <class Body>
void for_each_block(const OptimizerTensors& tensors, const Body& body) {
  for (size_t first = 0; first < tensors.count; first += kBlockTensors) body(Block(tensors, first));
}

// Computes the sums of squared gradients, one per tensor.
void sum_squares(size_t threads, const Block& block, double* sums) {
  const NormKernels& kernels = *norm_kernels();
  const size_t elements = block.elements();
  const size_t grain = div_up(div_up(elements, kMaxNormGrains), kGrain) * kGrain;
  // From one stretch to the next either the grain or the tensor advances, so that grain + tensor is
  // a different index for every stretch.
  double partials[kMaxNormGrains + kBlockTensors] = {};
  const double nanoseconds = 0.3 * static_cast<double>(elements);
  parallel_for(useful_threads(threads, nanoseconds), div_up(elements, grain),
               [&](size_t g, size_t) {
                 const size_t begin = g * grain;
                 block.for_stretches(begin, std::min(begin + grain, elements),
                                     [&](size_t t, size_t first, size_t n) {
                                       const float* x = block.rows(t).g + first;
                                       partials[g + t] = kernels.sum_squares(x, n);
                                     });
               });
  std::fill_n(sums, block.size(), 0.0);
  for (size_t g = 0; g * grain < elements; ++g) {
    block.for_stretches(g * grain, std::min((g + 1) * grain, elements),
                        [&](size_t t, size_t, size_t) { sums[t] += partials[g + t]; });
  }
}

double global_norm(size_t threads, const OptimizerTensors& tensors) {
  double total = 0;
  for_each_block(tensors, [&](const Block& block) {
    double sums[kBlockTensors];
    sum_squares(threads, block, sums);
    for (size_t t = 0; t < block.size(); ++t) total += sums[t];
  });
  return std::sqrt(total);
}

// Factor for gradients of this norm: their scale, reduced if they are too long. A norm of NaN makes
// everything NaN, instead of letting the rest of the gradient pass unclipped.
float scale_for(const OptimizerProblem& problem, double norm) {
  return static_cast<float>(problem.gradient_scale * clip_factor(norm, problem.max_norm));
}

void update_block(const OptimizerProblem& problem, const OptimizerKernels& kernels, size_t threads,
                  const Block& block, const float* scales) {
  const auto update = kernels.update[static_cast<size_t>(problem.rule)][problem.regularization];
  const size_t states = optimizer_states(problem.rule);
  const size_t elements = block.elements();
  const double nanoseconds = 0.25 * static_cast<double>(2 + states) * static_cast<double>(elements);
  parallel_for(useful_threads(threads, nanoseconds), div_up(elements, kGrain),
               [&](size_t g, size_t) {
                 const size_t begin = g * kGrain;
                 block.for_stretches(begin, std::min(begin + kGrain, elements),
                                     [&](size_t t, size_t first, size_t n) {
                                       OptimizerRows rows = block.rows(t);
                                       rows.w += first;
                                       rows.g += first;
                                       for (size_t s = 0; s < states; ++s) rows.state[s] += first;
                                       update(problem.constants, scales[t], rows, n);
                                     });
               });
}

}  // namespace

void run_optimizer(const OptimizerProblem& problem, const OptimizerKernels& kernels, size_t threads,
                   const OptimizerTensors& tensors) {
  auto scale = static_cast<float>(problem.gradient_scale);
  if (problem.clipping == BNNSOptimizerClippingByGlobalNorm) {
    const bool known = problem.use_norm != 0;
    scale = scale_for(problem, known ? problem.use_norm : global_norm(threads, tensors));
  }
  for_each_block(tensors, [&](const Block& block) {
    float scales[kBlockTensors];
    std::fill_n(scales, block.size(), scale);
    if (problem.clipping == BNNSOptimizerClippingByNorm) {
      double sums[kBlockTensors];
      sum_squares(threads, block, sums);
      for (size_t t = 0; t < block.size(); ++t) scales[t] = scale_for(problem, std::sqrt(sums[t]));
    }
    update_block(problem, kernels, threads, block, scales);
  });
}

}  // namespace bnns::impl
