// Kernels of resize.h: sums of rows, and rows along a resized axis.
#pragma once

#include <cstddef>
#include <cstdint>

#include "ops/resize/axis_map.h"

namespace bnns::impl {

// Rows that one call of `mix` sums.
constexpr size_t kMixedRows = 4;

struct ResizeMix {
  const float* row[kMixedRows];
  float weight[kMixedRows];
  const float* base;  // what the sum is added to, or nullptr; not `to`
  size_t n;
  float* to;
};

// Targets [first, first + count) of a row.
struct ResizeRowCall {
  const uint32_t *begin, *offset;
  const float *weight, *dense;
  size_t sources, targets;
  const float* from;  // beginning with source `first_source`
  size_t first_source, first, count;
  float* to;
};

struct ResizeKernels {
  void (*mix[kMixedRows])(const ResizeMix&);  // of 1, 2, 3 and 4 rows
  void (*row[kResizeRows])(const ResizeRowCall&);
  void (*add)(const float* x, size_t n, float* y);  // y += x
};
const ResizeKernels* resize_kernels();

}  // namespace bnns::impl
