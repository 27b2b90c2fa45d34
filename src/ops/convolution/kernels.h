// Kernels of the convolution on blocks of padded rows (see plan.h):
//   products         out(m, i, j) (+)= bias(m) + sum over k of panel(k, m) * x(offset[k] + i, j)
//   weight gradient  sums(n, m) += sum over i, j of a(m, i, j) * x(offset[n] + i, j)
//   outer            the same with a transposed, lanes along m
// Sums of products are cut into blocks of at most kDepthBlock terms, each summed by itself.
#pragma once

#include <cstddef>
#include <cstdint>

namespace bnns::impl {

// Output channels per panel of packed weights; the last panel of a group has the remaining ones.
constexpr size_t kPanel = 4;
constexpr size_t kDepthBlock = 256;
// Vectors of columns that the packed kernel takes at a time.
constexpr size_t kPackedVectors = 3;
// Vectors of channels that the outer kernel takes at a time.
constexpr size_t kOuterVectors = 3;

struct ConvolutionProducts {
  const float* x;
  size_t x_row;
  size_t x_plane;  // packed kernel: if not 0, term k lies at k * x_plane instead of offset[k]
  const int32_t* offset;
  size_t depth;
  const float* panels;  // of channel 0; `channels` of them are used
  size_t channels;
  bool leads;  // channel 0 is the first of its group, not only of this grain
  size_t rows, columns;
  float* out;
  size_t out_plane, out_row, out_step;
  const float* bias;  // per channel, or NULL
  bool accumulate;
  // Packed kernel: NULL, or the address of a 0; outputs below it become 0. In memory, because a
  // constant would take a register of the loop over the terms. Not with accumulate.
  const float* least = nullptr;
};

constexpr size_t kDepthwiseTaps = 3;

// The source of a depthwise 3 x 3 kernel whose taps lie in consecutive rows; outside it is 0.
struct ConvolutionDepthwise {
  const float* data;
  size_t plane, row;
  size_t rows, columns;              // columns: at least a vector, or more than are ever read
  ptrdiff_t first_row;               // of output 0,
  ptrdiff_t column[kDepthwiseTaps];  // and its columns
};

// Sums are laid out [n][sums_row] with m fastest. Rows of `a` shorter than a vector end with zeros
// up to a whole one.
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

// a: [pixel][vectors of channels], aligned; sums: [n][sums_row], aligned, m fastest.
struct ConvolutionOuter {
  const float* a;
  size_t vectors;  // at most kOuterVectors
  const float* x;
  size_t x_row;
  size_t x_plane;  // if not 0, window n lies at n * x_plane instead of offset[n]
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

// Source rows for the buffer: `rows` of them, `from_row` apart, to `pitch` apart; the same of each
// plane.
struct ConvolutionCopy {
  const float* from;
  size_t from_plane, from_row, from_step;
  size_t planes, rows;
  ptrdiff_t first;  // source position of column 0,
  size_t step;      // and distance of the next ones
  size_t size;      // positions outside [0, size) give 0
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
  size_t tile;               // columns that packed products take at a time
  size_t depthwise_columns;  // of the narrowest rows that the depthwise kernels accept
  void (*copy)(const ConvolutionCopy& block);
  PanelKernel pack_panel;
  ProductsKernel products;                     // few output channels
  ProductsKernel packed_products;              // many
  DepthwiseProductsKernel depthwise_products;  // one output channel, 3 x 3 taps
  WeightGradientKernel weight_gradient;
  DepthwiseWeightGradientKernel depthwise_weight_gradient;  // one channel, 3 x 3 taps
  OuterKernels many;  // in place of weight_gradient, for many channels
  double (*sum)(const float* row, size_t step, size_t n);
};

// Each kernel file exports its own; together they are the table of the chosen target.
PanelKernel convolution_panel();
ProductsKernel convolution_products();
ProductsKernel convolution_packed_products();
DepthwiseProductsKernel convolution_depthwise_products();
OuterKernels convolution_outer();
WeightGradientKernel convolution_weight_gradient();
DepthwiseWeightGradientKernel convolution_depthwise_weight_gradient();
ConvolutionKernels convolution_kernels();

}  // namespace bnns::impl
