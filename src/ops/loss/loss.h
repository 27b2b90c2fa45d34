// Losses with their gradients in one pass: the table of functions, the kernels of the chosen target
// and the op that runs them over a batch with threads.
//   in_delta = or += u rho dl/dx,   u the upstream gradient, rho the factor of the reduction
// A per-element loss has one entry per element; its grains are fixed blocks of elements. A
// per-sample loss has one entry per sample, the sum over its rows; its grains are samples, and no
// row is split. The entries of a grain are summed in float vectors over short blocks, everything
// else in double, in a fixed order. The YOLO loss is in ops/loss/yolo.h; the table lists it too.
#pragma once

#include <cstddef>

#include "core/batch.h"
#include "core/scratch_pool.h"
#include "ops/convert/convert.h"

namespace bnns::impl {

enum class LossFamily { kElement, kSample, kYolo };

struct LossInfo {
  BNNSLossFunction function;
  const char* name;
  LossFamily family;
  bool along_axis;    // rows run along size[0]; otherwise a sample is one row
  float nanoseconds;  // rough cost of an element; decides how many threads are used
};

// nullptr for a value that is no BNNSLossFunction.
const LossInfo* find_loss(BNNSLossFunction function);

// Constants of the formulas: labels become keep * t + added, Huber turns linear at delta.
struct LossCoefficients {
  float keep = 1;
  float added = 0;
  float delta = 1;
};

// ---- Kernels ----

// n contiguous elements. Inputs that do not exist and outputs that are not wanted are nullptr.
struct LossElements {
  const float* x;
  const float* t;
  const float* weights;   // one per element; nullptr: `weight` for all
  const float* upstream;  // one per element; nullptr: `scale` for all
  float weight;
  float scale;
  float* entries;
  float* gradient;
  bool accumulate;
  bool wants_sum;
  size_t n;
};
// Returns the sum of the weighted losses.
using ElementLossKernel = double (*)(const LossElements& elements, const LossCoefficients& p);

// `count` rows of n contiguous elements, at most kMaxLossRows.
constexpr size_t kMaxLossRows = 64;
struct LossRows {
  const float* x;
  size_t x_stride;
  const float* t;
  size_t t_stride;
  const float* weights;  // one per element, or nullptr
  size_t weights_stride;
  float* gradient;  // or nullptr
  size_t gradient_stride;
  bool accumulate;
  const float* weight;  // one per row; multiplies the weights of its elements
  const float* scale;   // one per row; a further factor of the gradient
  float* losses;        // one per row, or nullptr
  size_t count;
  size_t n;
};
using RowLossKernel = void (*)(const LossRows& rows, const LossCoefficients& p);

struct WeightTotals {
  double sum;
  double nonzero;
};

constexpr size_t kLossFunctions = BNNSLossFunctionCategoricalCrossEntropy + 1;
struct LossKernels {
  // Indexed by function value; nullptr where the function has no such kernel.
  ElementLossKernel element[kLossFunctions];
  RowLossKernel rows[kLossFunctions];
  WeightTotals (*weight_totals)(const float* weights, size_t n);
};
const LossKernels* loss_kernels();

// ---- The op ----

// Offset of the index-th element of a view, in values.
inline size_t offset_of(const View& view, size_t index) {
  size_t offset = 0;
  for (size_t k = 0; k < view.rank; ++k) {
    offset += index % view.extent[k] * view.stride[k];
    index /= view.extent[k];
  }
  return offset;
}

struct LossProblem {
  const LossInfo* info = nullptr;
  BNNSLossReductionFunction reduction = BNNSLossReductionNone;
  View sample;            // one sample of the input, and of the labels
  size_t row_length = 1;  // per-sample losses: elements of a row
  size_t row_step = 1;    // distance between neighbours of a row, in elements in memory order
  LossCoefficients parameters;

  bool reduced() const { return reduction != BNNSLossReductionNone; }
  size_t entries(size_t batch) const {
    return info->family == LossFamily::kElement ? batch * sample.count : batch;
  }
};

// The tensors of a call, all Float32.
struct LossTensors {
  Batch in, labels;
  const float* weights = nullptr;
  size_t weights_size = 0;
  float* out = nullptr;  // nullptr in backward
  Gradient in_delta;
  float upstream = 1;  // upstream gradient of a reduced loss; 1 in the forward call
  Batch out_delta;     // upstream gradients of an unreduced loss, in backward: one per entry

  size_t batch() const { return in.size; }
};

class LossOp {
 public:
  LossOp(const Memory& memory, size_t threads, const LossProblem& problem);

  void run(const LossTensors& call);
  void reserve(size_t callers);

 private:
  struct Scratch {
    Array<float> lines;
  };
  struct Factors;

  Factors factors(const LossTensors& call) const;
  WeightTotals weight_totals(const LossTensors& call) const;
  double run_elements(const LossTensors& call, const Factors& f) const;
  double run_rows(const LossTensors& call, const Factors& f);
  double rows_of_samples(const LossTensors& call, const Factors& f, size_t first,
                         size_t last) const;
  double rows_of_sample(const LossTensors& call, const Factors& f, size_t b, float* lines) const;
  bool rows_are_contiguous(const LossTensors& call) const;
  size_t rows_per_sample() const { return problem_.sample.count / problem_.row_length; }
  void prepare(Scratch& scratch) const;

  Memory memory_;
  size_t threads_;
  LossProblem problem_;
  const LossKernels* kernels_ = loss_kernels();
  const ConvertKernels* convert_ = convert_kernels();
  ScratchPool<Scratch> scratch_;
};

}  // namespace bnns::impl
