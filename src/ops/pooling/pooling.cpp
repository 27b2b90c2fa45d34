// Plan and forward pass of pooling.h.
#include "ops/pooling/pooling.h"

#include "core/checked.h"
#include "core/parallel.h"
#include "ops/pooling/calls.h"

namespace bnns::impl {
namespace {

// Values behind a padded row that kernels may read: at least two vectors of any target.
constexpr size_t kSlack = 48;
constexpr size_t kMostLanes = 16;
// Rows of windows computed together. With several rows the second step does not read what the first
// has just stored: a load that spans two stores in flight must wait for both.
constexpr size_t kMostRows = 16;
constexpr size_t kColumns = 16384;
// Cells and windows of a grain: some microseconds of work.
constexpr size_t kGrain = 65536;

// Whether a window may have no cell inside the plane. If the first and the last window have one, a
// window between them is empty only if the dilation is so large that its taps jump over the plane.
bool may_have_empty(const PoolingAxis& axis) {
  return axis.dilation > axis.cells || real_taps(axis, 0).count == 0 ||
         real_taps(axis, axis.windows - 1).count == 0;
}

View index_view_of(const PoolingProblem& problem, BNNSDataType type) {
  View view = problem.un_max() ? problem.in : problem.out;
  view.type = type;
  return view;
}

}  // namespace

PoolingOp::PoolingOp(const Memory& memory, size_t threads, const PoolingProblem& problem)
    : memory_(memory),
      threads_(threads),
      problem_(problem),
      index_view_32_(index_view_of(problem, BNNSDataTypeUInt32)),
      index_view_64_(index_view_of(problem, BNNSDataTypeUInt64)),
      forward_choice_(choose_pooling_forward(problem)),
      backward_choice_(choose_pooling_backward(problem)),
      forward_special_(forward_choice_.special()),
      backward_special_(backward_choice_.special()),
      run_(threads),
      scratch_(memory) {
  const PoolingAxis &x = problem.x, &y = problem.y;
  const size_t reach = (x.taps - 1) * x.dilation;
  const size_t length = x.stride * (x.windows + kMostLanes) + reach;
  const size_t limit = 8 * x.cells + 4096;
  regular_ = length <= limit && x.pad <= limit;
  columns_size_ = (regular_ ? std::max(length, x.pad + x.cells) : x.cells) + kSlack;
  padded_size_ = regular_ ? reach + std::max(x.windows, x.pad + x.cells) + kSlack : x.windows;
  row_pitch_ = x.cells + kSlack;
  rows_at_once_ = std::clamp<size_t>(kColumns / columns_size_, 1, kMostRows);
  global_ = problem.is_global();
  may_be_empty_ = may_have_empty(x) || may_have_empty(y);
}

void PoolingOp::own_bias(const View& bias) {
  own_bias_ = Array<float>(memory_, problem_.channels);
  read_values(*run_.convert, collapsed(bias), 0, problem_.channels, own_bias_.data());
}

// ---- Memory ----

PoolingOp::Sizes PoolingOp::forward_sizes(bool in_direct, bool out_direct) const {
  return {.x = in_direct ? 0 : problem_.in_size(),
          .y = out_direct ? 0 : problem_.out_size(),
          .g = 0,
          .dx = 0,
          .columns = rows_at_once_ * columns_size_,
          .divisor = problem_.x.windows,
          .padded = 0,
          .rows = 0,
          .cells = rows_at_once_ * columns_size_,
          .index = problem_.un_max() ? problem_.windows() : rows_at_once_ * problem_.x.windows};
}

void PoolingOp::prepare(Scratch& scratch, const Sizes& sizes, size_t workers) const {
  const size_t floats = checked_mul(sizes.floats(), workers, "working memory");
  const size_t integers = checked_mul(sizes.integers(), workers, "working memory");
  if (scratch.floats.size() < floats) scratch.floats = Array<float>(memory_, floats);
  if (scratch.integers.size() < integers) scratch.integers = Array<int32_t>(memory_, integers);
  if (!scratch.channels) scratch.channels = Array<float>(memory_, problem_.channels);
}

PoolingOp::Work PoolingOp::work_of(const Scratch& scratch, const Sizes& sizes,
                                   size_t worker) const {
  float* next = scratch.floats.data() + worker * sizes.floats();
  const auto take = [&](size_t n) { return std::exchange(next, next + n); };
  int32_t* integers = scratch.integers.data() + worker * sizes.integers();
  Work work = {};
  work.x = take(sizes.x);
  work.y = take(sizes.y);
  work.g = take(sizes.g);
  work.dx = take(sizes.dx);
  work.columns = take(sizes.columns);
  work.divisor = take(sizes.divisor);
  work.padded = take(sizes.padded);
  work.rows = take(sizes.rows);
  work.cells = integers;
  work.index = integers + sizes.cells;
  return work;
}

// Fills the padding of the buffers and the divisors. Kernels write only the cells and windows, so
// that the padding keeps its values for all planes of a grain.
void PoolingOp::fill_constants(const Sizes& sizes, const Work& work) const {
  const bool max = problem_.kind == PoolingKind::kMax;
  std::fill_n(work.columns, sizes.columns, max ? -std::numeric_limits<float>::infinity() : 0.0f);
  std::fill_n(work.cells, sizes.cells, kNoCell);
  std::fill_n(work.padded, sizes.padded, 0.0f);
  const PoolingAxis &x = problem_.x, &y = problem_.y;
  const bool inside = problem_.kind == PoolingKind::kAverageInside;
  const float all = static_cast<float>(x.taps) * static_cast<float>(y.taps);
  for (size_t i = 0; !max && i < sizes.divisor; ++i)
    work.divisor[i] = inside ? static_cast<float>(real_taps(x, i).count) : all;
}

const float* PoolingOp::bias_of(Scratch& scratch) const {
  if (own_bias_) return own_bias_.data();
  if (client_bias_.data == nullptr) return nullptr;
  read_values(*run_.convert, client_bias_, 0, problem_.channels, scratch.channels.data());
  return scratch.channels.data();
}

Planes PoolingOp::in_planes(const Batch& images) const {
  const PoolingAxis &x = problem_.x, &y = problem_.y;
  const bool windows = problem_.un_max();
  return Planes(images, windows ? x.windows : x.cells, windows ? y.windows : y.cells,
                problem_.channels);
}

Planes PoolingOp::out_planes(const Batch& images) const {
  const PoolingAxis &x = problem_.x, &y = problem_.y;
  const bool cells = problem_.un_max();
  return Planes(images, cells ? x.cells : x.windows, cells ? y.cells : y.windows,
                problem_.channels);
}

size_t PoolingOp::threads_for(size_t planes) const {
  const double values = static_cast<double>(problem_.cells() + 2 * problem_.windows());
  return useful_threads(threads_, 0.2 * values * static_cast<double>(planes));
}

size_t PoolingOp::planes_of_grain() const {
  return std::max<size_t>(1, kGrain / (problem_.cells() + problem_.windows()));
}

// ---- Forward ----

void PoolingOp::forward(const Batch& in, const Batch& out, const Batch& indices,
                        uint64_t random_stream) {
  ForwardCall call = {
      .in = in_planes(in), .out = out_planes(out), .indices = indices, .bias = nullptr};
  const size_t planes = in.size * problem_.channels, grain = planes_of_grain();
  const size_t grains = div_up(planes, grain);
  const size_t workers = std::min(threads_for(planes), grains);
  const Sizes sizes = forward_sizes(call.in.direct(), call.out.direct());
  ScratchPool<Scratch>::Borrowed scratch = scratch_.take();
  prepare(*scratch, sizes, workers);
  call.bias = bias_of(*scratch);
  parallel_for(workers, grains, [&](size_t g, size_t worker) {
    const size_t end = std::min(planes, (g + 1) * grain);
    if (forward_special_->average_planes != nullptr && call.in.packed() && call.out.direct())
      return average_planes(call, g * grain, end);
    if (forward_special_->planes != nullptr && !call.indices && call.in.direct() &&
        call.out.direct())
      return pool_planes(call, g * grain, end);
    const Work work = work_of(*scratch, sizes, worker);
    fill_constants(sizes, work);
    for (size_t plane = g * grain; plane < end; ++plane) forward_plane(call, plane, work);
  });
  // A random activation runs after the whole call, because its random numbers depend on the index
  // of an element in the call.
  const FusedActivation& f = problem_.activation;
  if (f.is_random()) f.forward(threads_, with_samples(out), random_stream);
}

// The planes [first, end) of a global average; one kernel call computes those of one sample.
void PoolingOp::average_planes(const ForwardCall& call, size_t first, size_t end) const {
  for (size_t plane = first, count; plane < end; plane += count) {
    const size_t channel = plane % problem_.channels;
    count = std::min(end - plane, problem_.channels - channel);
    const Plane x = call.in.at(plane), y = call.out.at(plane);
    forward_special_->average_planes(
        x.data, call.in.channel(), problem_.cells(), count, divisor_of_plane(),
        call.bias == nullptr ? nullptr : call.bias + channel, y.data, call.out.channel());
    if (!problem_.activation.is_random())
      problem_.activation.forward({y.data, call.out.channel()}, count, 1);
  }
}

void PoolingOp::pool_planes(const ForwardCall& call, size_t first, size_t end) const {
  for (size_t plane = first, count; plane < end; plane += count) {
    const size_t channel = plane % problem_.channels;
    count = std::min(end - plane, problem_.channels - channel);
    const Plane x = call.in.at(plane), y = call.out.at(plane);
    forward_special_->planes({.axes = axes(),
                              .count = count,
                              .x = {x.data, x.row},
                              .x_step = call.in.channel(),
                              .bias = call.bias == nullptr ? nullptr : call.bias + channel,
                              .y = {y.data, y.row},
                              .y_step = call.out.channel()});
    for (size_t k = 0; !problem_.activation.is_identity() && k < count; ++k)
      activate({y.data + k * call.out.channel(), y.row});
  }
}

void PoolingOp::forward_plane(const ForwardCall& call, size_t plane, const Work& work) const {
  const float bias = call.bias == nullptr ? 0 : call.bias[plane % problem_.channels];
  const Plane y = call.out.place(plane, work.y);
  if (problem_.un_max()) {
    un_max_plane(call, plane, bias, y, work);
  } else {
    const Plane x = call.in.read(*run_.convert, plane, work.x);
    const bool indexed = problem_.kind == PoolingKind::kMax && call.indices;
    for (size_t first = 0; first < problem_.y.windows; first += rows_at_once_) {
      const size_t count = std::min(rows_at_once_, problem_.y.windows - first);
      pool_rows(x, first, count, bias, work, y, indexed ? work.index : nullptr);
      if (indexed) write_index(call.indices, plane, first, count, work.index);
    }
  }
  activate(y);
  if (!call.out.direct()) call.out.write(run_, plane, work.y, false);
}

void PoolingOp::pool_rows(const Plane& x, size_t first, size_t count, float bias, const Work& work,
                          const Plane& y, int32_t* index) const {
  if (problem_.kind == PoolingKind::kMax) {
    max_rows(x, first, count, bias, work, y, index);
  } else {
    sum_rows(x, first, count, bias, work, y);
  }
}

// Computes rows [first, first + count) of y. `index` has the indices of these rows only.
void PoolingOp::max_rows(const Plane& x, size_t first, size_t count, float bias, const Work& work,
                         const Plane& y, int32_t* index) const {
  const PoolingAxis& axis = problem_.x;
  const PoolingRowsCall call = {.axes = axes(),
                                .first = first,
                                .count = count,
                                .x = {x.data, x.row},
                                .bias = bias,
                                .y = {y.data + first * y.row, y.row}};
  if (forward_special_->max != nullptr && forward_special_->max(call, {index, axis.windows}))
    return;
  const size_t n = axis.windows, dilation = problem_.y.dilation;
  const size_t pad = regular_ ? axis.pad : 0;
  bool nan[kMostRows];
  TapRange rows[kMostRows];
  for (size_t r = 0; r < count; ++r) {
    rows[r] = real_taps(problem_.y, first + r);
    if (rows[r].count == 0) continue;
    const float* top = x.data + rows[r].cell * x.row;
    const auto cell = static_cast<int32_t>(rows[r].cell * axis.cells);
    const auto step = static_cast<int32_t>(rows[r].count > 1 ? dilation * axis.cells : 0);
    const size_t at = r * columns_size_ + pad;
    nan[r] = kernels_->max_columns({.data = top, .count = rows[r].count, .step = dilation * x.row},
                                   axis.cells, cell, step, work.columns + at,
                                   index == nullptr ? nullptr : work.cells + at);
  }
  const PoolingTaps taps = {.count = axis.taps, .dilation = axis.dilation, .stride = axis.stride};
  for (size_t r = 0; r < count; ++r) {
    float* to = y.data + (first + r) * y.row;
    int32_t* to_index = index == nullptr ? nullptr : index + r * n;
    const float* columns = work.columns + r * columns_size_;
    const int32_t* cells = work.cells + r * columns_size_;
    if (rows[r].count == 0) {
      std::fill_n(to, n, bias);
      if (index != nullptr) std::fill_n(to_index, n, 0);
    } else if (regular_) {
      kernels_->max_windows(columns, cells, taps, n, nan[r], bias, to, to_index);
      mend_empty(bias, to, to_index);
    } else {
      max_row_apart(columns, index == nullptr ? nullptr : cells, bias, to, to_index);
    }
  }
}

void PoolingOp::mend_empty(float bias, float* y, int32_t* index) const {
  for (size_t i = 0; may_be_empty_ && i < problem_.x.windows; ++i) {
    if (real_taps(problem_.x, i).count != 0) continue;
    y[i] = bias;
    if (index != nullptr) index[i] = 0;
  }
}

// Computes one row where windows are so wide or so far apart that a padded row would consist mostly
// of padding: `columns` has no padding, and each window visits only its cells inside the plane.
void PoolingOp::max_row_apart(const float* columns, const int32_t* cells, float bias, float* y,
                              int32_t* index) const {
  for (size_t i = 0; i < problem_.x.windows; ++i) {
    const TapRange taps = real_taps(problem_.x, i);
    size_t best = taps.cell;
    for (size_t t = 1; t < taps.count; ++t) {
      const size_t at = taps.cell + t * problem_.x.dilation;
      const float v = columns[at], top = columns[best];
      const bool larger = v > top || (v != v && top == top);
      const bool equal = v == top || (v != v && top != top);
      if (larger || (equal && cells != nullptr && cells[at] < cells[best])) best = at;
    }
    y[i] = bias + (taps.count == 0 ? 0 : columns[best]);
    if (index != nullptr) index[i] = taps.count == 0 ? 0 : cells[best];
  }
}

void PoolingOp::sum_rows(const Plane& x, size_t first, size_t count, float bias, const Work& work,
                         const Plane& y) const {
  const PoolingAxis& axis = problem_.x;
  const bool norm = problem_.kind == PoolingKind::kL2Norm;
  const bool inside = problem_.kind == PoolingKind::kAverageInside;
  if (global_ && x.row == axis.cells) return void(*y.data = bias + sum_of_plane(x));
  if (forward_special_->average != nullptr) {
    return forward_special_->average({.axes = axes(),
                                      .first = first,
                                      .count = count,
                                      .x = {x.data, x.row},
                                      .bias = bias,
                                      .y = {y.data + first * y.row, y.row}},
                                     !inside, work.divisor);
  }
  for (size_t r = 0; r < count; ++r) {
    const TapRange rows = real_taps(problem_.y, first + r);
    kernels_->sum_columns({.data = x.data + rows.cell * x.row,
                           .count = rows.count,
                           .step = problem_.y.dilation * x.row},
                          axis.cells, norm,
                          work.columns + r * columns_size_ + (regular_ ? axis.pad : 0));
  }
  const PoolingTaps taps = {.count = axis.taps, .dilation = axis.dilation, .stride = axis.stride};
  const float* divisor = norm ? nullptr : work.divisor;
  for (size_t r = 0; r < count; ++r) {
    const size_t rows = real_taps(problem_.y, first + r).count;
    const float factor = inside ? static_cast<float>(rows) : 1;
    const float* columns = work.columns + r * columns_size_;
    float* to = y.data + (first + r) * y.row;
    if (regular_) {
      kernels_->sum_windows(columns, taps, axis.windows, divisor, factor, bias, to);
    } else {
      sum_row_apart(columns, divisor, factor, bias, to);
    }
  }
}

float PoolingOp::sum_of_plane(const Plane& x) const {
  const size_t n = problem_.cells();
  if (problem_.kind == PoolingKind::kL2Norm) return std::sqrt(sums_->dot(x.data, x.data, n));
  return sums_->sum(x.data, n) / divisor_of_plane();
}

// The divisor of a global average.
float PoolingOp::divisor_of_plane() const {
  if (problem_.kind == PoolingKind::kAverageInside) return static_cast<float>(problem_.cells());
  return static_cast<float>(problem_.x.taps) * static_cast<float>(problem_.y.taps);
}

void PoolingOp::sum_row_apart(const float* columns, const float* divisor, float factor, float bias,
                              float* y) const {
  for (size_t i = 0; i < problem_.x.windows; ++i) {
    const TapRange taps = real_taps(problem_.x, i);
    double sum = 0;
    for (size_t t = 0; t < taps.count; ++t)
      sum += double{columns[taps.cell + t * problem_.x.dilation]};
    const double by = divisor == nullptr ? 0 : double{divisor[i]} * double{factor};
    const double pooled = divisor == nullptr ? std::sqrt(sum) : by == 0 ? 0 : sum / by;
    y[i] = bias + static_cast<float>(pooled);
  }
}

void PoolingOp::un_max_plane(const ForwardCall& call, size_t plane, float bias, const Plane& y,
                             const Work& work) const {
  const size_t width = problem_.x.cells, n = problem_.x.windows;
  for (size_t j = 0; j < problem_.y.cells; ++j) std::fill_n(y.data + j * y.row, width, bias);
  const Plane x = call.in.read(*run_.convert, plane, work.x);
  read_index(call.indices, plane, work.index);
  for (size_t j = 0; j < problem_.y.windows; ++j) {
    for (size_t i = 0; i < n; ++i) {
      const auto cell = static_cast<size_t>(work.index[j * n + i]);
      y.data[cell / width * y.row + cell % width] = bias + x.data[j * x.row + i];
    }
  }
}

void PoolingOp::activate(const Plane& y) const {
  const FusedActivation& f = problem_.activation;
  const size_t width = problem_.un_max() ? problem_.x.cells : problem_.x.windows;
  const size_t height = problem_.un_max() ? problem_.y.cells : problem_.y.windows;
  if (!f.is_random()) f.forward({y.data, y.row}, height, width);
}

}  // namespace bnns::impl
