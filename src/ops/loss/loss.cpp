#include "ops/loss/loss.h"

#include <algorithm>
#include <array>

#include "core/checked.h"
#include "core/parallel.h"
#include "ops/convert/blocks.h"

namespace bnns::impl {
namespace {

using enum LossFamily;

// Entry k describes function k + 1. The costs are those of loss and gradient on cached data.
constexpr LossInfo kRows[] = {
    {BNNSLossFunctionSoftmaxCrossEntropy, "SoftmaxCrossEntropy", kSample, true, 0.8f},
    {BNNSLossFunctionSigmoidCrossEntropy, "SigmoidCrossEntropy", kElement, false, 1},
    {BNNSLossFunctionMeanSquareError, "MeanSquareError", kElement, false, 0.3f},
    {BNNSLossFunctionHuber, "Huber", kElement, false, 0.3f},
    {BNNSLossFunctionYolo, "Yolo", kYolo, false, 10},
    {BNNSLossFunctionLog, "Log", kElement, false, 1},
    {BNNSLossFunctionCosineDistance, "CosineDistance", kSample, false, 0.3f},
    {BNNSLossFunctionHinge, "Hinge", kElement, false, 0.3f},
    {BNNSLossFunctionMeanAbsoluteError, "MeanAbsoluteError", kElement, false, 0.3f},
    {BNNSLossFunctionCategoricalCrossEntropy, "CategoricalCrossEntropy", kSample, true, 0.8f},
};

// kGrain and kRowGrain: elements of a grain. There are at most kMaxPartials grains, so that their
// sums fit on the stack.
constexpr size_t kGrain = 16384;
constexpr size_t kRowGrain = 4096;
constexpr size_t kMaxPartials = 256;

// Buffers for a row that is not contiguous: x, labels, weights and gradient.
constexpr size_t kLines = 4;

// Sums body(first, last, worker) over all grains of `grain` items, in the order of the grains.
template <class Body>
double sum_of_grains(size_t threads, size_t items, size_t grain, const Body& body) {
  double partials[kMaxPartials];
  const size_t grains = div_up(items, grain);
  parallel_for(threads, grains, [&](size_t g, size_t worker) {
    partials[g] = body(g * grain, std::min(items, (g + 1) * grain), worker);
  });
  double sum = 0;
  for (size_t g = 0; g < grains; ++g) sum += partials[g];
  return sum;
}

size_t grain_of(size_t items, size_t wish) {
  return std::max({size_t{1}, wish, div_up(items, kMaxPartials)});
}

bool is_contiguous(const View& view) {
  return view.rank == 1 && (view.stride[0] == 1 || view.extent[0] == 1);
}

View dense_view(const float* data, size_t count) {
  View view;
  view.data = const_cast<float*>(data);
  view.rank = 1;
  view.extent[0] = view.count = view.span = count;
  view.stride[0] = 1;
  return view;
}

// Gathers n elements of a view of floats: every `step`-th one, beginning with `first`.
void read_line(const View& view, const float* data, size_t first, size_t step, size_t n,
               float* out) {
  for (size_t i = 0; i < n; ++i) out[i] = data[offset_of(view, first + i * step)];
}

enum class Weights { kNone, kOne, kPerSample, kPerElement };

Weights weights_of(const LossTensors& call, size_t count) {
  if (call.weights_size == 0) return Weights::kNone;
  if (call.weights_size == 1) return Weights::kOne;
  const bool per_sample = call.weights_size == call.batch() && count > 1;
  return per_sample ? Weights::kPerSample : Weights::kPerElement;
}

// The weight that all elements of sample b share; 1 if every element has its own weight.
float weight_of(const LossTensors& call, Weights kind, size_t b) {
  if (kind == Weights::kOne) return *call.weights;
  return kind == Weights::kPerSample ? call.weights[b] : 1;
}

}  // namespace

const LossInfo* find_loss(BNNSLossFunction function) {
  const auto index = static_cast<uint32_t>(function) - 1;
  return index < std::size(kRows) ? &kRows[index] : nullptr;
}

// The factors of the entries: their weights, and the factor of the reduction.
struct LossOp::Factors {
  Weights weights;
  double divisor;  // divides the sum of the entries; if it is 0, the loss is 0
  float scale;     // upstream / divisor
};

LossOp::LossOp(const Memory& memory, size_t threads, const LossProblem& problem)
    : memory_(memory), threads_(threads), problem_(problem), scratch_(memory) {}

// The sum of the weights of all entries, and how many of them are not 0. In a per-sample loss with
// weights per element, the weight of an entry is the sum over its elements.
WeightTotals LossOp::weight_totals(const LossTensors& call) const {
  const size_t n = problem_.sample.count;
  const bool per_sample_sums =
      problem_.info->family == kSample && weights_of(call, n) == Weights::kPerElement;
  double nonzero[kMaxPartials];
  const size_t unit = per_sample_sums ? n : 1, items = call.weights_size / unit;
  const size_t grain = grain_of(items, kGrain / unit);
  const size_t threads = useful_threads(threads_, 0.1 * static_cast<double>(call.weights_size));
  const auto part = [&](size_t first, size_t last, size_t) {
    WeightTotals totals = {};
    if (!per_sample_sums) {
      totals = kernels_->weight_totals(call.weights + first, last - first);
    } else {
      for (size_t b = first; b < last; ++b) {
        const double sum = kernels_->weight_totals(call.weights + b * n, n).sum;
        totals.sum += sum;
        totals.nonzero += sum != 0;
      }
    }
    nonzero[first / grain] = totals.nonzero;
    return totals.sum;
  };
  WeightTotals all = {.sum = sum_of_grains(threads, items, grain, part), .nonzero = 0};
  for (size_t g = 0; g < div_up(items, grain); ++g) all.nonzero += nonzero[g];
  return all;
}

LossOp::Factors LossOp::factors(const LossTensors& call) const {
  const double entries = static_cast<double>(problem_.entries(call.batch()));
  const bool by_weight = problem_.reduction == BNNSLossReductionWeightedMean ||
                         problem_.reduction == BNNSLossReductionNonZeroWeightMean;
  Factors f = {.weights = weights_of(call, problem_.sample.count), .divisor = 1};
  if (by_weight && f.weights != Weights::kNone) {
    const WeightTotals totals = weight_totals(call);
    // Several entries may share one weight.
    double repeats = 1;
    if (f.weights == Weights::kOne) repeats = entries;
    if (f.weights == Weights::kPerSample) repeats = entries / static_cast<double>(call.batch());
    const bool by_sum = problem_.reduction == BNNSLossReductionWeightedMean;
    f.divisor = repeats * (by_sum ? totals.sum : totals.nonzero);
  } else if (by_weight || problem_.reduction == BNNSLossReductionMean) {
    f.divisor = entries;
  }
  f.scale = f.divisor == 0 ? 0 : static_cast<float>(double{call.upstream} / f.divisor);
  return f;
}

void LossOp::run(const LossTensors& call) {
  const Factors f = factors(call);
  const double sum = problem_.info->family == kElement ? run_elements(call, f) : run_rows(call, f);
  if (call.out != nullptr && problem_.reduced())
    *call.out = f.divisor == 0 ? 0 : static_cast<float>(sum / f.divisor);
}

// ---- One entry per element ----

namespace {

// The tensors of a call, visited element by element. A tensor that is absent is never accessed; a
// dense view of `in` is its placeholder.
enum : size_t { kX, kT, kGradient, kUpstream, kWeights, kEntries, kTensors };

struct ElementTensors {
  std::array<Operand, kTensors> operands;
  bool present[kTensors] = {};
  bool flat = true;  // all tensors are contiguous

