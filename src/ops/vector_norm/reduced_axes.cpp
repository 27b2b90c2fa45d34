// The loops over groups of vector_norm.h. "Along" means that the fastest axis belongs to the group,
// whose elements are a view. "Across" means that the fastest axis counts groups: vectors then run
// over neighbouring groups, and a block of groups is computed together.
#include <algorithm>
#include <array>
#include <cmath>

#include "core/checked.h"
#include "core/parallel.h"
#include "ops/convert/blocks.h"
#include "ops/convert/single_value.h"
#include "ops/vector_norm/vector_norm.h"

namespace bnns::impl {
namespace {

constexpr size_t kGrain = 16384;
constexpr size_t kMaxPartials = 256;
constexpr double kNanoseconds = 0.3;

struct Plan {
  explicit Plan(const Axes& all) {
    const Axes axes = collapsed(all);
    Axes reduced;
    for (size_t k = 0; k < axes.rank(); ++k)
      (axes[k].reduced ? reduced : kept).push_collapsed(axes[k]);
    across = axes.rank() > 0 && !axes[0].reduced;
    for (const size_t tensor : {kNormX, kNormY}) group[tensor] = view_of(reduced, tensor);
    length = reduced.count();
    // The number of parts fixes the order of the sums, so it depends on the problem alone.
    const size_t wanted = div_up(length, kGrain);
    parts = groups() > kMaxPartials ? 1 : std::min(wanted, kMaxPartials / groups());
    part_length = div_up(length, parts);
    parts = div_up(length, part_length);
  }

  size_t groups() const { return kept.count(); }

  Axes kept;
  View group[2];                      // the elements of a group in x and in y
  size_t length = 1;                  // elements of a group
  size_t parts = 1, part_length = 1;  // a few large groups are cut into parts
  bool across = false;
};

// The steps of every group: compute its sum of squares (if `sums`); factor = finish(sum, offset of
// the group's value); y = or += factor * x (if `scales`).
struct Job {
  const NormRun& run;
  const Plan& plan;
  AxesTensor x, y;
  bool sums = false, scales = false, accumulate = false;

  View view_at(size_t tensor, const AxesOffsets& at) const {
    View view = plan.group[tensor];
    const AxesTensor& from = tensor == kNormX ? x : y;
    view.data = shifted(from, at[tensor]);
    view.type = from.type;
    return view;
  }
  double sum(const AxesOffsets& at, size_t first, size_t n) const {
    return sum_squares_of_part(run, view_at(kNormX, at), first, n);
  }
  void scale(const AxesOffsets& at, double factor, size_t first, size_t n) const {
    if (factor == 1 && x.data == y.data && !accumulate) return;
    scale_part(run, factor, view_at(kNormX, at), view_at(kNormY, at), first, n, accumulate);
  }
  size_t threads() const {
    const auto count = static_cast<double>(plan.groups() * plan.length);
    return useful_threads(run.threads, kNanoseconds * count);
  }
};

template <class Finish>
void run_groups_along(const Job& job, const Finish& finish) {
  const Plan& plan = job.plan;
  const size_t grain = std::max<size_t>(1, kGrain / plan.length);
  parallel_for(job.threads(), div_up(plan.groups(), grain), [&](size_t g, size_t) {
    const size_t end = std::min(plan.groups(), (g + 1) * grain);
    for (size_t s = g * grain; s < end; ++s) {
      const AxesOffsets at = plan.kept.at(s);
      const double factor = finish(job.sums ? job.sum(at, 0, plan.length) : 0, at[kNormValues]);
      if (job.scales) job.scale(at, factor, 0, plan.length);
    }
  });
}

// Calls body(group, index of the part over all groups, its first element, number of elements) for
// every part.
template <class Body>
void for_parts(const Job& job, const Body& body) {
  const Plan& plan = job.plan;
  parallel_for(job.threads(), plan.groups() * plan.parts, [&](size_t task, size_t) {
    const size_t first = task % plan.parts * plan.part_length;
    body(task / plan.parts, task, first, std::min(plan.part_length, plan.length - first));
  });
}

template <class Finish>
void run_parts_along(const Job& job, const Finish& finish) {
  const Plan& plan = job.plan;
  double partials[kMaxPartials] = {};
  if (job.sums) {
    for_parts(job, [&](size_t group, size_t task, size_t first, size_t n) {
      partials[task] = job.sum(plan.kept.at(group), first, n);
    });
  }
  double factors[kMaxPartials];
  for (size_t s = 0; s < plan.groups(); ++s) {
    double sum = 0;
    for (size_t p = 0; p < plan.parts; ++p) sum += partials[s * plan.parts + p];
    factors[s] = finish(sum, plan.kept.at(s)[kNormValues]);
  }
  if (!job.scales) return;
  for_parts(job, [&](size_t group, size_t, size_t first, size_t n) {
    job.scale(plan.kept.at(group), factors[group], first, n);
  });
}

// Reads and writes rows of floats whose elements belong to neighbouring groups: row r has the r-th
// element of each group.
class RowAcross {
 public:
  RowAcross(const Job& job, size_t tensor, const AxesOffsets& at, size_t n)
      : job_(job),
        tensor_(tensor == kNormX ? job.x : job.y),
        start_(at[tensor]),
        walker_(job.plan.group[tensor], 0) {
    row_.type = tensor_.type;
    row_.rank = 1;
    row_.extent[0] = row_.count = n;
    row_.stride[0] = static_cast<size_t>(job.plan.kept[0].stride[tensor]);
    direct_ = row_.is_float() && row_.stride[0] == 1;
  }

