// Kernels for particular window shapes, and the lists from which an op chooses them at creation.
// Each list is searched from its beginning: the first choice that accepts the problem is used, and
// the last one, which has no kernels of its own, accepts every problem. A choice replaces some
// steps of a pass; where its pointer is NULL, the op runs the general steps. To remove a choice,
// delete its entry in special.cpp, its declaration here and the file of its kernels.
#pragma once

#include <cstddef>
#include <cstdint>

#include "ops/pooling/kernels.h"

namespace bnns::impl {

struct PoolingProblem;

// ---- Forward ----

// Rows of windows [first, first + count) of a plane; y.data is the first of these rows.
struct PoolingRowsCall {
  PlaneAxes axes;
  size_t first, count;
  PoolingPlane<const float> x;
  float bias;
  PoolingPlane<float> y;
};

// All rows of `count` planes of a sample.
struct PoolingPlanesCall {
  PlaneAxes axes;
  size_t count;
  PoolingPlane<const float> x;  // the first plane; the others follow x_step apart
  size_t x_step;
  const float* bias;  // by plane; NULL: none
  PoolingPlane<float> y;
  size_t y_step;

  PoolingRowsCall operator[](size_t k) const {
    return {.axes = axes,
            .first = 0,
            .count = axes.y.windows,
            .x = {x.data + k * x_step, x.row},
            .bias = bias == nullptr ? 0 : bias[k],
            .y = {y.data + k * y_step, y.row}};
  }
};

struct PoolingForwardSpecial {
  // Whether a row has enough windows for the vectors of the kernel.
  bool (*takes)(const PoolingAxis& x) = nullptr;
  // y = bias + the maxima; index: their cells, data may be NULL. Returns false if there may be a
  // NaN: then the general steps must compute the rows.
  bool (*max)(const PoolingRowsCall& call, const PoolingPlane<int32_t>& index) = nullptr;
  // y = bias + sum / (divisor * factor). The factor is the number of rows of the window inside the
  // plane, or 1 if `whole` is set.
  void (*average)(const PoolingRowsCall& call, bool whole, const float* divisor) = nullptr;
  // max without indices, or average, of several planes: on small ones a call for each would cost
  // more than its work.
  void (*planes)(const PoolingPlanesCall& call) = nullptr;
  // y[k * y_step] = bias[k] + (sum of the n values at x + k * x_step) / divisor for k < count. bias
  // may be NULL.
  void (*average_planes)(const float* x, size_t x_step, size_t n, size_t count, float divisor,
                         const float* bias, float* y, size_t y_step) = nullptr;
};

// ---- Backward ----

struct PoolingBackwardSpecial {
  bool (*takes)(const PoolingAxis& x) = nullptr;
  // Each cell of dx = the sum of those g whose index is this cell. The offsets (see below) are
  // packed.
  void (*max)(const PlaneAxes& axes, const uint16_t* offsets, const PoolingPlane<const float>& g,
              const PoolingPlane<float>& dx) = nullptr;
  // Each cell of dx (+)= the sum of g / (divisor * factor) over the windows that contain the cell.
  // The factor is the number of rows of the window inside the plane, or 1 if `whole` is set.
  void (*average)(const PlaneAxes& axes, bool whole, const PoolingPlane<const float>& g,
                  const float* divisor, bool accumulate, const PoolingPlane<float>& dx) = nullptr;
  // The same for `count` planes, g_step and dx_step apart; whole windows only.
  void (*planes)(const PlaneAxes& axes, size_t count, const PoolingPlane<const float>& g,
                 size_t g_step, bool accumulate, const PoolingPlane<float>& dx,
                 size_t dx_step) = nullptr;
  // Fills the n values at dx + k * dx_step with g[k * g_step] / divisor, for k < count.
  void (*average_planes)(const float* g, size_t g_step, float divisor, size_t n, size_t count,
                         float* dx, size_t dx_step) = nullptr;
};

// ---- Offsets of the maxima, for the backward kernels of 2 x 2 and 3 x 3 windows ----

// The offset of an index is its distance from the first cell of its window: row * width + column.
// Offsets are used for planes of at most this width, so that 16 bits with a sign hold them.
constexpr size_t kWidestOffset = 8192;

// For each window of a plane, row by row.
struct PoolingOrigins {
  const uint32_t* cell;    // the window's first cell, modulo 2^32: it may be in the padding
  const uint16_t* column;  // the first window column inside the plane; -1 if the last is outside
};

// The part of a window that is inside the plane: 2 columns and 2 rows, or 3 columns and 2 or 3
// rows.
struct PoolingReach {
  size_t width;  // row length of the plane
  size_t columns, rows;
};

struct PoolingOffsetKernels {
  // offsets[i] = index[i] - origins.cell[i]. False if an index is outside its window, or outside
  // the plane.
  bool (*encode_32)(const uint32_t* index, const PoolingOrigins& origins, size_t n,
                    const PoolingReach& reach, uint16_t* offsets);
  bool (*encode_64)(const uint64_t* index, const PoolingOrigins& origins, size_t n,
                    const PoolingReach& reach, uint16_t* offsets);
};
const PoolingOffsetKernels* pooling_offset_kernels();

// ---- Choices ----

// The kernels of the chosen target, each in a file of its own.
const PoolingForwardSpecial* pooling_3x3();
const PoolingForwardSpecial* pooling_2x2_max();
const PoolingForwardSpecial* pooling_2x2_average();
const PoolingForwardSpecial* pooling_global_average();
const PoolingBackwardSpecial* pooling_3x3_max_backward();
const PoolingBackwardSpecial* pooling_3x3_average_backward();
const PoolingBackwardSpecial* pooling_2x2_max_backward();
const PoolingBackwardSpecial* pooling_2x2_average_backward();
const PoolingBackwardSpecial* pooling_global_average_backward();

template <class Special>
struct PoolingChoice {
  const char* name;
  bool (*accepts)(const PoolingProblem& problem);
  const Special* (*special)();
};
const PoolingChoice<PoolingForwardSpecial>& choose_pooling_forward(const PoolingProblem& problem);
const PoolingChoice<PoolingBackwardSpecial>& choose_pooling_backward(const PoolingProblem& problem);

}  // namespace bnns::impl
