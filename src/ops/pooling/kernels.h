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
  // columns[i] = the sum over the rows of x, or of its squares.
  void (*sum_columns)(const PoolingRows& rows, size_t n, bool squares, float* columns);
  // With s the sum over the taps: y[i] = bias + s / (divisor[i] * factor), or without a divisor
  // bias + sqrt(s). Nothing divided by 0 is 0.
  void (*sum_windows)(const float* columns, const PoolingTaps& taps, size_t n, const float* divisor,
                      float factor, float bias, float* y);
};
const PoolingKernels* pooling_kernels();

struct PoolingBackwardKernels {
  // q[i] = g[i] / (divisor[i] * factor), 0 where that is division by 0.
  void (*divide)(const float* g, const float* divisor, float factor, size_t n, float* q);
  // row[x] = sum over the taps t of q((x + pad - t * dilation) / stride) where that is a whole
  // number; strides 1 and 2 only. q is 0 outside its row; padded[(count - 1) * dilation] is q(0).
  // Whole vectors are written.
  void (*spread_row)(const float* padded, const PoolingTaps& taps, size_t pad, size_t n,
                     float* row);
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

}  // namespace bnns::impl