  float* get(bool read) {
    row_.data = shifted(tensor_, start_ + static_cast<ptrdiff_t>(walker_.offset()));
    if (direct_) return static_cast<float*>(row_.data);
    if (read) read_values(*job_.run.convert, row_, 0, row_.count, buffer_);
    return buffer_;
  }
  void put() {
    if (!direct_) write_values(*job_.run.convert, row_, 0, row_.count, buffer_);
  }
  void next() { walker_.advance(1); }

 private:
  const Job& job_;
  const AxesTensor& tensor_;
  ptrdiff_t start_;
  Walker walker_;
  View row_;
  bool direct_;
  alignas(64) float buffer_[kBlock];
};

template <class Finish>
void run_block_across(const Job& job, const Finish& finish, const AxesOffsets& at, size_t n) {
  const size_t length = job.plan.length;
  alignas(64) double sums[kBlock] = {};
  if (job.sums) {
    RowAcross x(job, kNormX, at, n);
    for (size_t r = 0; r < length; ++r, x.next())
      job.run.kernels->add_squares(x.get(true), sums, n);
  }
  const ptrdiff_t step = job.plan.kept[0].stride[kNormValues];
  for (size_t i = 0; i < n; ++i)
    sums[i] = finish(sums[i], at[kNormValues] + static_cast<ptrdiff_t>(i) * step);
  if (!job.scales) return;
  RowAcross x(job, kNormX, at, n), y(job, kNormY, at, n);
  for (size_t r = 0; r < length; ++r, x.next(), y.next()) {
    job.run.kernels->scale_each(x.get(true), y.get(job.accumulate), n, sums, job.accumulate);
    y.put();
  }
}

template <class Finish>
void run_across(const Job& job, const Finish& finish) {
  const Plan& plan = job.plan;
  const size_t columns = plan.kept[0].extent, blocks = div_up(columns, kBlock);
  parallel_for(job.threads(), plan.groups() / columns * blocks, [&](size_t g, size_t) {
    const size_t first = g % blocks * kBlock;
    run_block_across(job, finish, plan.kept.at(g / blocks * columns + first),
                     std::min(kBlock, columns - first));
  });
}

template <class Finish>
void run_groups(const Job& job, const Finish& finish) {
  if (job.plan.across) return run_across(job, finish);
  if (job.plan.parts > 1) return run_parts_along(job, finish);
  run_groups_along(job, finish);
}

}  // namespace

void run_clip_groups(const NormRun& run, const Axes& axes, double max_norm, const AxesTensor& x,
                     const AxesTensor& y) {
  const Plan plan(axes);
  const Job job = {.run = run, .plan = plan, .x = x, .y = y, .sums = true, .scales = true};
  run_groups(job, [&](double sum, ptrdiff_t) { return clip_factor(std::sqrt(sum), max_norm); });
}

void run_norms(const NormRun& run, const Axes& axes, const AxesTensor& x, const AxesTensor& norms) {
  const Plan plan(axes);
  const Job job = {.run = run, .plan = plan, .x = x, .y = x, .sums = true};
  run_groups(job, [&](double sum, ptrdiff_t at) {
    write_value(norms, at, std::sqrt(sum));
    return 1.0;
  });
}

void run_norms_backward(const NormRun& run, const Axes& axes, const AxesTensor& x,
                        const AxesTensor& norms, const AxesTensor& norm_deltas,
                        const AxesTensor& dx, bool accumulate) {
  const Plan plan(axes);
  const Job job = {
      .run = run, .plan = plan, .x = x, .y = dx, .scales = true, .accumulate = accumulate};
  run_groups(job, [&](double, ptrdiff_t at) {
    const double norm = read_value(norms, at);
    return norm == 0 ? 0 : read_value(norm_deltas, at) / norm;
  });
}

}  // namespace bnns::impl
