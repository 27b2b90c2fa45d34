// The kernels of the matrix product, one table per SIMD target; gemm.h has what they serve.
#pragma once

#include <cstddef>

#include "ops/epilogue/epilogue.h"

namespace bnns::impl {

// Products summed one after the other before sums are joined pairwise. Tiles take 32, which costs
// about 3 % of their speed; chains of 64 would double the error of equal terms.
// Products that are not packed mostly wait for memory: 4, so that sums of equal terms stay below
// one eps, too.
constexpr size_t kGemmChain = 32;
constexpr size_t kGemmShortChain = 4;
// Depth of a block. Joining blocks takes about 100 cycles a tile, a block of 1024 with AVX2 6000; a
// panel of B (64 KB) then streams from the second-level cache, at a third of what that can.
constexpr size_t kGemmDepth = 1024;
// Panels of B that are packed together, so that whole pieces of its rows are read.
constexpr size_t kGemmPackPanels = 4;

// C, and what happens to a product before it is stored there.
struct GemmTarget {
  float* data;
  size_t row;  // distance of rows
  Epilogue epilogue = {};
};

// Panels of rows of A times a panel of B: tiles of C below each other. Sums of earlier blocks come
// from `sum_in`, those of this one and the earlier go to `sum_out` (mr * nr values hi, as many lo
// for each tile); without sum_out the result goes to C from `c` on, whose terms are moved to the
// first tile. Operands may lie in their matrices: whole vectors then are read as far as `columns`
// go.
struct GemmTileJob {
  const float *a, *b;
  size_t a_row;   // 0: a is a panel; otherwise the distance of the rows of A, steps are neighbours
  size_t b_step;  // between steps of depth; nr in a panel
  size_t a_next;  // between panels of A
  size_t panels;
  size_t depth;
  size_t rows, columns;  // of a tile
  const float* sum_in;
  float* sum_out;
  GemmTarget c;
};

// Operands of the kernels that do not pack. A(m, k) at a[m * a_row + k * a_k].
// B of dot: B(k, n) at b[n * b_row + k]; B of axpy: B(k, n) at b[k * b_row + n].
struct GemmDirect {
  const float* a;
  size_t a_row, a_k;
  const float* b;
  size_t b_row;
  size_t k;
};

struct GemmKernels {
  size_t mr, nr;
  void (*tile)(const GemmTileJob& job);
  // Panels of `width` lines from lines that are contiguous along K (source[line * stride + k]) or
  // next to each other (source[k * stride + line]); zeros behind `count`.
  void (*pack_along)(const float* source, size_t stride, size_t count, size_t depth, size_t width,
                     float* panel);
  void (*pack_across)(const float* source, size_t stride, size_t count, size_t depth, size_t width,
                      float* panel);
  // kGemmPackPanels panels of nr neighbouring lines each, panel_step apart: long pieces of rows.
  void (*pack_wide)(const float* source, size_t stride, size_t depth, size_t panel_step,
                    float* panels);
  // Rows [m0, m1), columns [n0, n1) of C; dot needs a_k == 1.
  void (*dot)(const GemmDirect& p, const GemmTarget& c, size_t m0, size_t m1, size_t n0, size_t n1);
  void (*axpy)(const GemmDirect& p, const GemmTarget& c, size_t m0, size_t m1, size_t n0,
               size_t n1);
  // sums[n] (+)= the sum over m of a[m * row + n].
  void (*column_sums)(const float* a, size_t row, size_t m, size_t n, float* sums, bool accumulate);
};
const GemmKernels* gemm_kernels();

}  // namespace bnns::impl
