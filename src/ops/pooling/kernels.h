// Row kernels of pooling. A row of windows is made in two steps: down the columns, over the rows
// that the windows cover, into a padded row; then along that row. A maximum carries the cell it was
// found in, counted through the plane; equal values, and NaN, are settled for the smaller cell,
// which is the first in the order of a scan.
// The padded rows (`columns`, `cells`, `padded`) are readable for two vectors behind their end.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>

namespace bnns::impl {

// Stands for "no cell" in padding; above all cells, so that it loses every tie.
constexpr int32_t kNoCell = std::numeric_limits<int32_t>::max();

struct PoolingTaps {
  size_t count, dilation, stride;
};

// The cells of a window that are inside the plane, along one axis.
struct TapRange {
  size_t cell = 0;  // the first
  size_t count = 0;
};

struct PoolingRows {
  const float* data;  // the first row
  size_t count;
  size_t step;  // values from row to row
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
};
const PoolingKernels* pooling_kernels();

struct PoolingBackwardKernels {
  // Two rows of gradients of 2 x 2 windows at a stride of 2: g[i] goes to the cell index[i], the
  // others get 0. False if an index is outside its window.
  bool (*spread_2x2)(const int32_t* index, const float* g, size_t n, int32_t first_cell,
                     int32_t cell_step, float* top, float* bottom);
  // q[i] = g[i] / (divisor[i] * factor), 0 where that is division by 0.
  void (*divide)(const float* g, const float* divisor, float factor, size_t n, float* q);
  // row[x] = sum over the taps t of q((x + pad - t * dilation) / stride) where that is a whole
  // number; strides 1 and 2 only. q is 0 outside its row; padded[(count - 1) * dilation] is q(0).
  // Whole vectors are written.
  void (*spread_row)(const float* padded, const PoolingTaps& taps, size_t pad, size_t n,
                     float* row);
  // Both steps for windows of 3 cells in width at a stride of 2, with a pad of 0 or 1: dx = the sum
  // over the rows of q, each spread. q is 0 outside its row.
  void (*spread_3by2)(const PoolingRows& q, size_t pad, size_t n, float* dx);
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
