// The backward pass. Gradients of inputs that are not broadcast are element-wise and share one
// pass. Every other gradient is a sum and takes a pass of its own, along axes in another order:
// first the kept axes that come before the first reduced one (columns), then the reduced axes
// (rows), then the other kept axes (groups).
//   With columns, rows are added up in float, 16 at a time, and then in double. Without, the rows
//   are single elements; stretches of them are summed in float and joined in double.
//   A task has up to 4096 sums. If there are only a few tasks, the rows are cut in slices whose
//   sums are joined in order. All of this follows from the problem alone.
#include <algorithm>
#include <cstring>

#include "core/checked.h"
#include "core/parallel.h"
#include "ops/arithmetic/arithmetic.h"
#include "ops/arithmetic/pass.h"

namespace bnns::impl {
namespace {

constexpr size_t kGrain = 32768;
constexpr size_t kMaxSums = 4096;     // of a task; they lie on the stack
constexpr size_t kRowsInFloat = 16;   // rows that are added before they are added in double
constexpr size_t kEnoughTasks = 16;   // no slices beyond
constexpr size_t kMaxPartTasks = 64;  // tasks when rows are cut in slices
constexpr size_t kSliceElements = 32768;

// Samples one after the other as Float32 in working memory.
Batch packed_batch(const View& packed_sample, float* data, size_t samples) {
  return {.sample = &packed_sample, .data = data, .size = samples, .step = packed_sample.count};
}

}  // namespace

// ---- What is read ----

uint32_t ArithmeticOp::inputs_read(uint32_t wanted, bool result_given) const {
  if (reads_result(result_given)) return 0;
  uint32_t read = 0;
  for (size_t k = 0; k < problem_.inputs(); ++k) {
    if ((wanted >> k & 1) != 0) read |= problem_.function->reads[k];
  }
  return read;
}

bool ArithmeticOp::is_reduced(size_t input, size_t samples) const {
  bool reduced = samples > 1 && !problem_.is_sample(input);
  for (size_t k = 0; k < problem_.out.rank; ++k)
    reduced |= problem_.in[input].extent[k] != problem_.out.extent[k];
  return reduced;
}

// The tensors from which gradients are computed, as tensors of a pass.
struct ArithmeticOp::Sources {
  static constexpr size_t kNone = Pass::kTensors;
  const ArithmeticOp& op;
  size_t in[2] = {kNone, kNone};
  size_t y = kNone, dy = kNone;
  bool result = false;  // the kernels take y in the place of the first input
  bool slope = false;   // dy is multiplied by the slope of the activation

  Sources(const ArithmeticOp& owner, Pass& pass, const Gradients& g, uint32_t wanted)
      : op(owner), result(owner.reads_result(static_cast<bool>(g.out))) {
    slope = !op.activation().is_identity() && op.activation().is_element();
    const uint32_t read = op.inputs_read(wanted, static_cast<bool>(g.out));
    for (size_t k = 0; k < 2; ++k) {
      if ((read >> k & 1) != 0) in[k] = pass.add(g.in[k], op.problem_.is_sample(k), Operand::kRead);
    }
    if (result || slope) y = pass.add(g.out, true, Operand::kRead);
    dy = pass.add(g.dy, true, Operand::kRead);
  }

