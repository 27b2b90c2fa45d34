// Backward pass of pooling.h. Average and L2Norm spread g / divisor over the cells of a window in
// two steps: along each row of windows, then down the columns.
#include <cstring>
#include <numeric>

#include "core/checked.h"
#include "core/parallel.h"
#include "ops/pooling/calls.h"

namespace bnns::impl {

// ---- Backward ----

PoolingOp::Sizes PoolingOp::backward_sizes(bool dx_direct) const {
  const bool sums = problem_.kind != PoolingKind::kMax && !problem_.un_max();
  Sizes sizes = forward_sizes(in_is_direct(), false);
  sizes.g = problem_.out_size();
  sizes.dx = dx_direct && !problem_.un_max() && sums ? 0 : problem_.in_size();
  sizes.padded = sums ? checked_mul(problem_.y.windows, padded_size_, "working memory") : 0;
  sizes.rows = sums ? checked_mul(problem_.y.windows, row_pitch_, "working memory") : 0;
  sizes.index = problem_.windows();
  return sizes;
}

bool PoolingOp::backward(const Gradients& p) {
  BackwardCall call = {.in = p.in ? in_planes(p.in) : Planes(),
                       .out = p.out ? out_planes(p.out) : Planes(),
                       .dy = out_planes(p.dy),
                       .dx = p.dx ? in_planes(p.dx) : Planes(),
                       .wants_dx = p.dx.data != nullptr,
                       .accumulate = p.dx.accumulate,
                       .indices = p.indices,
                       .ranges = nullptr,
                       .offsets = nullptr,
                       .origins = {}};
  ScratchPool<Scratch>::Borrowed scratch = scratch_.take();
  const size_t channels = problem_.channels, batch = p.dy.size, planes = batch * channels;
  if (problem_.kind == PoolingKind::kMax && call.wants_dx) use_offsets(*scratch, planes, call);
  const bool wants_db = p.db.data != nullptr;
  const size_t grain = wants_db ? batch : planes_of_grain();
  const size_t grains = div_up(planes, grain);
  const size_t workers = std::min(threads_for(planes), grains);
  const bool fills = backward_special_->average_planes != nullptr && call.wants_dx && !wants_db &&
                     !call.accumulate && call.dx.packed() && call.dy.direct() &&
                     (problem_.activation.is_identity() || call.out.direct());
  const bool spreads = backward_special_->planes != nullptr && call.wants_dx && !wants_db &&
                       call.dx.direct() && call.dy.direct() && problem_.activation.is_identity();
  const Sizes sizes = backward_sizes(call.dx.direct());
  prepare(*scratch, sizes, workers);
  if (call.indices && !check_indices(call)) return false;
  const bool scatters = problem_.kind == PoolingKind::kMax && call.indices;
  parallel_for(workers, grains, [&](size_t g, size_t worker) {
    const Work work = work_of(*scratch, sizes, worker);
    const size_t count = std::min(grain, planes - g * grain);
    if (fills) return fill_planes(call, g * grain, g * grain + count);
    if (spreads) return spread_planes(call, g * grain, g * grain + count);
    if (!scatters) fill_constants(sizes, work);
    double sum = 0;
    for (size_t k = 0; k < count; ++k) {
      const size_t plane = wants_db ? k * channels + g : g * grain + k;
      backward_plane(call, plane, work, wants_db ? &sum : nullptr);
    }
    if (wants_db) scratch->channels[g] = static_cast<float>(sum);
  });
  if (!wants_db) return true;
  const View db = whole(p.db);
  float old[256];
  for (size_t c = 0; p.db.accumulate && c < channels; c += std::size(old)) {
    const size_t n = std::min(std::size(old), channels - c);
    read_values(*run_.convert, db, c, n, old);
    run_.alpha->add(old, scratch->channels.data() + c, n);
  }
  write_values(*run_.convert, db, 0, channels, scratch->channels.data());
  return true;
}

void PoolingOp::backward_plane(const BackwardCall& call, size_t plane, const Work& work,
                               double* bias_sum) const {
  const Plane g = gradient_plane(call, plane, work);
  if (bias_sum != nullptr) *bias_sum += plane_sum(g);
  if (!call.wants_dx) return;
  if (problem_.un_max()) return un_max_backward(call, plane, g, work);
  if (problem_.kind == PoolingKind::kMax) return max_backward(call, plane, g, work);
  sum_backward(call, plane, g, work);
}

// g = dy act'(y), or dy itself.
Plane PoolingOp::gradient_plane(const BackwardCall& call, size_t plane, const Work& work) const {
  const FusedActivation& f = problem_.activation;
  const Plane dy = call.dy.read(*run_.convert, plane, work.g);
  if (f.is_identity()) return dy;
  const size_t width = problem_.un_max() ? problem_.x.cells : problem_.x.windows;
  const size_t height = problem_.un_max() ? problem_.y.cells : problem_.y.windows;
  const Plane y = call.out.read(*run_.convert, plane, work.y), g = {work.g, width};
  f.multiply_by_slope({y.data, y.row}, {dy.data, dy.row}, {g.data, g.row}, height, width);
  return g;
}

double PoolingOp::plane_sum(const Plane& g) const {
  const size_t width = problem_.un_max() ? problem_.x.cells : problem_.x.windows;
  const size_t height = problem_.un_max() ? problem_.y.cells : problem_.y.windows;
  if (g.row == width) return double{sums_->sum(g.data, width * height)};
  double sum = 0;
  for (size_t j = 0; j < height; ++j) sum += double{sums_->sum(g.data + j * g.row, width)};
  return sum;
}

// ---- Max ----

void PoolingOp::max_backward(const BackwardCall& call, size_t plane, const Plane& g,
                             const Work& work) const {
  const size_t n = problem_.x.windows, height = problem_.y.windows;
  const Batch& indices = call.indices;
  const PoolingPlane<const uint32_t> found = {reinterpret_cast<const uint32_t*>(work.index), n};
  uint16_t* offsets = call.offsets == nullptr ? nullptr : call.offsets + plane * problem_.windows();
  if (!indices) {
    const Plane x = call.in.read(*run_.convert, plane, work.x);
    for (size_t j = 0; j < height; j += rows_at_once_) {
      max_rows(x, j, std::min(rows_at_once_, height - j), 0, work, {work.y, n}, work.index + j * n);
    }
    if (offsets == nullptr || !encode(found, call.origins, offsets))
      return scatter(call, plane, g, work, found, true);
  }
  if (!indices || call.ranges[plane] == PoolingIndexRange::kWindow) {
    const Plane dx = call.dx.at(plane);
    return backward_special_->max(axes(), offsets, {g.data, g.row}, {dx.data, dx.row});
  }
  const bool in_strips = call.ranges[plane] == PoolingIndexRange::kStrip;
  if (indices.sample->stride[0] != 1) {
    read_index(indices, plane, work.index);
    scatter(call, plane, g, work, found, in_strips);
  } else if (indices.sample->type == BNNSDataTypeUInt64) {
    scatter(call, plane, g, work, index_plane<uint64_t>(indices, plane), in_strips);
  } else {
    scatter(call, plane, g, work, index_plane<uint32_t>(indices, plane), in_strips);
  }
}

// dx[index] += g. Rows of cells are set to zero just before the first windows that reach them: the
// additions would have to wait for the stores that clear a whole plane.
template <class T>
void PoolingOp::scatter(const BackwardCall& call, size_t plane, const Plane& g, const Work& work,
                        const PoolingPlane<const T>& index, bool in_strips) const {
  const bool direct = call.dx.packed();
  float* dx = direct ? call.dx.at(plane).data : work.dx;
  const size_t height = problem_.y.windows, rows = in_strips ? rows_of_strip() : height;
  size_t cleared = direct && call.accumulate ? problem_.cells() : 0;
  for (size_t first = 0; first < height; first += rows) {
    const size_t end = std::min(first + rows, height);
    const size_t reached = std::max(cleared, cells_reached(end));
    std::memset(dx + cleared, 0, (reached - cleared) * sizeof(float));
    cleared = reached;
    for (size_t j = first; j < end; ++j)
      scatter_row(j, index.data + j * index.row, g.data + j * g.row, dx);
  }
  if (!direct) call.dx.write(run_, plane, work.dx, call.accumulate);
}

// Adds one row of g, taking turns between four distant parts of the row: neighbouring windows often
// have the same cell, and each addition would wait for the store of the one before it.
template <class T>
void PoolingOp::scatter_row(size_t j, const T* cells, const float* g, float* dx) const {
  const size_t n = problem_.x.windows, step = n / 4;
  if (may_be_empty_) {
    for (size_t i = 0; i < n && real_taps(problem_.y, j).count != 0; ++i)
      if (real_taps(problem_.x, i).count != 0) dx[cells[i]] += g[i];
    return;
  }
  for (size_t i = 0; i < step; ++i) {
    dx[cells[i]] += g[i];
    dx[cells[i + step]] += g[i + step];
    dx[cells[i + 2 * step]] += g[i + 2 * step];
    dx[cells[i + 3 * step]] += g[i + 3 * step];
  }
  for (size_t i = 4 * step; i < n; ++i) dx[cells[i]] += g[i];
}

// ---- Average, L2Norm ----

// Writes q = g / divisor into padded rows.
void PoolingOp::divide_rows(const Plane& g, const Plane& x, const Work& work) const {
  const PoolingAxis& axis = problem_.x;
  const bool norm = problem_.kind == PoolingKind::kL2Norm;
  const bool inside = problem_.kind == PoolingKind::kAverageInside;
  const size_t n = axis.windows, height = problem_.y.windows;
  for (size_t j = 0; norm && j < height; j += rows_at_once_)
    sum_rows(x, j, std::min(rows_at_once_, height - j), 0, work, {work.y, n});
  float* q = work.padded + (regular_ ? (axis.taps - 1) * axis.dilation : 0);
  for (size_t j = 0; j < height; ++j) {
    const size_t rows = inside ? real_taps(problem_.y, j).count : 1;
    backward_kernels_->divide(g.data + j * g.row, norm ? work.y + j * n : work.divisor,
                              static_cast<float>(rows), n, q + j * padded_size_);
  }
}

// Spreads each row of q over a row of cells: each cell receives the sum of the q of its windows.
void PoolingOp::spread_rows(const Work& work) const {
  const PoolingAxis& axis = problem_.x;
  const PoolingTaps taps = {.count = axis.taps, .dilation = axis.dilation, .stride = axis.stride};
  for (size_t j = 0; j < problem_.y.windows; ++j) {
    const float* padded = work.padded + j * padded_size_;
    float* to = work.rows + j * row_pitch_;
    if (regular_ && axis.stride <= 2) {
      backward_kernels_->spread_row(padded, taps, axis.pad, axis.cells, to);
      continue;
    }
    const float* q = padded + (regular_ ? (axis.taps - 1) * axis.dilation : 0);
    std::fill_n(to, row_pitch_, 0.0f);
    for (size_t i = 0; i < axis.windows; ++i) {
      const TapRange real = real_taps(axis, i);
      for (size_t t = 0; t < real.count; ++t) to[real.cell + t * axis.dilation] += q[i];
    }
  }
}

// The rows of windows that have a tap in a row of cells. They are in [low, high), which the caller
// keeps from one cell row to the next, since both limits only grow; with dilation, only every
// `step`-th of them has such a tap.
PoolingRows PoolingOp::rows_reaching(size_t cell_row, const float* rows, size_t pitch, size_t& low,
                                     size_t& high) const {
  const PoolingAxis& y = problem_.y;
  const size_t at = cell_row + y.pad, reach = (y.taps - 1) * y.dilation;
  while (low < y.windows && low * y.stride + reach < at) ++low;
  while (high < y.windows && high * y.stride <= at) ++high;
  size_t first = low, step = 1;
  if (y.dilation > 1) {
    step = y.dilation / std::gcd(y.dilation, y.stride);
    while (first < high && (at - first * y.stride) % y.dilation != 0) ++first;
  }
  return {.data = rows + first * pitch,
          .count = first < high ? div_up(high - first, step) : 0,
          .step = step * pitch};
}

// The planes [first, end) of a global average; one kernel call writes several planes of a sample.
void PoolingOp::fill_planes(const BackwardCall& call, size_t first, size_t end) const {
  for (size_t plane = first, count; plane < end; plane += count) {
    count = std::min(end - plane, problem_.channels - plane % problem_.channels);
    ActivationRows dy = {call.dy.at(plane).data, call.dy.channel()};
    float g[256];
    if (!problem_.activation.is_identity()) {
      count = std::min(count, std::size(g));
      const ActivationRows y = {call.out.at(plane).data, call.out.channel()};
      problem_.activation.multiply_by_slope(y, dy, {g, 1}, count, 1);
      dy = {g, 1};
    }
    backward_special_->average_planes(dy.data, dy.step, divisor_of_plane(), problem_.cells(), count,
                                      call.dx.at(plane).data, call.dx.channel());
  }
}

void PoolingOp::spread_planes(const BackwardCall& call, size_t first, size_t end) const {
  for (size_t plane = first, count; plane < end; plane += count) {
    count = std::min(end - plane, problem_.channels - plane % problem_.channels);
    const Plane g = call.dy.at(plane), dx = call.dx.at(plane);
    backward_special_->planes(axes(), count, {g.data, g.row}, call.dy.channel(), call.accumulate,
                              {dx.data, dx.row}, call.dx.channel());
  }
}

void PoolingOp::sum_backward(const BackwardCall& call, size_t plane, const Plane& g,
                             const Work& work) const {
  const size_t width = problem_.x.cells;
  const bool norm = problem_.kind == PoolingKind::kL2Norm;
  if (backward_special_->average != nullptr && call.dx.direct()) {
    const Plane dx = call.dx.at(plane);
    return backward_special_->average(axes(), problem_.kind == PoolingKind::kAverage,
                                      {g.data, g.row}, work.divisor, call.accumulate,
                                      {dx.data, dx.row});
  }
  Plane x = {};
  if (norm) x = call.in.read(*run_.convert, plane, work.x);
  divide_rows(g, x, work);
  if (global_ && !norm && !call.accumulate && call.dx.packed()) {
    const float share = work.padded[regular_ ? (problem_.x.taps - 1) * problem_.x.dilation : 0];
    return void(std::fill_n(call.dx.at(plane).data, problem_.cells(), share));
  }
  if (global_) {
    std::fill_n(work.rows, row_pitch_,
                work.padded[regular_ ? (problem_.x.taps - 1) * problem_.x.dilation : 0]);
  } else {
    spread_rows(work);
  }
  const bool direct = call.dx.direct();
  const Plane dx = call.dx.place(plane, work.dx);
  size_t low = 0, high = 0;
  for (size_t j = 0; j < problem_.y.cells; ++j) {
    backward_kernels_->add_rows(rows_reaching(j, work.rows, row_pitch_, low, high), width,
                                norm ? x.data + j * x.row : nullptr, direct && call.accumulate,
                                dx.data + j * dx.row);
  }
  if (!direct) call.dx.write(run_, plane, work.dx, call.accumulate);
}

// ---- UnMax ----

void PoolingOp::un_max_backward(const BackwardCall& call, size_t plane, const Plane& g,
                                const Work& work) const {
  const size_t width = problem_.x.cells, n = problem_.x.windows;
  read_index(call.indices, plane, work.index);
  for (size_t j = 0; j < problem_.y.windows; ++j) {
    for (size_t i = 0; i < n; ++i) {
      const auto cell = static_cast<size_t>(work.index[j * n + i]);
      work.dx[j * n + i] = g.data[cell / width * g.row + cell % width];
    }
  }
  call.dx.write(run_, plane, work.dx, call.accumulate);
}

void PoolingOp::reserve(size_t batch, size_t callers) {
  const Sizes forward = forward_sizes(in_is_direct(), out_is_direct());
  const Sizes backward = backward_sizes(false);
  scratch_.reserve(callers, [&](Scratch& s) {
    prepare(s, forward, threads_);
    if (!problem_.in.is_float()) return;  // other types have no gradient
    prepare(s, backward, threads_);
    if (problem_.kind == PoolingKind::kMax)
      prepare_offsets(s, checked_mul(batch, problem_.channels, "working memory"),
                      backward_special_->max != nullptr);
  });
}

}  // namespace bnns::impl
