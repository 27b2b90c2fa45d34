// The states of a group, or of a block of neighbouring groups; see groups.h.
#include "ops/reduction/groups.h"

namespace bnns::impl {
namespace {

constexpr size_t kNarrow = 64;  // fewer columns: several rows of them are one row
// Rows and columns of a buffer that stays in the first-level cache.
constexpr size_t kGatherRows = 32, kGatherColumns = 128;

// Nanoseconds per element in the cache, by kind, where a kernel reads it; and with conversion or
// weights.
constexpr double kCost[kReduceKinds] = {0.06, 0.06, 0.06, 0.5, 0.08, 0.1, 0.1, 0.3, 0.3, 1.5, 0.5};
constexpr double kGatherCost = 0.4;

bool is_arg(ReduceKind kind) {
  return kind == ReduceKind::kArgMax || kind == ReduceKind::kArgMin;
}

}  // namespace

ReducePlan::ReducePlan(const ReduceProblem& problem) {
  const bool arg = problem.info->function <= BNNSReduceFunctionArgMin;
  const ReduceAxes axes = collapsed(problem.axes);
  for (size_t k = 0; k < axes.rank(); ++k)
    (axes[k].reduced ? reduced : kept).push_collapsed(axes[k]);
  for (const size_t tensor : {kReduceX, kReduceW, kReduceDx, kReduceDw})
    group[tensor] = view_of(reduced, tensor);
  length = reduced.count();
  // Where the order of indices is not that of memory, positions are compared one by one.
  across = axes.rank() > 0 && !axes[0].reduced && !(arg && problem.reversed != 0);
  direct = problem.tensor[kReduceX].type == BNNSDataTypeFloat32 && !problem.weighted;
  if (!across) {
    direct = direct && group[kReduceX].rank == 1 && group[kReduceX].stride[0] == 1 &&
             !(arg && problem.reversed != 0);
    const size_t wanted = div_up(length, kReduceGrain / 2);
    parts = groups() > kMaxReduceParts ? 1 : std::min(wanted, kMaxReduceParts / groups());
  } else {
    direct = direct && kept[0].stride[kReduceX] == 1;
    // Exponentials pass over a tile twice, so that it should stay in the first-level cache.
    const bool tiles = !direct || problem.info->kind == ReduceKind::kLogSumExp;
    const size_t most = tiles ? kGatherColumns : kReduceColumns;
    set_width(most);
    const size_t rows = div_up(8 * kReduceGrain, width);  // joining parts costs time, too
    parts = all_blocks() >= kManyReduceBlocks
                ? 1
                : std::min(div_up(length, rows), 2 * kManyReduceBlocks / all_blocks());
  }
  part_length = div_up(length, parts);
  parts = div_up(length, part_length);
}

double ReduceGroups::nanoseconds() const {
  const double each = kCost[static_cast<size_t>(kind_)] + (plan_.direct ? 0 : kGatherCost);
  return each * static_cast<double>(plan_.groups()) * static_cast<double>(plan_.length);
}

size_t ReduceGroups::index_of(size_t position) const {
  if (problem_.reversed == 0) return position;
  size_t index = 0, step = 1;
  for (size_t k = 0; k < problem_.axes.rank(); ++k) {
    const auto& axis = problem_.axes[k];
    if (!axis.reduced) continue;
    const size_t i = position % axis.extent;
    position /= axis.extent;
    index += ((problem_.reversed >> k & 1) != 0 ? axis.extent - 1 - i : i) * step;
    step *= axis.extent;
  }
  return index;
}

// ---- Along ----

// u are elements [first, first + n) of a group.
ReduceState ReduceGroups::row_state(const float* u, size_t n, size_t first) const {
  ReduceState s = empty_state(kind_);
  if (is_arg(kind_) && problem_.reversed != 0) {
    for (size_t i = 0; i < n; ++i)
      s = joined(kind_, s, {double{u[i]}, static_cast<double>(index_of(first + i))});
    return s;
  }
  for (size_t i = 0; i < n; i += kReduceRow) {
    const size_t m = std::min(kReduceRow, n - i);
    ReduceState part = run_.kernels->row[static_cast<size_t>(kind_)](u + i, m, problem_.epsilon);
    if (is_arg(kind_)) part.b += static_cast<double>(first + i);
    s = n <= kReduceRow ? part : joined(kind_, s, part);
  }
  return s;
}

ReduceState ReduceGroups::state(const ReduceOffsets& at, size_t first, size_t n) const {
  if (plan_.direct) {
    const auto* x = static_cast<const float*>(problem_.tensor[kReduceX].data) + at[kReduceX];
    return row_state(x + first, n, first);
  }
  const ReduceKernels& kernels = *run_.kernels;
  ReduceState s = empty_state(kind_);
  if (!problem_.weighted) {
    for_blocks(*run_.convert, std::array{Operand{view_at(kReduceX, at), Operand::kRead}}, first, n,
               [&](std::array<float*, 1> rows, size_t m) {
                 s = joined(kind_, s, row_state(rows[0], m, first));
                 first += m;
               });
    return s;
  }
  const std::array<Operand, 2> operands = {Operand{view_at(kReduceX, at), Operand::kRead},
                                           Operand{view_at(kReduceW, at), Operand::kRead}};
  alignas(64) float u[kBlock];
  for_blocks(*run_.convert, operands, first, n, [&](std::array<float*, 2> rows, size_t total) {
    for (size_t i = 0; i < total; i += kBlock) {
      const size_t m = std::min(kBlock, total - i);
      const float *x = rows[0] + i, *w = rows[1] + i;
      (counts() ? kernels.weigh_nonzero : kernels.weigh)(x, w, u, m);
      ReduceState part = row_state(u, m, first);
      if (counts()) part.b = kernels.row[static_cast<size_t>(ReduceKind::kCount)](w, m, 0).a;
      s = joined(kind_, s, part);
      first += m;
    }
  });
  return s;
}

// Squares of floats may overflow or vanish where the norm does not. Then they are summed again, in
// double.
ReduceState ReduceGroups::exact_squares(ReduceState s, const ReduceOffsets& at) const {
  if (s.a >= 1e-24 && s.a <= 1e38) return s;
  const View x = view_at(kReduceX, at), w = problem_.weighted ? view_at(kReduceW, at) : x;
  const std::array<Operand, 2> operands = {Operand{x, Operand::kRead}, Operand{w, Operand::kRead}};
  s.a = 0;
  for_blocks(*run_.convert, operands, 0, plan_.length, [&](std::array<float*, 2> rows, size_t n) {
    for (size_t i = 0; i < n; ++i) {
      const double u = problem_.weighted ? double{rows[0][i]} * double{rows[1][i]} : rows[0][i];
      s.a += u * u;
    }
  });
  return s;
}

// ---- Across ----

namespace {

// Adds the states of n groups over some rows, of which the first has the index `first`.
template <class Columns>
void join_columns(ReduceKind kind, const float* a, const float* b, size_t n, size_t first,
                  Columns& to) {
  if (is_sum(kind)) {
    for (size_t i = 0; i < n; ++i) to.a[i] += double{a[i]};
    return;
  }
  const double base = is_arg(kind) ? static_cast<double>(first) : 0;
  for (size_t i = 0; i < n; ++i) {
    const ReduceState s = joined(kind, {to.a[i], to.b[i]}, {double{a[i]}, base + double{b[i]}});
    to.a[i] = s.a;
    to.b[i] = s.b;
  }
}

}  // namespace

void ReduceGroups::direct_rows(const float* x, size_t stride, size_t rows, size_t n, size_t first,
                               Columns& to) const {
  alignas(64) float a[kReduceColumns + 64], b[kReduceColumns + 64];
  const size_t most = kind_ == ReduceKind::kLogSumExp ? 2 * kGatherRows : kReduceTileRows;
  for (size_t r = 0; r < rows; r += most) {
    run_.kernels->columns[static_cast<size_t>(kind_)](
        x + r * stride, stride, std::min(most, rows - r), n, problem_.epsilon, a, b);
    join_columns(kind_, a, b, n, first + r, to);
  }
}

// Rows of a few columns that follow each other without gaps: k of them are one row of k * n
// columns, whose states are joined at the end.
void ReduceGroups::narrow_rows(const float* x, size_t rows, size_t n, size_t first,
                               Columns& to) const {
  alignas(64) float a[kReduceColumns + 64], b[kReduceColumns + 64];
  const size_t k = std::min(rows, 4 * kNarrow / n), wide = rows / k;
  // `tile` wide rows from row r on, with m rows in each.
  const auto add = [&](size_t r, size_t tile, size_t m) {
    run_.kernels->columns[static_cast<size_t>(kind_)](x + r * n, k * n, tile, m * n,
                                                      problem_.epsilon, a, b);
    if (is_arg(kind_))
      for (size_t i = 0; i < m * n; ++i) b[i] *= static_cast<float>(k);
    for (size_t j = 0; j < m; ++j) join_columns(kind_, a + j * n, b + j * n, n, first + r + j, to);
  };
  for (size_t r = 0; r < wide; r += kReduceTileRows)
    add(r * k, std::min(kReduceTileRows, wide - r), k);
  if (rows % k != 0) add(wide * k, 1, rows % k);
}

void ReduceGroups::gathered_rows(const ReduceOffsets& start, size_t n, size_t first, size_t rows,
                                 Columns& to) const {
  alignas(64) float tile[kGatherRows * kGatherColumns], buffer[2][kGatherColumns];
  alignas(64) float a[kReduceColumns + 64], b[kReduceColumns + 64];
  const ReduceKernels& kernels = *run_.kernels;
  const size_t kind = static_cast<size_t>(kind_), count = static_cast<size_t>(ReduceKind::kCount);
  ReduceRow x(run_, problem_, plan_, kReduceX, n), w(run_, problem_, plan_, kReduceW, n);
  const bool with_counts = counts();
  AxesWalker walker(plan_.reduced, first);
  for (size_t r = 0; r < rows; r += kGatherRows) {
    const size_t m = std::min(kGatherRows, rows - r);
    for (size_t j = 0; j < m; ++j, walker.advance(1)) {
      const ReduceOffsets& at = walker.offsets();
      float* u = tile + j * kGatherColumns;
      const float* values =
          x.get(start[kReduceX] + at[kReduceX], problem_.weighted ? buffer[0] : u);
      if (!problem_.weighted) {
        if (values != u) std::copy_n(values, n, u);
        continue;
      }
      const float* weights = w.get(start[kReduceW] + at[kReduceW], buffer[1]);
      (with_counts ? kernels.weigh_nonzero : kernels.weigh)(values, weights, u, n);
      if (!with_counts) continue;
      kernels.columns[count](weights, 0, 1, n, 0, a, b);
      for (size_t i = 0; i < n; ++i) to.b[i] += double{a[i]};
    }
    kernels.columns[kind](tile, kGatherColumns, m, n, problem_.epsilon, a, b);
    join_columns(kind_, a, b, n, first + r, to);
  }
}

void ReduceGroups::block(const ReduceOffsets& at, size_t n, size_t first, size_t rows,
                         Columns& to) const {
  const ReduceState empty = empty_state(kind_);
  for (size_t i = 0; i < n; ++i) {
    to.a[i] = empty.a;
    to.b[i] = empty.b;
  }
  if (!plan_.direct) return gathered_rows(at, n, first, rows, to);
  const auto* x = static_cast<const float*>(problem_.tensor[kReduceX].data) + at[kReduceX];
  AxesWalker walker(plan_.reduced, first);
  while (rows > 0) {
    const size_t m = std::min(rows, walker.run());
    const size_t stride =
        plan_.reduced.rank() == 0 ? 0 : static_cast<size_t>(plan_.reduced[0].stride[kReduceX]);
    const float* tile = x + walker.offsets()[kReduceX];
    if (n < kNarrow && stride == n && m > 1)
      narrow_rows(tile, m, n, first, to);
    else
      direct_rows(tile, stride, m, n, first, to);
    walker.advance(m);
    first += m;
    rows -= m;
  }
}

}  // namespace bnns::impl
