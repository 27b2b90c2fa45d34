// The loops over slices of vector_norm.h. Along: the fastest axis belongs to the slice, which is a
// view of its own. Across: the fastest axis counts slices, and a block of them is done together.
#include <algorithm>
#include <array>
#include <cmath>

#include "core/checked.h"
#include "core/parallel.h"
#include "ops/convert/blocks.h"
#include "math/half.h"
#include "ops/vector_norm/vector_norm.h"

namespace bnns::impl {
namespace {

constexpr size_t kGrain = 16384;
constexpr size_t kMaxPartials = 256;
constexpr double kNanoseconds = 0.3;

struct Offsets {
  size_t tensor[2];
  ptrdiff_t value;
};

struct Plan {
  explicit Plan(const SliceAxes& axes) {
    for (View& view : slice) view.count = 1;
    bool first = true;
    for (size_t k = 0; k < axes.rank; ++k) {
      const SliceAxes::Axis& axis = axes.axis[k];
      if (axis.extent == 1) continue;
      if (first) across = !axis.reduced;
      first = false;
      axis.reduced ? push_reduced(axis) : push_kept(axis);
    }
    for (View& view : slice) view = collapsed(view);
    length = slice[0].count;
    // Depends on the problem alone, as the order of the sums does.
    const size_t wanted = div_up(length, kGrain);
    parts = slices > kMaxPartials ? 1 : std::min(wanted, kMaxPartials / slices);
    part_length = div_up(length, parts);
    parts = div_up(length, part_length);
  }

  Offsets offsets(size_t number) const {
    Offsets at = {};
    for (size_t k = 0; k < kept_rank; ++k) {
      const size_t index = number % kept[k].extent;
      number /= kept[k].extent;
      for (size_t t = 0; t < 2; ++t) at.tensor[t] += index * kept[k].stride[t];
      at.value += static_cast<ptrdiff_t>(index) * kept[k].value_stride;
    }
    return at;
  }

  size_t kept_rank = 0;
  SliceAxes::Axis kept[kMaxRank] = {};
  View slice[2];
  size_t slices = 1, length = 1;
  size_t parts = 1, part_length = 1;  // of a slice, where there are few
  bool across = false;

 private:
  void push_reduced(const SliceAxes::Axis& axis) {
    for (size_t t = 0; t < 2; ++t) {
      View& view = slice[t];
      view.extent[view.rank] = axis.extent;
      view.stride[view.rank] = axis.stride[t];
      view.count *= axis.extent;
      ++view.rank;
    }
  }

  void push_kept(const SliceAxes::Axis& axis) {
    slices *= axis.extent;
    if (kept_rank > 0) {
      SliceAxes::Axis& last = kept[kept_rank - 1];
      const bool line =
          axis.stride[0] == last.stride[0] * last.extent &&
          axis.stride[1] == last.stride[1] * last.extent &&
          axis.value_stride == last.value_stride * static_cast<ptrdiff_t>(last.extent);
      if (line) {
        last.extent *= axis.extent;
        return;
      }
    }
    kept[kept_rank++] = axis;
  }
};

double read_value(const SliceValues& values, ptrdiff_t offset) {
  switch (values.type) {
    case BNNSDataTypeFloat16:
      return double{half_to_float(static_cast<const uint16_t*>(values.data)[offset])};
    case BNNSDataTypeBFloat16:
      return double{bfloat_to_float(static_cast<const uint16_t*>(values.data)[offset])};
    default:
      return double{static_cast<const float*>(values.data)[offset]};
  }
}

void write_value(const SliceValues& values, ptrdiff_t offset, double value) {
  const auto rounded = static_cast<float>(value);
  switch (values.type) {
    case BNNSDataTypeFloat16:
      static_cast<uint16_t*>(values.data)[offset] = float_to_half(rounded);
      break;
    case BNNSDataTypeBFloat16:
      static_cast<uint16_t*>(values.data)[offset] = float_to_bfloat(rounded);
      break;
    default:
      static_cast<float*>(values.data)[offset] = rounded;
      break;
  }
}

void* shifted(const SliceTensor& tensor, size_t offset) {
  return static_cast<char*>(tensor.data) + offset * type_bytes(tensor.type);
}

// What is done with every slice: its sum of squares, finish(sum, offset of its value) -> factor,
// y = or += factor * x. The first and the last are optional.
struct Job {
  const NormRun& run;
  const Plan& plan;
  SliceTensor x, y;
  bool sums = false, scales = false, accumulate = false;

