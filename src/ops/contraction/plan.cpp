#include "ops/contraction/plan.h"

#include <algorithm>
#include <utility>

#include "core/checked.h"

namespace bnns::impl {
namespace {

// Products of fewer multiplications are left to the loop nest: those of matrices cost some 30 ns
// each besides their arithmetic, gathered ones some 500 ns.
constexpr double kTinyProduct = 16, kSmallGathered = 4096;
// A copy of C: 1 MB, but at least so many rows that packing B again for each block is not felt.
constexpr size_t kCopyFloats = size_t{1} << 18, kCopyRows = 256;
// Columns of C should be contiguous, unless there are only few in a row.
constexpr size_t kFewColumns = 8;

bool same_tensors(const ContractionAxis& x, const ContractionAxis& y) {
  return x.in(kLeft) == y.in(kLeft) && x.in(kRight) == y.in(kRight) &&
         x.in(kResult) == y.in(kResult);
}

// Whether y continues x in all tensors, so that one axis can stand for both.
bool continues(const ContractionAxis& x, const ContractionAxis& y) {
  bool line = same_tensors(x, y);
  for (size_t t = 0; t < kContractionTensors; ++t) line &= y.stride[t] == x.stride[t] * x.extent;
  return line;
}

ContractionAxes collapsed(const ContractionAxes& from) {
  ContractionAxes axes;
  for (const ContractionAxis& axis : from) {
    if (axis.extent > 1) axes.push(axis);
  }
  for (size_t i = 0; i < axes.size();) {
    size_t j = 0;
    while (j < axes.size() && (i == j || !continues(axes[i], axes[j]))) ++j;
    if (j == axes.size()) {
      ++i;
      continue;
    }
    axes[i].extent *= axes[j].extent;
    axes.take(j);
    i = 0;
  }
  return axes;
}

void sort_by_stride(ContractionAxes& axes, ContractionTensor t) {
  std::sort(axes.begin(), axes.end(), [t](const ContractionAxis& x, const ContractionAxis& y) {
    return x.stride[t] < y.stride[t];
  });
}

// The longest axis that `accepts` likes; axes.size() if there is none.
template <class Accepts>
size_t longest(const ContractionAxes& axes, const Accepts& accepts) {
  size_t best = axes.size();
  for (size_t i = 0; i < axes.size(); ++i) {
    if (accepts(axes[i]) && (best == axes.size() || axes[i].extent > axes[best].extent)) best = i;
  }
  return best;
}

double count_of(const ContractionAxes& axes) {
  double n = 1;
  for (const ContractionAxis& axis : axes) n *= static_cast<double>(axis.extent);
  return n;
}

// Everything that is counted later is a part of one of these two numbers. Inputs whose elements
// overlap, and a batch that memory is reserved for, may be larger than any memory.
void require_countable(const ContractionAxes& axes) {
  constexpr double kMost = 0x1p58;
  require(count_of(axes) <= kMost, "the operation counts ", count_of(axes),
          " elements; that is more than an address space");
}

double elements_of(const ContractionAxes& axes, ContractionTensor t) {
  double n = 1;
  for (const ContractionAxis& axis : axes) n *= axis.in(t) ? static_cast<double>(axis.extent) : 1;
  return n;
}

// Leaves axis `keep` in the list and moves the others to `rest`.
void keep_only(ContractionAxes& axes, size_t keep, ContractionAxes& rest) {
  for (size_t i = axes.size(); i-- > 0;) {
    if (i != keep) rest.push(axes.take(i));
  }
}

// An operand as a matrix with lines (rows of A, columns of B) along `line` and depth along `k`,
// each of which may be missing. `beside`: what GemmOperand::transposed is if lines lie beside each
// other.
bool as_matrix(const ContractionAxes& line, const ContractionAxes& k, ContractionTensor t,
               bool beside, GemmOperand& operand) {
  if (line.size() > 1 || k.size() > 1) return false;
  const size_t to_line = line.empty() ? 1 : line[0].stride[t];
  const size_t to_k = k.empty() ? 1 : k[0].stride[t];
  if (to_k == 1 && !(to_line == 1 && !line.empty())) {
    operand.row = to_line;
    operand.transposed = !beside;
    return true;
  }
  operand.row = to_k;
  operand.transposed = beside;
  return to_line == 1;
}

}  // namespace

ContractionPlan::ContractionPlan(const ContractionProblem& problem) : alpha(problem.alpha) {
  std::copy(problem.type, problem.type + kContractionTensors, type);
  const ContractionAxes axes = collapsed(problem.axes);
  ContractionAxes batch, lone[2];
  for (const ContractionAxis& axis : axes) {
    const bool a = axis.in(kLeft), b = axis.in(kRight);
    if (axis.in(kResult)) {
      (a ? (b ? batch : m) : (b ? n : repeat)).push(axis);
      kept.push(axis);
    } else {
      (a ? (b ? k : lone[kLeft]) : lone[kRight]).push(axis);
      summed.push(axis);
    }
  }
  require_countable(kept);
  require_countable(summed);
  sort_by_stride(kept, kResult);
  sort_by_stride(summed, kLeft);
  form = ContractionForm::kElements;
  if (!lone[kLeft].empty() || !lone[kRight].empty()) {
    // Summing an operand first pays if its sum would be computed many times.
    const double work = count_of(kept) * count_of(summed);
    if (work <= 4 * (elements_of(axes, kLeft) + elements_of(axes, kRight) + count_of(kept))) return;
    if (!lone[kLeft].empty()) sum_alone(kLeft, lone[kLeft], batch);
    if (!lone[kRight].empty()) sum_alone(kRight, lone[kRight], batch);
    summed = k;
    kept = ContractionAxes();
    for (const ContractionAxes* list : {&m, &n, &batch, &repeat}) {
      for (const ContractionAxis& axis : *list) kept.push(axis);
    }
    sort_by_stride(kept, kResult);
    sort_by_stride(summed, kLeft);
  }
  if (k.empty() && (m.empty() || n.empty())) return;
  choose(batch);
}

// The sum lies dense: depth first, then lines, then the batch.
void ContractionPlan::sum_alone(ContractionTensor t, const ContractionAxes& lone,
                                ContractionAxes& batch) {
  size_t dense = 1;
  for (ContractionAxes* list : {&k, t == kLeft ? &m : &n, &batch}) {
    for (ContractionAxis& axis : *list) {
      alone[t].push({axis.extent, {axis.stride[t], 0, dense}});
      axis.stride[t] = dense;
      dense = checked_mul(dense, axis.extent, "the sums of an operand");
    }
  }
  for (const ContractionAxis& axis : lone) alone[t].push({axis.extent, {axis.stride[t], 0, 0}});
  alone_floats[t] = dense;
  alone_type[t] = std::exchange(type[t], BNNSDataTypeFloat32);
}

void ContractionPlan::swap_operands(ContractionAxes& batch) {
  for (ContractionAxes* list : {&m, &n, &k, &batch, &kept, &summed}) {
    for (ContractionAxis& axis : *list) std::swap(axis.stride[kLeft], axis.stride[kRight]);
  }
  std::swap(m, n);
  std::swap(type[kLeft], type[kRight]);
  std::swap(alone[kLeft], alone[kRight]);
  std::swap(alone_floats[kLeft], alone_floats[kRight]);
  std::swap(alone_type[kLeft], alone_type[kRight]);
  swapped = !swapped;
}

void ContractionPlan::choose(ContractionAxes& batch) {
  const auto contiguous = [](const ContractionAxis& axis) { return axis.stride[kResult] == 1; };
  const auto any = [](const ContractionAxis&) { return true; };
  const bool in_n = longest(n, contiguous) < n.size(), in_m = longest(m, contiguous) < m.size();
  if (n.empty() || (in_m && !in_n)) swap_operands(batch);

  // One axis each of rows, columns and depth, so that A and B are matrices where they lie.
  ContractionAxes one_m = m, one_n = n, rest = batch;
  size_t column = longest(n, contiguous);
  const size_t largest = longest(n, any);
  if (column == n.size() || n[column].extent < std::min(kFewColumns, n[largest].extent))
    column = largest;
  keep_only(one_n, column, rest);
  const bool unit_k = k.empty() || k[0].stride[kLeft] == 1;
  const size_t row =
      longest(m, [&](const ContractionAxis& axis) { return unit_k || axis.stride[kLeft] == 1; });
  keep_only(one_m, row < m.size() ? row : longest(m, any), rest);
  a.type = type[kLeft];
  b.type = type[kRight];
  const bool a_lies = as_matrix(one_m, k, kLeft, true, a);
  const bool b_lies = as_matrix(one_n, k, kRight, false, b);

  const double one = count_of(one_m) * count_of(one_n) * count_of(k);
  const double all = count_of(m) * count_of(n) * count_of(k);
  const bool worth_more = one < kSmallGathered && all > kSmallGathered;
  if (a_lies && b_lies && !worth_more) {
    if (one <= kTinyProduct) return;
    form = ContractionForm::kMatrices;
    m = one_m;
    n = one_n;
    outer = rest;
  } else {
    if (all <= kSmallGathered) return;
    form = ContractionForm::kGathered;
    outer = batch;
    sort_by_stride(m, kResult);
    sort_by_stride(n, kResult);
    a_gathered = !as_matrix(m, k, kLeft, true, a);
    b_gathered = !as_matrix(n, k, kRight, false, b);
  }
  sort_by_stride(outer, kResult);
  rows = m.count();
  columns = n.count();
  depth = k.count();
  direct = type[kResult] == BNNSDataTypeFloat32 && repeat.empty() && m.size() <= 1 &&
           n.size() <= 1 && (n.empty() || n[0].stride[kResult] == 1);
  if (direct) return;
  block = std::min(rows, std::max(kCopyRows, kCopyFloats / columns));
  if (form == ContractionForm::kMatrices && block == rows) {
    const size_t products = outer.empty() ? 1 : outer[longest(outer, any)].extent;
    group = std::clamp<size_t>(kCopyFloats / (rows * columns), 1, products);
  }
}

}  // namespace bnns::impl
