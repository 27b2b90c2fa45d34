// Kernels of the convolution on blocks of padded rows (see plan.h):
//   products         out(m, i, j) = epilogue of the sum over k of panel(k, m) * x(offset[k] + i, j)
//   weight gradient  sums(n, m) += sum over i, j of a(m, i, j) * x(offset[n] + i, j)
//   outer            the weight gradient with `a` transposed: the lanes of a vector run along m
// The products kernels sum blocks of at most kDepthBlock terms separately and then add the blocks.
#pragma once

#include <cstddef>
#include <cstdint>

#include "ops/epilogue/epilogue.h"

namespace bnns::impl {

// Output channels per panel of packed weights; the last panel of a group has the remaining ones.
constexpr size_t kPanel = 4;
constexpr size_t kDepthBlock = 256;
// Vectors of columns in a tile of the packed kernel.
constexpr size_t kPackedVectors = 3;
// Vectors of channels in a tile of the outer kernel.
constexpr size_t kOuterVectors = 3;

struct ConvolutionProducts {
  const float* x;
  size_t x_row;
  size_t x_plane;  // packed kernel: if not 0, the offset of term k is k * x_plane, not offset[k]
  const int32_t* offset;
  size_t depth;
  const float* panels;  // of channel 0; `channels` of them are used
  size_t channels;
  bool leads;  // whether channel 0 is the first of its group, not only of this grain
  size_t rows, columns;
  float* out;
  size_t out_plane, out_row, out_step;
  // Channels are rows: alpha, beta and the terms of columns are not used. `least` is for the packed
  // kernel, and must be NULL with accumulate.
  Epilogue epilogue = {};
};

constexpr size_t kDepthwiseTaps = 3;

// The source of a depthwise 3 x 3 kernel whose taps are in consecutive rows. Values outside it are
// zero.
struct ConvolutionDepthwise {
  const float* data;
  size_t plane, row;
  size_t rows, columns;              // columns: at least a vector, or more than are ever read
  ptrdiff_t first_row;               // source row of the first tap for output row 0
  ptrdiff_t column[kDepthwiseTaps];  // source column of each tap for output column 0
};

// Sums are stored as [n][sums_row] with m fastest. Rows of `a` that are shorter than a vector are
// padded with zeros to a whole one.
struct ConvolutionWeightGradient {
  const float* a;
  size_t a_plane, a_row;
  size_t channels;
  const float* x;
  size_t x_row;
  const int32_t* offset;
  size_t depth;
  size_t rows, columns;
  float* sums;
  size_t sums_row;
};

// a is stored as [pixel][vectors of channels], sums as [n][sums_row] with m fastest; both are
// aligned.
struct ConvolutionOuter {
  const float* a;
  size_t vectors;  // at most kOuterVectors
  const float* x;
  size_t x_row;
  size_t x_plane;  // if not 0, the offset of window n is n * x_plane, not offset[n]
  const int32_t* offset;
  size_t depth;
  size_t rows, columns;
  float* sums;
  size_t sums_row;
};

using ProductsKernel = void (*)(const ConvolutionProducts& block);
using DepthwiseProductsKernel = void (*)(const ConvolutionDepthwise& x,
                                         const ConvolutionProducts& block);
using WeightGradientKernel = void (*)(const ConvolutionWeightGradient& block);
using DepthwiseWeightGradientKernel = void (*)(const ConvolutionDepthwise& x,
                                               const ConvolutionWeightGradient& block);

// to[e * to_row + k] = from[k * from_row + e] for e < n, k < count; 0 for count <= k < end.
struct ConvolutionTranspose {
  const float* from;
  size_t from_row, count, n;
  float* to;
  size_t to_row, end;
};

struct OuterKernels {
  void (*outer)(const ConvolutionOuter& block);
  void (*transpose)(const ConvolutionTranspose& block);
};

// Copies source rows into the buffer: of each plane `rows` rows, `from_row` apart in the source and
// `pitch` apart in the buffer.
struct ConvolutionCopy {
  const float* from;
  size_t from_plane, from_row, from_step;
  size_t planes, rows;
  ptrdiff_t first;  // source position of column 0
  size_t step;      // distance in the source between neighbouring columns
  size_t size;      // positions outside [0, size) are copied as 0
  float* to;
  size_t to_plane, pitch;
  size_t columns;
};

// A whole panel of weights: to[(c * taps + t) * kPanel + m] is tap t, or taps - 1 - t if reversed,
// of output channel m and source channel c at from[c * by_source + m * by_output + t].
struct ConvolutionPanel {
  const float* from;
  size_t by_source, by_output;
  size_t sources, taps;
  bool reversed;
  float* to;
};
using PanelKernel = void (*)(const ConvolutionPanel& panel);

struct ConvolutionKernels {
  size_t lanes;
  size_t tile;               // columns in a tile of packed_products
  size_t depthwise_columns;  // least width of a row that the depthwise kernels accept
  void (*copy)(const ConvolutionCopy& block);
  PanelKernel pack_panel;
  ProductsKernel products;                     // for few output channels
  ProductsKernel packed_products;              // for many output channels
  DepthwiseProductsKernel depthwise_products;  // one output channel, 3 x 3 taps
  WeightGradientKernel weight_gradient;
  DepthwiseWeightGradientKernel depthwise_weight_gradient;  // one channel, 3 x 3 taps
  OuterKernels many;  // in place of weight_gradient, for many channels
  double (*sum)(const float* row, size_t step, size_t n);
};

// Each kernel file exports its own kernels of the chosen target; convolution_kernels() is the table
// of all of them.
PanelKernel convolution_panel();
ProductsKernel convolution_products();
ProductsKernel convolution_packed_products();
DepthwiseProductsKernel convolution_depthwise_products();
OuterKernels convolution_outer();
WeightGradientKernel convolution_weight_gradient();
DepthwiseWeightGradientKernel convolution_depthwise_weight_gradient();
ConvolutionKernels convolution_kernels();

}  // namespace bnns::impl
