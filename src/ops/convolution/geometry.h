// The geometry that a convolution, its gradients and a transposed convolution share. A "large"
// image of C channels, H x W, and a "small" one of K channels, P x Q, are joined by R x S taps:
//   small (k, p, q) meets large (c, p * stride + r * dilation - before, q * ... ) through
//   w(k,c,r,s)
// A convolution reads the large image and writes the small one; a transposed convolution and the
// data gradient go the other way. Channels are those of one group.
#pragma once

#include <cstddef>

namespace bnns::impl {

struct ConvolutionAxis {
  size_t large;     // H or W
  size_t small;     // P or Q
  size_t taps;      // R or S
  size_t stride;    // step of the window on the large image
  size_t dilation;  // distance between neighbouring taps
  size_t before;    // zero padding in front of the large image
};

struct ConvolutionGeometry {
  size_t groups;
  size_t large_channels;  // C of one group
  size_t small_channels;  // K of one group
  ConvolutionAxis y, x;

  size_t taps() const { return y.taps * x.taps; }
  size_t weights() const { return groups * small_channels * large_channels * taps(); }
};

}  // namespace bnns::impl