  View view_of(size_t tensor, const Offsets& at) const {
    View view = plan.slice[tensor];
    const SliceTensor& from = tensor == 0 ? x : y;
    view.data = shifted(from, at.tensor[tensor]);
    view.type = from.type;
    return view;
  }
  double sum(const Offsets& at, size_t first, size_t n) const {
    return sum_squares_of_part(run, view_of(0, at), first, n);
  }
  void scale(const Offsets& at, double factor, size_t first, size_t n) const {
    if (factor == 1 && x.data == y.data && !accumulate) return;
    scale_part(run, factor, view_of(0, at), view_of(1, at), first, n, accumulate);
  }
  size_t threads() const {
    const auto count = static_cast<double>(plan.slices * plan.length);
    return useful_threads(run.threads, kNanoseconds * count);
  }
};

template <class Finish>
void run_slices_along(const Job& job, const Finish& finish) {
  const Plan& plan = job.plan;
  const size_t grain = std::max<size_t>(1, kGrain / plan.length);
  parallel_for(job.threads(), div_up(plan.slices, grain), [&](size_t g, size_t) {
    const size_t end = std::min(plan.slices, (g + 1) * grain);
    for (size_t s = g * grain; s < end; ++s) {
      const Offsets at = plan.offsets(s);
      const double factor = finish(job.sums ? job.sum(at, 0, plan.length) : 0, at.value);
      if (job.scales) job.scale(at, factor, 0, plan.length);
    }
  });
}

// body(slice, number of the part, its first element, their number)
template <class Body>
void for_parts(const Job& job, const Body& body) {
  const Plan& plan = job.plan;
  parallel_for(job.threads(), plan.slices * plan.parts, [&](size_t task, size_t) {
    const size_t first = task % plan.parts * plan.part_length;
    body(task / plan.parts, task, first, std::min(plan.part_length, plan.length - first));
  });
}

template <class Finish>
void run_parts_along(const Job& job, const Finish& finish) {
  const Plan& plan = job.plan;
  double partials[kMaxPartials] = {};
  if (job.sums) {
    for_parts(job, [&](size_t slice, size_t task, size_t first, size_t n) {
      partials[task] = job.sum(plan.offsets(slice), first, n);
    });
  }
  double factors[kMaxPartials];
  for (size_t s = 0; s < plan.slices; ++s) {
    double sum = 0;
    for (size_t p = 0; p < plan.parts; ++p) sum += partials[s * plan.parts + p];
    factors[s] = finish(sum, plan.offsets(s).value);
  }
  if (!job.scales) return;
  for_parts(job, [&](size_t slice, size_t, size_t first, size_t n) {
    job.scale(plan.offsets(slice), factors[slice], first, n);
  });
}

// A row of elements that belong to neighbouring slices, as floats.
class RowAcross {
 public:
  RowAcross(const Job& job, size_t tensor, const Offsets& at, size_t n)
      : job_(job),
        tensor_(tensor == 0 ? job.x : job.y),
        start_(at.tensor[tensor]),
        walker_(job.plan.slice[tensor], 0) {
    row_.type = tensor_.type;
    row_.rank = 1;
    row_.extent[0] = row_.count = n;
    row_.stride[0] = job.plan.kept[0].stride[tensor];
    direct_ = row_.is_float() && row_.stride[0] == 1;
  }

  float* get(bool read) {
    row_.data = shifted(tensor_, start_ + walker_.offset());
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
  const SliceTensor& tensor_;
  size_t start_;
  Walker walker_;
  View row_;
  bool direct_;
  alignas(64) float buffer_[kBlock];
};

template <class Finish>
void run_block_across(const Job& job, const Finish& finish, const Offsets& at, size_t n) {
  const size_t length = job.plan.length;
  alignas(64) double sums[kBlock] = {};
  if (job.sums) {
    RowAcross x(job, 0, at, n);
    for (size_t r = 0; r < length; ++r, x.next())
      job.run.kernels->add_squares(x.get(true), sums, n);
  }
  const ptrdiff_t step = job.plan.kept[0].value_stride;
  for (size_t i = 0; i < n; ++i)
    sums[i] = finish(sums[i], at.value + static_cast<ptrdiff_t>(i) * step);
  if (!job.scales) return;
  RowAcross x(job, 0, at, n), y(job, 1, at, n);
  for (size_t r = 0; r < length; ++r, x.next(), y.next()) {
    job.run.kernels->scale_each(x.get(true), y.get(job.accumulate), n, sums, job.accumulate);
    y.put();
  }
}

template <class Finish>
void run_across(const Job& job, const Finish& finish) {
  const Plan& plan = job.plan;
  const size_t columns = plan.kept[0].extent, blocks = div_up(columns, kBlock);
  parallel_for(job.threads(), plan.slices / columns * blocks, [&](size_t g, size_t) {
    const size_t first = g % blocks * kBlock;
    run_block_across(job, finish, plan.offsets(g / blocks * columns + first),
                     std::min(kBlock, columns - first));
  });
}

template <class Finish>
void run_slices(const Job& job, const Finish& finish) {
  if (job.plan.across) return run_across(job, finish);
  if (job.plan.parts > 1) return run_parts_along(job, finish);
  run_slices_along(job, finish);
}

}  // namespace

void run_clip_slices(const NormRun& run, const SliceAxes& axes, double max_norm,
                     const SliceTensor& x, const SliceTensor& y) {
  const Plan plan(axes);
  const Job job = {.run = run, .plan = plan, .x = x, .y = y, .sums = true, .scales = true};
  run_slices(job, [&](double sum, ptrdiff_t) { return clip_factor(std::sqrt(sum), max_norm); });
}

void run_norms(const NormRun& run, const SliceAxes& axes, const SliceTensor& x,
               const SliceValues& norms) {
  const Plan plan(axes);
  const Job job = {.run = run, .plan = plan, .x = x, .y = x, .sums = true};
  run_slices(job, [&](double sum, ptrdiff_t at) {
    write_value(norms, at, std::sqrt(sum));
    return 1.0;
  });
}

void run_norms_backward(const NormRun& run, const SliceAxes& axes, const SliceTensor& x,
                        const SliceValues& norms, const SliceValues& norm_deltas,
                        const SliceTensor& dx, bool accumulate) {
  const Plan plan(axes);
  const Job job = {
      .run = run, .plan = plan, .x = x, .y = dx, .scales = true, .accumulate = accumulate};
  run_slices(job, [&](double, ptrdiff_t at) {
    const double norm = read_value(norms, at);
    return norm == 0 ? 0 : read_value(norm_deltas, at) / norm;
  });
}

}  // namespace bnns::impl
