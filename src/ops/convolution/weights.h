// Weights of a convolution: the address of w(k, c, r, s) of geometry.h in any of the weight
// layouts, the canonical copy [k of all groups][c of one group][r][s] in float, and its panels.
#pragma once

#include <cstddef>

#include "core/view.h"
#include "ops/convert/convert.h"
#include "ops/convolution/geometry.h"
#include "ops/convolution/kernels.h"
#include "ops/convolution/plan.h"

namespace bnns::impl {

// Element (o, i, r, s), i inside its group, lies at
//   origin + s * column + r * row + i * in + (o % block) * out + (o / block) * next_block.
struct ConvolutionWeights {
  View view;  // gives data, type, scaling and span; its axes are not used
  ptrdiff_t origin, column, row;
  size_t in, out, block, next_block;
  bool transposed;  // o belongs to the large image, i to the small one

  // Offset of w(k, c, 0, 0).
  ptrdiff_t at(const ConvolutionGeometry& g, size_t k, size_t c) const {
    const size_t o = transposed ? k / g.small_channels * g.large_channels + c : k;
    const size_t i = transposed ? k % g.small_channels : c;
    return origin + static_cast<ptrdiff_t>(i * in + o % block * out + o / block * next_block);
  }
  // Whether the data are the canonical copy already.
  bool is_canonical(const ConvolutionGeometry& g) const;
};

// A view of all stored values as one row, so that any of them can be read by its offset.
View line_of(const View& view);

// Writes the canonical copy of the weights to `to`.
void read_weights(const ConvertKernels& kernels, const ConvolutionGeometry& g,
                  const ConvolutionWeights& weights, size_t threads, float* to);

// Packs the panels of all jobs of a plan. `panels` has as many floats as there are weights.
void pack_weights(PanelKernel pack_panel, const ConvolutionGeometry& g, const ConvolutionPlan& plan,
                  ConvolutionDirection direction, const float* weights, size_t threads,
                  float* panels);

// The sums of channels [k0, k0 + ks) and [c0, c0 + cs) as the weight gradient kernels leave them;
// store_weights writes or adds them to Float32 weights.
struct ConvolutionSums {
  float* sums;
  size_t row;
  size_t k0, ks, c0, cs;
};
void store_weights(const OuterKernels& kernels, const ConvolutionGeometry& g,
                   const ConvolutionWeights& to, const ConvolutionSums& block, bool accumulate);

}  // namespace bnns::impl
