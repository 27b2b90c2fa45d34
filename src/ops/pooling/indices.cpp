// The client's indices of pooling.h: written, read, and checked before anything is written.
#include "core/checked.h"
#include "core/parallel.h"
#include "ops/pooling/calls.h"

namespace bnns::impl {
namespace {

// Least number of windows in a strip (or one row): enough to pay for a kernel call.
constexpr size_t kStrip = 128;

// 1 if the last window has a tap behind the last cell, otherwise 0.
size_t hangs_over(const PoolingAxis& axis) {
  return axis.stride * (axis.windows - 1) + axis.taps > axis.pad + axis.cells ? 1 : 0;
}

}  // namespace

size_t PoolingOp::index_offset(const Batch& indices, size_t plane, size_t row) const {
  const View& view = *indices.sample;
  return plane / problem_.channels * indices.step + plane % problem_.channels * view.stride[2] +
         row * view.stride[1];
}

// Writes the indices of rows [first, first + count) of a plane's windows from packed rows.
void PoolingOp::write_index(const Batch& indices, size_t plane, size_t first, size_t count,
                            const int32_t* from) const {
  const View& view = *indices.sample;
  const size_t n = problem_.x.windows, step = view.stride[0];
  const bool packed = step == 1 && view.stride[1] == n;
  const size_t lines = packed ? 1 : count, length = packed ? count * n : n;
  for (size_t line = 0; line < lines; ++line) {
    const size_t offset = index_offset(indices, plane, first + line);
    const int32_t* row = from + line * n;
    auto* to = indices.at<uint64_t>(0) + offset;
    auto* to32 = indices.at<uint32_t>(0) + offset;
    if (step == 1 && view.type == BNNSDataTypeUInt64) {
      backward_kernels_->widen(row, length, to);
    } else if (view.type == BNNSDataTypeUInt64) {
      for (size_t i = 0; i < n; ++i) to[i * step] = static_cast<uint32_t>(row[i]);
    } else {
      for (size_t i = 0; i < length; ++i) to32[i * step] = static_cast<uint32_t>(row[i]);
    }
  }
}

// Reads all indices of a plane into packed rows.
void PoolingOp::read_index(const Batch& indices, size_t plane, int32_t* to) const {
  const View& view = *indices.sample;
  const size_t n = problem_.x.windows, step = view.stride[0];
  const bool packed = step == 1 && view.stride[1] == n;
  const size_t lines = packed ? 1 : problem_.y.windows, length = packed ? problem_.windows() : n;
  for (size_t line = 0; line < lines; ++line) {
    const size_t offset = index_offset(indices, plane, line);
    const auto* from = indices.at<const uint64_t>(0) + offset;
    const auto* from32 = indices.at<const uint32_t>(0) + offset;
    int32_t* row = to + line * n;
    if (step == 1 && view.type == BNNSDataTypeUInt64) {
      backward_kernels_->narrow(from, length, row);
    } else if (view.type == BNNSDataTypeUInt64) {
      for (size_t i = 0; i < n; ++i) row[i] = static_cast<int32_t>(from[i * step]);
    } else {
      for (size_t i = 0; i < length; ++i) row[i] = static_cast<int32_t>(from32[i * step]);
    }
  }
}

size_t PoolingOp::rows_of_strip() const {
  return std::max<size_t>(1, kStrip / problem_.x.windows);
}

// The number of cells from the start of the plane to the end of the last row of cells that the rows
// of windows before `end` reach. For end == windows it is the whole plane.
size_t PoolingOp::cells_reached(size_t end) const {
  const PoolingAxis& y = problem_.y;
  if (end == y.windows) return problem_.cells();
  const size_t reach = (end - 1) * y.stride + (y.taps - 1) * y.dilation + 1;
  return reach > y.pad ? std::min(reach - y.pad, y.cells) * problem_.x.cells : 0;
}

// ---- Checks ----

// Whether all indices of a plane are inside it; with `strips`, whether each is inside the cells
// that its strip reaches (PoolingIndexRange::kStrip).
bool PoolingOp::are_below(const Batch& indices, size_t plane, bool strips) const {
  const View& view = *indices.sample;
  const size_t n = problem_.x.windows, height = problem_.y.windows, step = view.stride[0];
  const bool packed = step == 1 && view.stride[1] == view.extent[0];
  const bool narrow = view.type == BNNSDataTypeUInt32;
  const auto inside = [&](const auto* line, size_t count, size_t limit) {
    bool all = true;
    for (size_t i = 0; i < count; ++i) all &= line[i * step] < limit;
    return all;
  };
  const auto check = [&](size_t offset, size_t count, size_t limit) {
    const auto* line32 = indices.at<const uint32_t>(0) + offset;
    const auto* line64 = indices.at<const uint64_t>(0) + offset;
    if (step != 1) return narrow ? inside(line32, count, limit) : inside(line64, count, limit);
    return narrow ? backward_kernels_->all_below_32(line32, count, static_cast<uint32_t>(limit))
                  : backward_kernels_->all_below_64(line64, count, limit);
  };
  const size_t rows = strips ? rows_of_strip() : height;
  const size_t offset = index_offset(indices, plane, 0);
  bool all = true;
  for (size_t first = 0; first < height; first += rows) {
    const size_t end = std::min(first + rows, height), limit = cells_reached(end);
    // Rows without gaps between them are checked by one call.
    const size_t lines = packed ? 1 : end - first;
    for (size_t k = 0; k < lines; ++k)
      all &= check(offset + (first + k) * view.stride[1], (end - first) / lines * n, limit);
  }
  return all;
}

// Calls check(plane) for all planes of a call. The grains are those of the pass that follows, so
// that it finds the indices in the caches.
template <class Check>
bool PoolingOp::all_planes(size_t batch, const Check& check) const {
  const size_t planes = batch * problem_.channels, grain = planes_of_grain();
  const size_t threads =
      useful_threads(threads_, 0.3 * static_cast<double>(planes * problem_.windows()));
  std::atomic<bool> all{true};
  parallel_for(threads, div_up(planes, grain), [&](size_t g, size_t) {
    const size_t end = std::min(planes, (g + 1) * grain);
    for (size_t plane = g * grain; plane < end; ++plane)
      if (!check(plane)) all.store(false, std::memory_order_relaxed);
  });
  return all.load(std::memory_order_relaxed);
}

bool PoolingOp::are_inside(const Batch& indices) const {
  return all_planes(indices.size, [&](size_t plane) { return are_below(indices, plane, false); });
}

bool PoolingOp::check_indices(const BackwardCall& call) const {
  if (call.ranges == nullptr) return are_inside(call.indices);
  return all_planes(call.indices.size, [&](size_t plane) {
    call.ranges[plane] = range_of(call, plane);
    return call.ranges[plane] != PoolingIndexRange::kOutside;
  });
}

PoolingIndexRange PoolingOp::range_of(const BackwardCall& call, size_t plane) const {
  const Batch& indices = call.indices;
  const auto encoded = [&](const auto& index) {
    return encode(index, call.origins, call.offsets + plane * problem_.windows());
  };
  if (call.offsets != nullptr &&
      (indices.sample->type == BNNSDataTypeUInt64 ? encoded(index_plane<uint64_t>(indices, plane))
                                                  : encoded(index_plane<uint32_t>(indices, plane))))
    return PoolingIndexRange::kWindow;
  if (are_below(indices, plane, true)) return PoolingIndexRange::kStrip;
  return are_below(indices, plane, false) ? PoolingIndexRange::kPlane : PoolingIndexRange::kOutside;
}

// ---- Offsets ----

void PoolingOp::use_offsets(Scratch& scratch, size_t planes, BackwardCall& call) const {
  const bool in_lines = !call.indices || call.indices.sample->stride[0] == 1;
  const bool offsets =
      backward_special_->max != nullptr && in_lines && !call.accumulate && call.dx.direct();
  prepare_offsets(scratch, planes, offsets);
  call.ranges = scratch.ranges.data();
  if (!offsets) return;
  call.offsets = scratch.offsets.data();
  call.origins = {scratch.origin_cells.data(), scratch.origin_columns.data()};
}

void PoolingOp::prepare_offsets(Scratch& scratch, size_t planes, bool offsets) const {
  const PoolingAxis &x = problem_.x, &y = problem_.y;
  const size_t n = x.windows, windows = problem_.windows();
  const size_t all = checked_mul(planes, windows, "working memory");
  if (scratch.ranges.size() < planes) scratch.ranges = Array<PoolingIndexRange>(memory_, planes);
  if (!offsets) return;
  if (scratch.offsets.size() < all) scratch.offsets = Array<uint16_t>(memory_, all);
  if (scratch.origin_columns) return;
  scratch.origin_cells = Array<uint32_t>(memory_, windows);
  scratch.origin_columns = Array<uint16_t>(memory_, windows);
  for (size_t k = 0; k < windows; ++k) {
    const size_t row = k / n * y.stride - y.pad;  // wraps around if it is before row 0
    scratch.origin_cells[k] = static_cast<uint32_t>(row * x.cells + k % n * x.stride - x.pad);
    const size_t before = k % n == 0 ? x.pad : 0, behind = k % n == n - 1 ? hangs_over(x) : 0;
    scratch.origin_columns[k] = static_cast<uint16_t>(before - behind);
  }
}

// Computes the offsets of a plane's indices. Returns false if an index is outside its window.
template <class T>
bool PoolingOp::encode(const PoolingPlane<const T>& index, const PoolingOrigins& origins,
                       uint16_t* offsets) const {
  const size_t n = problem_.x.windows, height = problem_.y.windows, taps = problem_.y.taps;
  // One call encodes all rows of windows whose cells are all inside the plane, if these rows have
  // no gaps between them.
  const size_t whole = height - hangs_over(problem_.y);
  bool all = true;
  for (size_t j = 0, count; j < height; j += count) {
    count = j < whole && index.row == n ? whole - j : 1;
    const PoolingReach reach = {
        .width = problem_.x.cells, .columns = problem_.x.taps, .rows = j < whole ? taps : taps - 1};
    const PoolingOrigins from = {origins.cell + j * n, origins.column + j * n};
    if constexpr (sizeof(T) == sizeof(uint64_t)) {
      all &= offset_kernels_->encode_64(index.data + j * index.row, from, count * n, reach,
                                        offsets + j * n);
    } else {
      all &= offset_kernels_->encode_32(index.data + j * index.row, from, count * n, reach,
                                        offsets + j * n);
    }
  }
  return all;
}

template bool PoolingOp::encode(const PoolingPlane<const uint32_t>&, const PoolingOrigins&,
                                uint16_t*) const;

}  // namespace bnns::impl
