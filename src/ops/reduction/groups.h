// The states of all groups of a problem. "Along" means that the fastest axis belongs to the group,
// whose elements are a view. "Across" means that the fastest axis counts groups: vectors then run
// over a block of neighbouring groups, whose elements are rows.
#pragma once

#include <algorithm>
#include <array>

#include "core/checked.h"
#include "core/parallel.h"
#include "ops/convert/blocks.h"
#include "ops/convert/single_value.h"
#include "ops/reduction/states.h"

namespace bnns::impl {

using ReduceOffsets = OffsetsOf<kReduceTensors>;

constexpr size_t kReduceGrain = 32768;    // elements of a grain, where a group is smaller
constexpr size_t kMaxReduceParts = 256;   // of all groups, along
constexpr size_t kManyReduceBlocks = 16;  // that many blocks of groups need not be cut into parts
constexpr size_t kMinReducePart = 256;    // elements of a part, at least

// How a problem is cut. It depends on the problem alone, so that the order of sums does too.
struct ReducePlan {
  explicit ReducePlan(const ReduceProblem& problem);

  ReduceAxes kept, reduced;           // collapsed
  View group[kReduceTensors];         // the elements of a group; not of y
  size_t length = 1;                  // elements of a group
  size_t parts = 1, part_length = 1;  // a few large groups are cut into parts
  bool across = false;
  bool direct = false;  // x is read where it lies: contiguous Float32 without weights
  size_t width = 1;     // neighbouring groups of a block
  size_t blocks = 1;    // blocks along the fastest axis

  void set_width(size_t most) {
    width = std::min(kept[0].extent, most);
    blocks = div_up(kept[0].extent, width);
  }
  size_t groups() const { return kept.count(); }
  // Block `index` of all: its first group and the number of its groups.
  size_t first_group(size_t index) const {
    return index / blocks * kept[0].extent + index % blocks * width;
  }
  size_t block_groups(size_t index) const {
    return std::min(width, kept[0].extent - index % blocks * width);
  }
  size_t all_blocks() const { return groups() / kept[0].extent * blocks; }
};

// Reads rows of one tensor as floats, across groups.
class ReduceRow {
 public:
  ReduceRow(const ReduceRun& run, const ReduceProblem& problem, const ReducePlan& plan,
            size_t tensor, size_t n)
      : run_(run), tensor_(problem.tensor[tensor]) {
    view_.type = tensor_.type;
    view_.rank = 1;
    view_.extent[0] = view_.count = n;
    view_.stride[0] = static_cast<size_t>(plan.kept[0].stride[tensor]);
    direct_ = view_.is_float() && (view_.stride[0] == 1 || n == 1);
  }

  // The row at this offset: in memory, or in `buffer`, which is filled if `read`.
  float* get(ptrdiff_t offset, float* buffer, bool read = true) {
    view_.data = shifted(tensor_, offset);
    if (direct_) return static_cast<float*>(view_.data);
    if (read) read_values(*run_.convert, view_, 0, view_.count, buffer);
    return buffer;
  }
  // Writes the buffer that the last get() returned.
  void put(const float* buffer) {
    if (!direct_) write_values(*run_.convert, view_, 0, view_.count, buffer);
  }

 private:
  const ReduceRun& run_;
  const AxesTensor& tensor_;
  View view_;
  bool direct_;
};

class ReduceGroups {
 public:
  ReduceGroups(const ReduceRun& run, const ReduceProblem& problem, const ReducePlan& plan,
               ReduceKind kind)
      : run_(run), problem_(problem), plan_(plan), kind_(kind) {}

  // Calls finish(group, offsets, state) for every group. `partial` has room for groups * parts
  // states if there are several parts.
  template <class Finish>
  void run(ReduceState* partial, const Finish& finish) const;

  // The view of one tensor of a group.
  View view_at(size_t tensor, const ReduceOffsets& at) const {
    View view = plan_.group[tensor];
    view.data = shifted(problem_.tensor[tensor], at[tensor]);
    view.type = problem_.tensor[tensor].type;
    return view;
  }
  // The position in memory order of an element with this index in the group, and the reverse.
  size_t index_of(size_t position) const;
  double nanoseconds() const;

 private:
  struct Columns {
    alignas(64) double a[kReduceColumns], b[kReduceColumns];
  };

