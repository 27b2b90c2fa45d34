// Runs the plan of a contraction: elements, or products and the copies of C that some need.
#include "ops/contraction/contraction.h"

#include <algorithm>
#include <array>
#include <utility>

#include "core/checked.h"
#include "core/parallel.h"
#include "ops/contraction/elements.h"
#include "ops/convert/blocks.h"

namespace bnns::impl {
namespace {

// Floats in whole cache lines.
size_t padded(size_t floats) {
  return div_up(floats, kAlignment / sizeof(float)) * (kAlignment / sizeof(float));
}

size_t longest(const ContractionAxes& axes) {
  size_t best = 0;
  for (size_t i = 1; i < axes.size(); ++i) best = axes[i].extent > axes[best].extent ? i : best;
  return best;
}

// The axes of C as a view, in the order of the list: elements pair up with dense copies.
View result_view(const ContractionAxes& axes, BNNSDataType type, void* data) {
  View view;
  view.data = data;
  view.type = type;
  view.rank = axes.size();
  for (size_t i = 0; i < axes.size(); ++i) {
    view.extent[i] = axes[i].extent;
    view.stride[i] = axes[i].stride[kResult];
  }
  view.count = axes.count();
  return collapsed(view);
}

}  // namespace

ContractionOp::ContractionOp(const GemmKernels& gemm, const ConvertKernels& convert, size_t threads,
                             const ContractionProblem& problem)
    : gemm_(&gemm), convert_(&convert), threads_(threads), plan_(problem) {
  if (plan_.form == ContractionForm::kMatrices)
    matrices_.emplace(gemm, threads, product(plan_.direct ? plan_.rows : plan_.block));
}

// Of one product, or of a block of its rows.
GemmProblem ContractionOp::product(size_t rows) const {
  const ContractionPlan& p = plan_;
  const size_t c_row = !p.direct ? p.columns : p.m.empty() ? p.columns : p.m[0].stride[kResult];
  return {.shape = {rows, p.columns, p.depth},
          .a = p.a,
          .b = p.b,
          .c_row = c_row,
          .epilogue = {.alpha = p.alpha}};
}

// Gathered products that are too small for several threads are computed several at a time.
bool ContractionOp::shares_products() const {
  return gemm_nanoseconds({plan_.rows, plan_.columns, plan_.depth}) < kSerialNanoseconds;
}

size_t ContractionOp::product_scratch() const {
  const ContractionPlan& p = plan_;
  const size_t rows = p.direct ? p.rows : p.block;
  const size_t copy = p.direct ? 0
                               : checked_mul(checked_mul(rows, p.columns, "a copy of the result"),
                                             p.group, "a copy of the result");
  const size_t count = p.outer.empty() ? 1 : 2;
  if (p.direct && matrices_) return padded(matrices_->scratch(count));
  const bool gathered = p.form == ContractionForm::kGathered;
  const size_t threads = gathered && shares_products() ? 1 : threads_;
  const GemmPacker packer = {};  // all packers make the same plan
  size_t most = 0;
  // The last block of rows may need more than a full one.
  for (const size_t m : {rows, p.rows % rows}) {
    if (m == 0) continue;
    GemmProblem problem = product(m);
    if (p.a_gathered) problem.a.packer = &packer;
    if (p.b_gathered) problem.b.packer = &packer;
    const GemmOp op(*gemm_, threads, problem);
    most = std::max(most, op.scratch(gathered ? 1 : count));
  }
  return padded(copy) + padded(most);
}

size_t ContractionOp::scratch() const {
  size_t floats = padded(plan_.alone_floats[kLeft]) + padded(plan_.alone_floats[kRight]);
  if (plan_.form == ContractionForm::kElements) return floats;
  const bool shared = plan_.form == ContractionForm::kGathered && shares_products();
  return floats + product_scratch() * (shared ? threads_ : 1);
}

void ContractionOp::run(const ContractionData& data, float* scratch) const {
  ContractionData d = data;
  if (plan_.swapped) std::swap(d.a, d.b);
  for (const ContractionTensor t : {kLeft, kRight}) {
    if (plan_.alone_floats[t] == 0) continue;
    ContractionAxes kept, summed;
    for (const ContractionAxis& axis : plan_.alone[t])
      (axis.in(kResult) ? kept : summed).push(axis);
    const BNNSDataType type[] = {plan_.alone_type[t], BNNSDataTypeFloat32, BNNSDataTypeFloat32};
    constexpr float kOne = 1;
    const void*& operand = t == kLeft ? d.a : d.b;
    contract_elements({.kept = kept, .summed = summed, .type = type, .alpha = 1}, threads_,
                      {.a = operand, .b = &kOne, .c = scratch});
    operand = scratch;
    scratch += padded(plan_.alone_floats[t]);
  }
  switch (plan_.form) {
    case ContractionForm::kElements:
      return contract_elements({plan_.kept, plan_.summed, plan_.type, plan_.alpha}, threads_, d);
    case ContractionForm::kMatrices:
      return run_matrices(d, scratch);
    case ContractionForm::kGathered:
      return run_gathered(d, scratch);
  }
}

// Values of C in a dense copy go to elements [first, first + n) of `axes`, at all places along the
// axes that only C has.
void ContractionOp::store(const ContractionAxes& axes, size_t first, size_t n, const float* values,
                          const ContractionOffsets& base, const ContractionData& data) const {
  constexpr size_t kGrain = 16384;
  const size_t threads = useful_threads(threads_, static_cast<double>(n));
  ContractionWalker repeat(plan_.repeat, 0, base);
  for (size_t r = plan_.repeat.count(); r > 0; --r, repeat.advance(1)) {
    char* to =
        static_cast<char*>(data.c) + repeat.at().of[kResult] * type_bytes(plan_.type[kResult]);
    const View view = result_view(axes, plan_.type[kResult], to);
    parallel_for(threads, div_up(n, kGrain), [&](size_t g, size_t) {
      const size_t begin = g * kGrain, count = std::min(kGrain, n - begin);
      if (!data.accumulate)
        return write_values(*convert_, view, first + begin, count, values + begin);
      const float* from = values + begin;
      for_blocks(*convert_, std::array{Operand{view, Operand::kUpdate}}, first + begin, count,
                 [&](const auto& rows, size_t m) {
                   for (size_t i = 0; i < m; ++i) rows[0][i] += from[i];
                   from += m;
                 });
    });
  }
}

// Products of the longest outer axis are a batch of ops/gemm, the other axes a loop around it.
void ContractionOp::run_matrices(const ContractionData& data, float* scratch) const {
  const ContractionPlan& p = plan_;
  ContractionAxes loops = p.outer;
  const ContractionAxis step =
      loops.empty() ? ContractionAxis{1, {0, 0, 0}} : loops.take(longest(loops));
  const size_t rows = p.direct ? p.rows : p.block, size = rows * p.columns;
  const GemmOp& op = *matrices_;
  const GemmSteps steps = {.a = step.stride[kLeft],
                           .b = step.stride[kRight],
                           .c = p.direct ? step.stride[kResult] : size};
  float* copy = scratch;
  float* memory = scratch + (p.direct ? 0 : padded(size * p.group));
  const size_t a_row = p.m.empty() ? 0 : p.m[0].stride[kLeft];

  ContractionAxes axes;  // of C, as the copy has them
  for (const ContractionAxes* list : {&p.n, &p.m}) {
    for (const ContractionAxis& axis : *list) axes.push(axis);
  }
  if (step.extent > 1) axes.push(step);

  ContractionWalker walker(loops, 0);
  for (size_t left = loops.count(); left > 0; --left, walker.advance(1)) {
    const ContractionOffsets& at = walker.at();
    GemmData d = {.a = moved(data.a, kLeft, at.of[kLeft]),
                  .b = moved(data.b, kRight, at.of[kRight])};
    if (p.direct) {
      d.c = static_cast<float*>(data.c) + at.of[kResult];
      d.accumulate = data.accumulate;
      op.run_batch(step.extent, steps, d, memory);
      continue;
    }
    d.c = copy;
    for (size_t i = 0; i < step.extent; i += p.group) {
      const size_t products = std::min(p.group, step.extent - i);
      const GemmData first = {
          .a = moved(d.a, kLeft, i * steps.a), .b = moved(d.b, kRight, i * steps.b), .c = copy};
      for (size_t row = 0; row < p.rows; row += rows) {
        const size_t m = std::min(rows, p.rows - row);
        GemmData part = first;
        part.a = moved(first.a, kLeft, row * a_row);
        if (m == rows)
          op.run_batch(products, steps, part, memory);
        else
          GemmOp(*gemm_, threads_, product(m)).run(part, memory);
        store(axes, (i * p.rows + row) * p.columns, products * m * p.columns, copy, at, data);
      }
    }
  }
}

// One product after the other, or several at a time if they are small.
void ContractionOp::run_gathered(const ContractionData& data, float* scratch) const {
  const ContractionPlan& p = plan_;
  const bool shared = shares_products();
  const size_t threads = shared ? 1 : threads_, products = p.outer.count();
  const size_t each = product_scratch();
  const size_t rows = p.direct ? p.rows : p.block;
  ContractionAxes axes;
  for (const ContractionAxes* list : {&p.n, &p.m}) {
    for (const ContractionAxis& axis : *list) axes.push(axis);
  }
  const auto run_one = [&](size_t i, float* memory) {
    const ContractionOffsets at = ContractionWalker(p.outer, i).at();
    const void* a = moved(data.a, kLeft, at.of[kLeft]);
    const void* b = moved(data.b, kRight, at.of[kRight]);
    float* copy = memory;
    if (!p.direct) memory += padded(rows * p.columns);
    for (size_t row = 0; row < p.rows; row += rows) {
      const size_t m = std::min(rows, p.rows - row);
      GemmProblem problem = product(m);
      const GatherContext gather_a = {p.m, p.k, kLeft, p.type[kLeft], gemm_->mr, row, a};
      const GatherContext gather_b = {p.n, p.k, kRight, p.type[kRight], gemm_->nr, 0, b};
      const GemmPacker pack_a = gather_packer(gather_a), pack_b = gather_packer(gather_b);
      if (p.a_gathered) problem.a.packer = &pack_a;
      if (p.b_gathered) problem.b.packer = &pack_b;
      GemmData d = {.a = a, .b = b, .c = copy};
      if (!p.a_gathered && !p.m.empty()) d.a = moved(a, kLeft, row * p.m[0].stride[kLeft]);
      if (p.direct) {
        d.c = static_cast<float*>(data.c) + at.of[kResult];
        d.accumulate = data.accumulate;
      }
      GemmOp(*gemm_, threads, problem).run(d, memory);
      if (!p.direct) store(axes, row * p.columns, m * p.columns, copy, at, data);
    }
  };
  if (!shared) {
    for (size_t i = 0; i < products; ++i) run_one(i, scratch);
    return;
  }
  const double work =
      static_cast<double>(products) * gemm_nanoseconds({p.rows, p.columns, p.depth});
  parallel_for(useful_threads(threads_, work), products,
               [&](size_t i, size_t worker) { run_one(i, scratch + worker * each); });
}

}  // namespace bnns::impl