  // The gradient before the activation: dy itself, or `buffer`.
  const float* gradient(const Pass::Block& b, float* buffer) const {
    if (!slope) return b.row[dy];
    op.activation().multiply_by_slope(b.row[y], b.row[dy], buffer, b.n);
    return buffer;
  }
  ArithmeticBackward kernel(size_t input) const {
    return result ? op.kernels_.backward.from_result : op.kernels_.backward.input[input];
  }
  const float* first(const Pass::Block& b) const {
    return result ? b.row[y] : in[0] == kNone ? nullptr : b.row[in[0]];
  }
  const float* second(const Pass::Block& b) const {
    return in[1] == kNone ? nullptr : b.row[in[1]];
  }
};

// ---- Gradients of single elements ----

void ArithmeticOp::backward_elements(const Gradients& g, uint32_t inputs) const {
  Pass pass(problem_.out, g.dy.size);
  const Sources sources(*this, pass, g, inputs);
  size_t target[kMaxArithmeticInputs] = {};
  bool adds[kMaxArithmeticInputs] = {}, in_place = false, buffered = sources.slope;
  for (size_t k = 0; k < problem_.inputs(); ++k) {
    if ((inputs >> k & 1) == 0) continue;
    const Gradient& d = g.in_delta[k];
    size_t same = 0;  // an earlier input that is the same tensor
    while (same < k && ((inputs >> same & 1) == 0 || g.in_delta[same].data != d.data)) ++same;
    adds[k] = same < k || d.accumulate;
    in_place |= d.data == g.dy.data;
    buffered |= adds[k] || in_place;
    target[k] = same < k ? target[same]
                         : pass.add(d, problem_.is_sample(k),
                                    d.accumulate ? Operand::kUpdate : Operand::kWrite);
  }
  pass.push_all();
  pass.close(false);

  const auto body = [&](const Pass::Block& b) {
    alignas(64) float g_buffer[kBlock], d_buffer[kBlock];
    const float* gradient = sources.gradient(b, g_buffer);
    if (in_place && gradient != g_buffer) {
      std::memcpy(g_buffer, gradient, b.n * sizeof(float));
      gradient = g_buffer;
    }
    for (size_t k = 0; k < problem_.inputs(); ++k) {
      if ((inputs >> k & 1) == 0) continue;
      float* to = b.row[target[k]];
      const ArithmeticBackward kernel = sources.kernel(k);
      const float* d = gradient;
      if (kernel != nullptr) {
        float* result = adds[k] ? d_buffer : to;
        kernel(sources.first(b), sources.second(b), gradient, result, b.n);
        d = result;
      }
      if (adds[k]) {
        kernels_.sums.add(d, to, b.n);
      } else if (d != to) {
        std::memcpy(to, d, b.n * sizeof(float));
      }
    }
  };
  const size_t count = pass.count();
  const size_t threads = useful_threads(threads_, static_cast<double>(count) * nanoseconds());
  parallel_for(threads, div_up(count, kGrain), [&](size_t grain, size_t) {
    const size_t first = grain * kGrain;
    pass.run(*convert_, first, std::min(kGrain, count - first), buffered ? kBlock : kGrain, body);
  });
}

// ---- Sums ----

struct ArithmeticOp::Reduction {
  size_t columns = 1, rows = 1, groups = 1;
  size_t sums = 1;         // columns * groups
  size_t task_groups = 1;  // groups of a task, if it has all columns
  size_t task_columns = 1;
  size_t tasks = 1;
  size_t slices = 1, slice_rows = 1;
  size_t axis[kMaxRank + 1];  // the order of the axes
};

ArithmeticOp::Reduction ArithmeticOp::plan_reduction(size_t input, size_t samples) const {
  Reduction r;
  const size_t rank = problem_.out.rank;
  const auto extent = [&](size_t k) { return k == rank ? samples : problem_.out.extent[k]; };
  const auto reduced = [&](size_t k) {
    if (k == rank) return !problem_.is_sample(input);
    return problem_.in[input].extent[k] != problem_.out.extent[k];
  };
  size_t n = 0, lead = 0;
  for (; lead <= rank && (extent(lead) == 1 || !reduced(lead)); ++lead) {
    r.axis[n++] = lead;
    r.columns *= extent(lead);
  }
  for (size_t k = lead; k <= rank; ++k) {
    if (!reduced(k)) continue;
    r.axis[n++] = k;
    r.rows *= extent(k);
  }
  for (size_t k = lead; k <= rank; ++k) {
    if (reduced(k)) continue;
    r.axis[n++] = k;
    r.groups *= extent(k);
  }
  r.sums = r.columns * r.groups;
  r.task_columns = std::min(r.columns, kMaxSums);
  const size_t group = r.columns * r.rows;
  if (r.task_columns == r.columns) {
    r.task_groups =
        std::clamp<size_t>(kSliceElements / group, 1, std::min(r.groups, kMaxSums / r.columns));
  }
  r.tasks = div_up(r.columns, r.task_columns) * div_up(r.groups, r.task_groups);
  r.slice_rows = r.rows;
  if (r.tasks < kEnoughTasks && r.task_groups == 1) {
    const size_t wanted = std::min(kMaxPartTasks / r.tasks, r.sums * r.rows / kSliceElements);
    r.slice_rows = div_up(r.rows, std::clamp<size_t>(wanted, 1, r.rows));
    r.slices = div_up(r.rows, r.slice_rows);
  }
  return r;
}

void ArithmeticOp::backward_reduced(const Gradients& g, size_t input, bool accumulate,
                                    double* partial) const {
  Pass pass(problem_.out, g.dy.size);
  const Sources sources(*this, pass, g, 1u << input);
  const Reduction r = plan_reduction(input, g.dy.size);
  for (size_t k = 0; k <= problem_.out.rank; ++k) pass.push(r.axis[k]);
  pass.close(false);
  const ArithmeticBackward kernel = sources.kernel(input);
  const ArithmeticSums& sums = kernels_.sums;
  const View target = whole(g.in_delta[input]);

  // Totals first .. first + n of the kept elements are complete.
  const auto write = [&](size_t first, size_t n, const double* totals) {
    float values[kBlock], old[kBlock];
    for (size_t i = 0; i < n; i += kBlock) {
      const size_t m = std::min(kBlock, n - i);
      if (accumulate) read_values(*convert_, target, first + i, m, old);
      for (size_t k = 0; k < m; ++k)
        values[k] = static_cast<float>(totals[i + k] + (accumulate ? double{old[k]} : 0.0));
      write_values(*convert_, target, first + i, m, values);
    }
  };

  // One task: `n` sums from the first_sum-th on over rows first_row .. first_row + rows.
  const auto run_task = [&](size_t first_sum, size_t columns, size_t groups, size_t first_row,
                            size_t rows, double* totals) {
    float parts[kMaxSums];
    const size_t n = columns * groups;
    std::fill_n(totals, n, 0.0);
    std::fill_n(parts, n, 0.0f);
    const size_t segment = r.columns == 1 ? rows : columns;
    size_t base = 0, at = 0, row = 0;  // the sums of this group, the place in the segment, its row
    const auto add = [&](const Pass::Block& b) {
      alignas(64) float g_buffer[kBlock], d_buffer[kBlock];
      const float* d = sources.gradient(b, g_buffer);
      if (kernel != nullptr) {
        kernel(sources.first(b), sources.second(b), d, d_buffer, b.n);
        d = d_buffer;
      }
      for (size_t left = b.n; left > 0;) {
        const size_t run = std::min(left, segment - at);
        if (r.columns == 1) {
          totals[base] += double{sums.sum(d, run)};
        } else {
          sums.add(d, parts + base + at, run);
        }
        d += run;
        left -= run;
        at += run;
        if (at < segment) continue;
        at = 0;
        ++row;
        if (r.columns == 1) {
          ++base;
        } else if (row == rows || row % kRowsInFloat == 0) {
          sums.flush(parts + base, totals + base, columns);
          if (row < rows) continue;
          row = 0;
          base += columns;
        }
      }
    };
    const size_t group = first_sum / r.columns, column = first_sum % r.columns;
    const size_t first = (group * r.rows + first_row) * r.columns + column;
    if (columns == r.columns) {
      pass.run(*convert_, first, groups * rows * columns, kBlock, add);
    } else {
      for (size_t i = 0; i < rows; ++i)
        pass.run(*convert_, first + i * r.columns, columns, kBlock, add);
    }
  };

  const double work = static_cast<double>(pass.count()) * nanoseconds();
  const size_t per_group = div_up(r.columns, r.task_columns);
  parallel_for(useful_threads(threads_, work), r.tasks * r.slices, [&](size_t grain, size_t) {
    const size_t task = grain / r.slices, slice = grain % r.slices;
    const size_t group = task / per_group * r.task_groups;
    const size_t column = task % per_group * r.task_columns;
    const size_t columns = std::min(r.task_columns, r.columns - column);
    const size_t groups = std::min(r.task_groups, r.groups - group);
    const size_t row = slice * r.slice_rows;
    const size_t first_sum = group * r.columns + column;
    double totals[kMaxSums];
    double* to = r.slices > 1 ? partial + slice * r.sums + first_sum : totals;
    run_task(first_sum, columns, groups, row, std::min(r.slice_rows, r.rows - row), to);
    if (r.slices == 1) write(first_sum, columns * groups, totals);
  });
  if (r.slices == 1) return;
  for (size_t slice = 1; slice < r.slices; ++slice)
    for (size_t i = 0; i < r.sums; ++i) partial[i] += partial[slice * r.sums + i];
  write(0, r.sums, partial);
}

// ---- The whole ----

void ArithmeticOp::prepare(Scratch& scratch, uint32_t wanted, size_t samples) const {
  // A call has tensors of this size; what is reserved beforehand may be any number.
  const size_t elements = checked_mul(problem_.out.count, samples, "the elements of a batch");
  if (activation().is_along_axes()) {
    // g, and y in float if it is stored in another type.
    const size_t tensors = problem_.out.is_float() ? 1 : 2;
    const size_t size = checked_mul(elements, tensors, "the elements of a batch");
    if (scratch.g.size() < size) scratch.g = Array<float>(memory_, size);
  }
  size_t sums = 0;
  for (size_t k = 0; k < problem_.inputs(); ++k) {
    if ((wanted >> k & 1) == 0 || !is_reduced(k, samples)) continue;
    const Reduction r = plan_reduction(k, samples);
    if (r.slices > 1) sums = std::max(sums, r.slices * r.sums);
  }
  if (scratch.sums.size() < sums) scratch.sums = Array<double>(memory_, sums);
}

void ArithmeticOp::backward(const Gradients& given) {
  Gradients g = given;
  const size_t samples = g.dy.size;
  uint32_t wanted = 0, elements = 0;
  for (size_t k = 0; k < problem_.inputs(); ++k) {
    if (!g.in_delta[k]) continue;
    wanted |= 1u << k;
    if (!is_reduced(k, samples)) elements |= 1u << k;
  }
  const auto scratch = scratch_.take();
  prepare(*scratch, wanted, samples);

  const View packed_out = packed(problem_.out);
  if (activation().is_along_axes()) {
    float* memory = scratch->g.data();
    const Batch slope = packed_batch(packed_out, memory, samples);
    Batch y = g.out;
    if (!y.sample->is_float()) {
      y = packed_batch(packed_out, memory + packed_out.count * samples, samples);
      read_values(*convert_, whole(g.out), 0, packed_out.count * samples,
                  static_cast<float*>(y.data));
    }
    activation().multiply_by_slope(threads_, with_samples(y), with_samples(g.dy),
                                   with_samples(slope));
    g.dy = slope;
  }
  for (size_t k = 0; k < problem_.inputs(); ++k) {
    if ((wanted >> k & 1) == 0 || (elements >> k & 1) != 0) continue;
    bool accumulate = g.in_delta[k].accumulate;
    for (size_t j = 0; j < k; ++j) accumulate |= g.in_delta[j].data == g.in_delta[k].data;
    backward_reduced(g, k, accumulate, scratch->sums.data());
  }
  if (elements != 0) backward_elements(g, elements);
}

void ArithmeticOp::reserve(size_t batch, size_t callers) {
  const size_t samples = std::max<size_t>(1, problem_.samples(batch));
  scratch_.reserve(
      callers, [&](Scratch& scratch) { prepare(scratch, (1u << problem_.inputs()) - 1, samples); });
}

}  // namespace bnns::impl
