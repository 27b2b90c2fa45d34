// Row kernels of pooling. A row of windows is made in two steps: down the columns, over the rows
// that the windows cover, into a padded row; then along that row. A maximum carries the cell it was
// found in, counted through the plane; equal values, and NaN, are settled for the smaller cell,
// which is the first in the order of a scan.
// The padded rows (`columns`, `cells`, `padded`) are readable for two vectors behind their end.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "core/checked.h"

namespace bnns::impl {

// Stands for "no cell" in padding; above all cells, so that it loses every tie.
constexpr int32_t kNoCell = std::numeric_limits<int32_t>::max();

struct PoolingTaps {
  size_t count, dilation, stride;
};

// Windows along one axis: tap t of window i is at the cell i * stride + t * dilation - pad.
struct PoolingAxis {
  size_t cells, windows, taps, stride, dilation, pad;
};

// The cells of a window that are inside the plane, along one axis.
struct TapRange {
  size_t cell = 0;  // the first
  size_t count = 0;
};
inline TapRange real_taps(const PoolingAxis& axis, size_t window) {
  const size_t origin = window * axis.stride;
  if (axis.dilation == 1) {  // the common case, without a division
    const size_t end = std::min(origin + axis.taps, axis.pad + axis.cells);
    const size_t begin = std::max(origin, axis.pad);
    return begin < end ? TapRange{.cell = begin - axis.pad, .count = end - begin} : TapRange{};
  }
  const size_t first = origin >= axis.pad ? 0 : div_up(axis.pad - origin, axis.dilation);
  if (first >= axis.taps) return {};
  const size_t cell = origin + first * axis.dilation - axis.pad;
  if (cell >= axis.cells) return {};
  const size_t room = (axis.cells - 1 - cell) / axis.dilation + 1;
  return {.cell = cell, .count = std::min(axis.taps - first, room)};
}

struct PoolingRows {
  const float* data;  // the first row
  size_t count;
  size_t step;  // values from row to row
};

struct PlaneAxes {
  const PoolingAxis &x, &y;
};

template <class T>
struct PoolingPlane {
  T* data;
  size_t row;  // values from row to row
};

struct PoolingKernels {
  // columns[i] = the maximum over the rows; cells[i] its cell, that of the first row being
  // first_cell + i and cell_step more in each further row. cells may be NULL. True if any is NaN.
  bool (*max_columns)(const PoolingRows& rows, size_t n, int32_t first_cell, int32_t cell_step,
                      float* columns, int32_t* cells);
  // y[i] = bias + the maximum over the taps from columns[i * stride]; index[i] its cell. cells and
  // index may be NULL. `nan` as max_columns returned it.
  void (*max_windows)(const float* columns, const int32_t* cells, const PoolingTaps& taps, size_t n,
                      bool nan, float bias, float* y, int32_t* index);
  // Both steps for windows of 2 x 2 at a stride of 2. index may be NULL.
  void (*max_2x2)(const float* top, const float* bottom, size_t n, int32_t first_cell,
                  int32_t cell_step, float bias, float* y, int32_t* index);
  // columns[i] = the sum over the rows of x, or of its squares.
  void (*sum_columns)(const PoolingRows& rows, size_t n, bool squares, float* columns);
  // With s the sum over the taps: y[i] = bias + s / (divisor[i] * factor), or without a divisor
  // bias + sqrt(s). Nothing divided by 0 is 0.
  void (*sum_windows)(const float* columns, const PoolingTaps& taps, size_t n, const float* divisor,
                      float factor, float bias, float* y);
  // y[k * y_step] = bias[k] + the sum of n values from x + k * x_step / divisor. bias may be NULL.
  void (*average_planes)(const float* x, size_t x_step, size_t n, size_t count, float divisor,
                         const float* bias, float* y, size_t y_step);
};
const PoolingKernels* pooling_kernels();

// Whether windows along an axis are of 3 cells at a stride of 2, the middle one always inside.
inline bool is_3by2(const PoolingAxis& axis) {
  return axis.taps == 3 && axis.stride == 2 && axis.dilation == 1 && axis.pad <= 1 &&
         2 * axis.windows <= axis.pad + axis.cells;
}

// For rows of windows [first, first + count) of planes that are is_3by2 in width and height; y and
// index begin with the first of them. False if it must be done otherwise, as rows are too short;
// then nothing is settled.
struct Pooling3x3Kernels {
  // y = bias + the maxima, and where they are; index.data may be NULL. False also if there may be
  // a NaN.
  bool (*max_32)(const PlaneAxes& axes, size_t first, size_t count,
                 const PoolingPlane<const float>& x, float bias, const PoolingPlane<float>& y,
                 const PoolingPlane<uint32_t>& index);
  bool (*max_64)(const PlaneAxes& axes, size_t first, size_t count,
                 const PoolingPlane<const float>& x, float bias, const PoolingPlane<float>& y,
                 const PoolingPlane<uint64_t>& index);
  // y = bias + sum / (divisor * factor), the factor being the rows of the window inside the plane,
  // or with whole windows 1.
  bool (*average)(const PlaneAxes& axes, bool whole, size_t first, size_t count,
                  const PoolingPlane<const float>& x, const float* divisor, float bias,
                  const PoolingPlane<float>& y);
};
const Pooling3x3Kernels* pooling_3x3_kernels();

struct PoolingBackwardKernels {
  // q[i] = g[i] / (divisor[i] * factor), 0 where that is division by 0.
  void (*divide)(const float* g, const float* divisor, float factor, size_t n, float* q);
  // row[x] = sum over the taps t of q((x + pad - t * dilation) / stride) where that is a whole
  // number; strides 1 and 2 only. q is 0 outside its row; padded[(count - 1) * dilation] is q(0).
  // Whole vectors are written.
  void (*spread_row)(const float* padded, const PoolingTaps& taps, size_t pad, size_t n,
                     float* row);
  // dx = g[k * g_step] / divisor, n times from dx + k * dx_step.
  void (*spread_planes)(const float* g, size_t g_step, float divisor, size_t n, size_t count,
                        float* dx, size_t dx_step);
  // dx (+)= factor * the sum over the rows; factor may be NULL.
  void (*add_rows)(const PoolingRows& rows, size_t n, const float* factor, bool accumulate,
                   float* dx);

