// Kernels for single kinds of windows, and the lists from which they are chosen when an op is made.
// Each list is searched from its beginning: the first choice that accepts the problem serves it,
// and the last one, with no kernels of its own, accepts all. A choice takes over some steps of a
// pass; where its pointer is NULL, the op takes the general steps. To remove a choice, delete its
// entry in special.cpp, its declaration here and the file of its kernels.
#pragma once

#include <cstddef>
#include <cstdint>

#include "ops/pooling/kernels.h"

namespace bnns::impl {

struct PoolingProblem;

// ---- Forward ----

// Rows of windows [first, first + count) of a plane; y begins with the first of them.
struct PoolingRowsCall {
  PlaneAxes axes;
  size_t first, count;
  PoolingPlane<const float> x;
  float bias;
  PoolingPlane<float> y;
};

struct PoolingForwardSpecial {
  // Whether the windows of a row are enough to fill the vectors of the target.
  bool (*takes)(const PoolingAxis& x) = nullptr;
  // y = bias + the maxima, and their cells; index.data may be NULL. False if there may be a NaN:
  // then the rows must be made in general steps.
  bool (*max)(const PoolingRowsCall& call, const PoolingPlane<int32_t>& index) = nullptr;
  // y = bias + sum / (divisor * factor), the factor being the rows of the window inside the plane,
  // or with whole windows 1.
  void (*average)(const PoolingRowsCall& call, bool whole, const float* divisor) = nullptr;
  // y[k * y_step] = bias[k] + the sum of n values from x + k * x_step / divisor. bias may be NULL.
  void (*average_planes)(const float* x, size_t x_step, size_t n, size_t count, float divisor,
                         const float* bias, float* y, size_t y_step) = nullptr;
};

// ---- Backward ----

struct PoolingBackwardSpecial {
  bool (*takes)(const PoolingAxis& x) = nullptr;
  // dx = the sum over those g whose index is the cell; offsets (see below) are packed.
  void (*max)(const PlaneAxes& axes, const uint16_t* offsets, const PoolingPlane<const float>& g,
              const PoolingPlane<float>& dx) = nullptr;
  // dx (+)= the sum over the windows of a cell of g / (divisor * factor), the factor being the rows
  // of the window inside the plane, or with whole windows 1.
  void (*average)(const PlaneAxes& axes, bool whole, const PoolingPlane<const float>& g,
                  const float* divisor, bool accumulate, const PoolingPlane<float>& dx) = nullptr;
  // dx = g[k * g_step] / divisor, n times from dx + k * dx_step.
  void (*average_planes)(const float* g, size_t g_step, float divisor, size_t n, size_t count,
                         float* dx, size_t dx_step) = nullptr;
};

// ---- Offsets of the maxima, for the backward kernels of 2 x 2 and 3 x 3 windows ----

// The offset of an index is its distance from the first cell of its window: row * width + column.
// Planes whose indices have one are of this width at most, so that 16 bits and a sign are enough.
constexpr size_t kWidestOffset = 8192;

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
};
const PoolingOffsetKernels* pooling_offset_kernels();

// ---- Choices ----

// Those of the chosen target, each in a file of its own.
const PoolingForwardSpecial* pooling_3x3();
const PoolingForwardSpecial* pooling_2x2();
const PoolingForwardSpecial* pooling_global_average();
const PoolingBackwardSpecial* pooling_3x3_max_backward();
const PoolingBackwardSpecial* pooling_3x3_average_backward();
const PoolingBackwardSpecial* pooling_2x2_backward();
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
