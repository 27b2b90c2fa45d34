// Row kernels of pooling. A row of windows is computed in two steps: the first reduces each column
// over the rows that the windows cover and writes a padded row; the second reduces that row along
// each window. A maximum carries its cell, the index in the plane; among equal values, or several
// NaN, the smallest cell wins, which is the first in the order of a scan.
// Kernels may read two vectors behind the end of the padded rows (`columns`, `cells`, `padded`).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "core/checked.h"

namespace bnns::impl {

// The cell of padding. It is larger than every real cell, so that padding loses every tie.
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
  size_t cell = 0;  // the first of them
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
  // columns[i] = the maximum over the rows; cells[i] = its cell, which is first_cell + i in the
  // first row and cell_step more in each further row. cells may be NULL. Returns whether any
  // maximum is NaN.
  bool (*max_columns)(const PoolingRows& rows, size_t n, int32_t first_cell, int32_t cell_step,
                      float* columns, int32_t* cells);
  // y[i] = bias + the maximum over the taps that begin at columns[i * stride]; index[i] = its cell.
  // cells and index may be NULL. `nan` is what max_columns returned.
  void (*max_windows)(const float* columns, const int32_t* cells, const PoolingTaps& taps, size_t n,
                      bool nan, float bias, float* y, int32_t* index);
  // columns[i] = the sum over the rows of x, or of its squares.
  void (*sum_columns)(const PoolingRows& rows, size_t n, bool squares, float* columns);
  // With s the sum over the taps: y[i] = bias + s / (divisor[i] * factor), where division by 0
  // gives 0; without a divisor y[i] = bias + sqrt(s).
  void (*sum_windows)(const float* columns, const PoolingTaps& taps, size_t n, const float* divisor,
                      float factor, float bias, float* y);
};
const PoolingKernels* pooling_kernels();

struct PoolingBackwardKernels {
  // q[i] = g[i] / (divisor[i] * factor), where division by 0 gives 0.
  void (*divide)(const float* g, const float* divisor, float factor, size_t n, float* q);
  // row[x] = sum over the taps t of q((x + pad - t * dilation) / stride) where that is a whole
  // number; strides 1 and 2 only. q is 0 outside its row; padded[(count - 1) * dilation] is q(0).
  // Whole vectors are written.
  void (*spread_row)(const float* padded, const PoolingTaps& taps, size_t pad, size_t n,
                     float* row);
  // dx (+)= factor * the sum over the rows; factor may be NULL.
  void (*add_rows)(const PoolingRows& rows, size_t n, const float* factor, bool accumulate,
                   float* dx);

  // all_below: whether all indices of the client are below `limit`. narrow, widen: convert between
  // the client's UInt64 indices and int32.
  bool (*all_below_32)(const uint32_t* index, size_t n, uint32_t limit);
  bool (*all_below_64)(const uint64_t* index, size_t n, uint64_t limit);
  void (*narrow)(const uint64_t* index, size_t n, int32_t* to);
  void (*widen)(const int32_t* index, size_t n, uint64_t* to);
};
const PoolingBackwardKernels* pooling_backward_kernels();

}  // namespace bnns::impl