  ElementTensors(const LossProblem& problem, const LossTensors& call, Weights weights) {
    const size_t count = problem.sample.count * call.batch();
    for (Operand& operand : operands) operand.view = dense_view(call.in.at<float>(0), count);
    const auto set = [&](size_t tensor, auto access, const View& view) {
      present[tensor] = true;
      operands[tensor] = {view, access};
      flat &= is_contiguous(view);
    };
    const Gradient& dx = call.in_delta;
    set(kX, Operand::kRead, whole(call.in));
    set(kT, Operand::kRead, whole(call.labels));
    if (dx) set(kGradient, dx.accumulate ? Operand::kUpdate : Operand::kWrite, whole(dx));
    if (call.out_delta) set(kUpstream, Operand::kRead, whole(call.out_delta));
    if (weights == Weights::kPerElement)
      set(kWeights, Operand::kRead, dense_view(call.weights, count));
    if (call.out != nullptr && !problem.reduced())
      set(kEntries, Operand::kWrite, dense_view(call.out, count));
  }

  // Calls body(rows, m) for the elements [first, first + n), in one or more blocks of m. The rows
  // of absent tensors are nullptr.
  template <class Body>
  void for_rows(const ConvertKernels& convert, size_t first, size_t n, const Body& body) const {
    const auto run = [&](std::array<float*, kTensors> rows, size_t m) {
      for (size_t k = 0; k < kTensors; ++k) rows[k] = present[k] ? rows[k] : nullptr;
      body(rows, m);
    };
    if (!flat) return for_blocks(convert, operands, first, n, run);
    std::array<float*, kTensors> rows;
    for (size_t k = 0; k < kTensors; ++k)
      rows[k] = static_cast<float*>(operands[k].view.data) + first;
    run(rows, n);
  }
};

}  // namespace

double LossOp::run_elements(const LossTensors& call, const Factors& f) const {
  const size_t n = problem_.sample.count, count = n * call.batch();
  const ElementTensors tensors(problem_, call, f.weights);
  const ElementLossKernel kernel = kernels_->element[problem_.info->function];
  const auto block = [&](size_t first, size_t last, float weight) {
    double sum = 0;
    tensors.for_rows(*convert_, first, last - first,
                     [&](const std::array<float*, kTensors>& rows, size_t m) {
                       sum += kernel({.x = rows[kX],
                                      .t = rows[kT],
                                      .weights = rows[kWeights],
                                      .upstream = rows[kUpstream],
                                      .weight = weight,
                                      .scale = f.scale,
                                      .entries = rows[kEntries],
                                      .gradient = rows[kGradient],
                                      .accumulate = call.in_delta.accumulate,
                                      .wants_sum = call.out != nullptr && problem_.reduced(),
                                      .n = m},
                                     problem_.parameters);
                     });
    return sum;
  };
  const auto part = [&](size_t first, size_t last, size_t) {
    if (f.weights != Weights::kPerSample) return block(first, last, weight_of(call, f.weights, 0));
    double sum = 0;
    for (size_t k = first; k < last;) {
      const size_t b = k / n, end = std::min(last, (b + 1) * n);
      sum += block(k, end, call.weights[b]);
      k = end;
    }
    return sum;
  };
  const double cost = static_cast<double>(count) * problem_.info->nanoseconds;
  return sum_of_grains(useful_threads(threads_, cost), count, grain_of(count, kGrain), part);
}

// ---- One entry per sample ----

bool LossOp::rows_are_contiguous(const LossTensors& call) const {
  return problem_.row_step == 1 && problem_.sample.is_dense() &&
         (!call.in_delta || call.in_delta.sample->is_dense());
}

void LossOp::prepare(Scratch& scratch) const {
  if (!scratch.lines) {
    const size_t lines = checked_mul(kLines * threads_, problem_.row_length, "working memory");
    scratch.lines = Array<float>(memory_, lines);
  }
}

void LossOp::reserve(size_t callers) {
  if (problem_.info->family != kSample) return;
  scratch_.reserve(callers, [&](Scratch& scratch) { prepare(scratch); });
}

double LossOp::run_rows(const LossTensors& call, const Factors& f) {
  const size_t n = problem_.sample.count;
  const double cost = static_cast<double>(n * call.batch()) * problem_.info->nanoseconds;
  const size_t threads = useful_threads(threads_, cost);
  const size_t grain = grain_of(call.batch(), kRowGrain / n);
  if (rows_are_contiguous(call)) {
    return sum_of_grains(threads, call.batch(), grain, [&](size_t first, size_t last, size_t) {
      return rows_of_samples(call, f, first, last);
    });
  }
  const auto scratch = scratch_.take();
  prepare(*scratch);
  return sum_of_grains(threads, call.batch(), grain, [&](size_t first, size_t last, size_t worker) {
    float* lines = scratch->lines.data() + worker * kLines * problem_.row_length;
    double sum = 0;
    for (size_t b = first; b < last; ++b) sum += rows_of_sample(call, f, b, lines);
    return sum;
  });
}

namespace {

float scale_of(const LossTensors& call, float scale, size_t b) {
  return call.out_delta ? *call.out_delta.at<const float>(b) : scale;
}

}  // namespace

double LossOp::rows_of_samples(const LossTensors& call, const Factors& f, size_t first,
                               size_t last) const {
  const size_t n = problem_.sample.count, per_sample = rows_per_sample();
  const bool single = per_sample == 1;
  const bool entries = call.out != nullptr && !problem_.reduced();
  float weight[kMaxLossRows], scale[kMaxLossRows], losses[kMaxLossRows];
  const Gradient& dx = call.in_delta;
  LossRows rows = {.x_stride = single ? call.in.step : problem_.row_length,
                   .t_stride = single ? call.labels.step : problem_.row_length,
                   .weights_stride = problem_.row_length,
                   .gradient_stride = single ? dx.step : problem_.row_length,
                   .accumulate = dx.accumulate,
                   .weight = weight,
                   .scale = scale,
                   .losses = call.out == nullptr ? nullptr : losses,
                   .n = problem_.row_length};
  double sum = 0, sample_sum = 0;
  // `row` is an index over all rows of the batch. If samples have several rows, a block of rows
  // does not reach into the next sample.
  for (size_t row = first * per_sample; row < last * per_sample;) {
    const size_t b = row / per_sample, inside = row % per_sample;
    rows.count = std::min(kMaxLossRows, single ? last - b : per_sample - inside);
    const size_t offset = inside * problem_.row_length;
    rows.x = call.in.at<const float>(b) + offset;
    rows.t = call.labels.at<const float>(b) + offset;
    if (dx) rows.gradient = dx.at<float>(b) + offset;
    if (f.weights == Weights::kPerElement) rows.weights = call.weights + b * n + offset;
    for (size_t r = 0; r < rows.count; ++r) {
      weight[r] = weight_of(call, f.weights, single ? b + r : b);
      scale[r] = scale_of(call, f.scale, single ? b + r : b);
    }
    kernels_->rows[problem_.info->function](rows, problem_.parameters);
    row += rows.count;
    if (call.out == nullptr) continue;
    for (size_t r = 0; r < rows.count; ++r) {
      sample_sum = (single || inside + r == 0 ? 0 : sample_sum) + double{losses[r]};
      if (!single && inside + r + 1 < per_sample) continue;
      if (entries) call.out[single ? b + r : b] = static_cast<float>(sample_sum);
      sum += sample_sum;
    }
  }
  return sum;
}

// A sample whose rows are not contiguous: each row is gathered, computed and scattered.
double LossOp::rows_of_sample(const LossTensors& call, const Factors& f, size_t b,
                              float* lines) const {
  const size_t n = problem_.sample.count, length = problem_.row_length, step = problem_.row_step;
  const float weight = weight_of(call, f.weights, b), scale = scale_of(call, f.scale, b);
  const float *x = call.in.at<const float>(b), *t = call.labels.at<const float>(b);
  const Gradient& dx = call.in_delta;
  float* g = dx ? dx.at<float>(b) : nullptr;
  float loss = 0;
  const LossRows rows = {
      .x = lines,
      .t = lines + length,
      .weights = f.weights == Weights::kPerElement ? lines + 2 * length : nullptr,
      .gradient = g == nullptr ? nullptr : lines + 3 * length,
      .accumulate = dx.accumulate,
      .weight = &weight,
      .scale = &scale,
      .losses = call.out == nullptr ? nullptr : &loss,
      .count = 1,
      .n = length};
  double sum = 0;
  for (size_t row = 0; row < rows_per_sample(); ++row) {
    const size_t first = row / step * step * length + row % step;
    read_line(problem_.sample, x, first, step, length, lines);
    read_line(problem_.sample, t, first, step, length, lines + length);
    for (size_t i = 0; rows.weights != nullptr && i < length; ++i)
      lines[2 * length + i] = call.weights[b * n + first + i * step];
    if (g != nullptr && dx.accumulate) read_line(*dx.sample, g, first, step, length, rows.gradient);
    kernels_->rows[problem_.info->function](rows, problem_.parameters);
    for (size_t i = 0; g != nullptr && i < length; ++i)
      g[offset_of(*dx.sample, first + i * step)] = rows.gradient[i];
    sum += double{loss};
  }
  if (call.out != nullptr && !problem_.reduced()) call.out[b] = static_cast<float>(sum);
  return sum;
}

}  // namespace bnns::impl