  bool counts() const {
    return problem_.weighted && problem_.info->function == BNNSReduceFunctionMeanNonZero;
  }
  ReduceState state(const ReduceOffsets& at, size_t first, size_t n) const;
  ReduceState row_state(const float* u, size_t n, size_t first) const;
  ReduceState exact_squares(ReduceState s, const ReduceOffsets& at) const;
  void block(const ReduceOffsets& at, size_t n, size_t first, size_t rows, Columns& to) const;
  void direct_rows(const float* x, size_t stride, size_t rows, size_t n, size_t first,
                   Columns& to) const;
  void narrow_rows(const float* x, size_t rows, size_t n, size_t first, Columns& to) const;
  void gathered_rows(const ReduceOffsets& at, size_t n, size_t first, size_t rows,
                     Columns& to) const;

  template <class Finish>
  void finish_group(size_t group, const ReduceOffsets& at, ReduceState s,
                    const Finish& finish) const {
    if (problem_.info->function == BNNSReduceFunctionL2Norm) s = exact_squares(s, at);
    finish(group, at, s);
  }
  template <class Finish>
  void run_along(size_t threads, ReduceState* partial, const Finish& finish) const;
  template <class Finish>
  void run_across(size_t threads, ReduceState* partial, const Finish& finish) const;
  template <class Finish>
  void join_parts(const ReduceState* partial, const Finish& finish) const;

  const ReduceRun& run_;
  const ReduceProblem& problem_;
  const ReducePlan& plan_;
  ReduceKind kind_;
};

template <class Finish>
void ReduceGroups::run(ReduceState* partial, const Finish& finish) const {
  const size_t threads = useful_threads(run_.threads, nanoseconds());
  if (plan_.across)
    run_across(threads, partial, finish);
  else
    run_along(threads, partial, finish);
}

// Part p of group g is partial[p * groups + g].
template <class Finish>
void ReduceGroups::join_parts(const ReduceState* partial, const Finish& finish) const {
  const size_t groups = plan_.groups();
  AxesWalker walker(plan_.kept, 0);
  for (size_t g = 0; g < groups; ++g, walker.advance(1)) {
    ReduceState s = partial[g];
    for (size_t p = 1; p < plan_.parts; ++p) s = joined(kind_, s, partial[p * groups + g]);
    finish_group(g, walker.offsets(), s, finish);
  }
}

template <class Finish>
void ReduceGroups::run_along(size_t threads, ReduceState* partial, const Finish& finish) const {
  if (plan_.parts > 1) {
    parallel_for(threads, plan_.groups() * plan_.parts, [&](size_t task, size_t) {
      const size_t first = task % plan_.parts * plan_.part_length;
      const size_t group = task / plan_.parts;
      partial[task % plan_.parts * plan_.groups() + group] =
          state(plan_.kept.at(group), first, std::min(plan_.part_length, plan_.length - first));
    });
    return join_parts(partial, finish);
  }
  const size_t grain = std::max<size_t>(1, kReduceGrain / plan_.length);
  parallel_for(threads, div_up(plan_.groups(), grain), [&](size_t task, size_t) {
    const size_t first = task * grain, end = std::min(plan_.groups(), first + grain);
    AxesWalker walker(plan_.kept, first);
    for (size_t g = first; g < end; ++g, walker.advance(1)) {
      const ReduceOffsets& at = walker.offsets();
      finish_group(g, at, state(at, 0, plan_.length), finish);
    }
  });
}

template <class Finish>
void ReduceGroups::run_across(size_t threads, ReduceState* partial, const Finish& finish) const {
  const size_t parts = plan_.parts;
  parallel_for(threads, plan_.all_blocks() * parts, [&](size_t task, size_t) {
    const size_t group = plan_.first_group(task / parts), n = plan_.block_groups(task / parts);
    const size_t first = task % parts * plan_.part_length;
    ReduceOffsets at = plan_.kept.at(group);
    Columns columns;
    block(at, n, first, std::min(plan_.part_length, plan_.length - first), columns);
    if (parts > 1) {
      ReduceState* to = partial + task % parts * plan_.groups() + group;
      for (size_t i = 0; i < n; ++i) to[i] = {columns.a[i], columns.b[i]};
      return;
    }
    for (size_t i = 0; i < n; ++i) {
      finish_group(group + i, at, {columns.a[i], columns.b[i]}, finish);
      for (const size_t t : {kReduceX, kReduceW, kReduceY}) at[t] += plan_.kept[0].stride[t];
    }
  });
  if (parts > 1) join_parts(partial, finish);
}

}  // namespace bnns::impl
