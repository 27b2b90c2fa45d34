// The client's indices of pooling.h: written, read, and checked before anything is written.
#include "core/checked.h"
#include "core/parallel.h"
#include "ops/pooling/pooling.h"

namespace bnns::impl {
namespace {

// Windows of a strip: enough to pay for a call of a kernel.
constexpr size_t kStrip = 128;

}  // namespace

size_t PoolingOp::index_offset(const PoolingIndices& indices, size_t plane, size_t row) const {
  const View& view = window_view();
  const size_t step = indices.stride == 0 ? view.span : indices.stride;
  return plane / problem_.channels * step + plane % problem_.channels * view.stride[2] +
         row * view.stride[1];
}

// Rows [first, first + count) of a plane's maxima with their indices written where they belong, if
// there is a kernel for that.
bool PoolingOp::max_rows_64(const PoolingIndices& indices, size_t plane, const Plane& x,
                            size_t first, size_t count, float bias, const Plane& y) const {
  const View& view = window_view();
  if (!windows_3x3_ || view.stride[0] != 1 || indices.type != BNNSDataTypeUInt64) return false;
  auto* index = static_cast<uint64_t*>(indices.data) + index_offset(indices, plane, first);
  return kernels_3x3_->max_64({.x = problem_.x, .y = problem_.y}, first, count, {x.data, x.row},
                              bias, {y.data + first * y.row, y.row}, {index, view.stride[1]});
}

// Rows [first, first + count) of a plane's windows, from packed rows.
void PoolingOp::write_index(const PoolingIndices& indices, size_t plane, size_t first, size_t count,
                            const int32_t* from) const {
  const View& view = window_view();
  const size_t n = problem_.x.windows, step = view.stride[0];
  const bool packed = step == 1 && view.stride[1] == n;
  const size_t lines = packed ? 1 : count, length = packed ? count * n : n;
  for (size_t line = 0; line < lines; ++line) {
    const size_t offset = index_offset(indices, plane, first + line);
    const int32_t* row = from + line * n;
    auto* to = static_cast<uint64_t*>(indices.data) + offset;
    auto* to32 = static_cast<uint32_t*>(indices.data) + offset;
    if (step == 1 && indices.type == BNNSDataTypeUInt64) {
      backward_kernels_->widen(row, length, to);
    } else if (indices.type == BNNSDataTypeUInt64) {
      for (size_t i = 0; i < n; ++i) to[i * step] = static_cast<uint32_t>(row[i]);
    } else {
      for (size_t i = 0; i < length; ++i) to32[i * step] = static_cast<uint32_t>(row[i]);
    }
  }
}

// All indices of a plane into packed rows.
void PoolingOp::read_index(const PoolingIndices& indices, size_t plane, int32_t* to) const {
  const View& view = window_view();
  const size_t n = problem_.x.windows, step = view.stride[0];
  const bool packed = step == 1 && view.stride[1] == n;
  const size_t lines = packed ? 1 : problem_.y.windows, length = packed ? problem_.windows() : n;
  for (size_t line = 0; line < lines; ++line) {
    const size_t offset = index_offset(indices, plane, line);
    const auto* from = static_cast<const uint64_t*>(indices.data) + offset;
    const auto* from32 = static_cast<const uint32_t*>(indices.data) + offset;
    int32_t* row = to + line * n;
    if (step == 1 && indices.type == BNNSDataTypeUInt64) {
      backward_kernels_->narrow(from, length, row);
    } else if (indices.type == BNNSDataTypeUInt64) {
      for (size_t i = 0; i < n; ++i) row[i] = static_cast<int32_t>(from[i * step]);
    } else {
      for (size_t i = 0; i < length; ++i) row[i] = static_cast<int32_t>(from32[i * step]);
    }
  }
}

size_t PoolingOp::rows_of_strip() const {
  return std::max<size_t>(1, kStrip / problem_.x.windows);
}

// Cells of the rows up to the last one that windows before row `end` reach; of all windows, all.
size_t PoolingOp::cells_reached(size_t end) const {
  const PoolingAxis& y = problem_.y;
  if (end == y.windows) return problem_.cells();
  const size_t reach = (end - 1) * y.stride + (y.taps - 1) * y.dilation + 1;
  return reach > y.pad ? std::min(reach - y.pad, y.cells) * problem_.x.cells : 0;
}

PoolingIndexRange PoolingOp::range_of_indices(size_t batch, const PoolingIndices& indices) const {
  if (problem_.kind == PoolingKind::kMax && are_below(batch, indices, true))
    return PoolingIndexRange::kStrip;
  return are_below(batch, indices, false) ? PoolingIndexRange::kPlane : PoolingIndexRange::kOutside;
}

// Whether all indices are inside the plane, or the cells of their strip.
bool PoolingOp::are_below(size_t batch, const PoolingIndices& indices, bool strips) const {
  const View& view = window_view();
  const size_t planes = batch * problem_.channels, height = problem_.y.windows;
  const size_t n = problem_.x.windows, step = view.stride[0];
  const bool packed = step == 1 && view.stride[1] == view.extent[0];
  const bool narrow = indices.type == BNNSDataTypeUInt32;
  const auto inside = [&](const auto* line, size_t count, size_t limit) {
    bool all = true;
    for (size_t i = 0; i < count; ++i) all &= line[i * step] < limit;
    return all;
  };
  const auto check = [&](size_t offset, size_t count, size_t limit) {
    const auto* line32 = static_cast<const uint32_t*>(indices.data) + offset;
    const auto* line64 = static_cast<const uint64_t*>(indices.data) + offset;
    if (step != 1) return narrow ? inside(line32, count, limit) : inside(line64, count, limit);
    return narrow ? backward_kernels_->all_below_32(line32, count, static_cast<uint32_t>(limit))
                  : backward_kernels_->all_below_64(line64, count, limit);
  };
  const size_t rows = strips ? rows_of_strip() : height;
  const auto check_plane = [&](size_t plane) {
    const size_t offset = index_offset(indices, plane, 0);
    bool all = true;
    for (size_t first = 0; first < height; first += rows) {
      const size_t end = std::min(first + rows, height), limit = cells_reached(end);
      // The rows in one line, where they are.
      const size_t lines = packed ? 1 : end - first;
      for (size_t k = 0; k < lines; ++k)
        all &= check(offset + (first + k) * view.stride[1], (end - first) / lines * n, limit);
    }
    return all;
  };
  std::atomic<bool> all{true};
  const size_t grain = std::max<size_t>(1, 8192 / problem_.windows());
  const size_t threads =
      useful_threads(threads_, 0.3 * static_cast<double>(planes * problem_.windows()));
  parallel_for(threads, div_up(planes, grain), [&](size_t g, size_t) {
    const size_t end = std::min(planes, (g + 1) * grain);
    for (size_t plane = g * grain; plane < end; ++plane)
      if (!check_plane(plane)) all.store(false, std::memory_order_relaxed);
  });
  return all.load(std::memory_order_relaxed);
}

}  // namespace bnns::impl