  // Indices of the client.
  bool (*all_below_32)(const uint32_t* index, size_t n, uint32_t limit);
  bool (*all_below_64)(const uint64_t* index, size_t n, uint64_t limit);
  void (*narrow)(const uint64_t* index, size_t n, int32_t* to);
  void (*widen)(const int32_t* index, size_t n, uint64_t* to);
};
const PoolingBackwardKernels* pooling_backward_kernels();

// For planes that are is_3by2 in width and height.
struct Pooling3x3BackwardKernels {
  // dx (+)= the sum over the windows of a cell of g / (divisor * factor), the factor being the rows
  // of the window inside the plane, or with whole windows 1.
  void (*average)(const PlaneAxes& axes, bool whole, const PoolingPlane<const float>& g,
                  const float* divisor, bool accumulate, const PoolingPlane<float>& dx);
};
const Pooling3x3BackwardKernels* pooling_3x3_backward_kernels();

// The offset of an index is its distance from the first cell of its window: row * width + column.
// Planes whose indices have one are of this width at most, so that 16 bits and a sign are enough.
constexpr size_t kWidestOffset = 8192;

inline bool have_offsets(const PoolingAxis& x, const PoolingAxis& y) {
  const auto is_2by2 = [](const PoolingAxis& axis) {
    return axis.taps == 2 && axis.stride == 2 && axis.dilation == 1 && axis.pad == 0 &&
           2 * axis.windows <= axis.cells;
  };
  if (x.cells < x.taps || x.cells > kWidestOffset) return false;
  return (is_2by2(x) && is_2by2(y)) || (is_3by2(x) && is_3by2(y));
}

// Of windows, from left to right and downwards.
struct PoolingOrigins {
  const uint32_t* cell;    // the first one, modulo 2^32
  const uint16_t* column;  // its first column inside the plane; of those without the last one, -1
};

// The cells of windows that are inside a plane: 2 columns of 2, or 3 columns of 2 or 3.
struct PoolingReach {
  size_t width;  // of the plane
  size_t columns, rows;
};

struct PoolingOffsetKernels {
  // offsets[i] = index[i] - origins.cell[i]. False if an index is outside its window, or outside
  // the plane.
  bool (*encode_32)(const uint32_t* index, const PoolingOrigins& origins, size_t n,
                    const PoolingReach& reach, uint16_t* offsets);
  bool (*encode_64)(const uint64_t* index, const PoolingOrigins& origins, size_t n,
                    const PoolingReach& reach, uint16_t* offsets);
  // Gradients of 2 x 2 windows at a stride of 2, from the first cell on, with packed offsets: g
  // goes to the cell of its index, the others get 0.
  void (*spread_2x2)(const uint16_t* offsets, const PoolingPlane<const float>& g,
                     const PlaneAxes& axes, const PoolingPlane<float>& dx);
};
const PoolingOffsetKernels* pooling_offset_kernels();

// For planes that are is_3by2 in width and height.
struct Pooling3x3OffsetKernels {
  // dx = the sum over those g whose index is the cell; offsets are packed.
  void (*spread)(const PlaneAxes& axes, const uint16_t* offsets, const PoolingPlane<const float>& g,
                 const PoolingPlane<float>& dx);
};
const Pooling3x3OffsetKernels* pooling_3x3_offset_kernels();

}  // namespace bnns::impl
