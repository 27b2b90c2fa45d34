// What happens to the sums of a product or a convolution between the registers and memory:
//   z = alpha P;  z = scale (z + bias) + shift;  z += beta old if it accumulates;  y = act(z)
// with bias, scale and shift by channel. The tile kernels do all of it but the activation, with the
// functions of epilogue-inl.h; the op applies the activation to the rows of a grain, and collects
// the moments of what was stored (moments.h), while they are in the cache.
#pragma once

#include <cstddef>

namespace bnns::impl {

class FusedActivation;
struct Moments;

// One value per channel each, contiguous; NULL: none. scale and shift come together.
struct ChannelTerms {
  const float* bias = nullptr;
  const float* scale = nullptr;
  const float* shift = nullptr;

  bool any() const { return bias != nullptr || scale != nullptr; }
  // The terms of channel `first` and those behind it, or of the next product of a batch.
  ChannelTerms from(size_t first) const {
    return {.bias = bias == nullptr ? nullptr : bias + first,
            .scale = scale == nullptr ? nullptr : scale + first,
            .shift = shift == nullptr ? nullptr : shift + first};
  }
};

// What a call adds to the bias and the activation of a layer, one value per output channel:
//   out = act(scale (sum + bias) + shift), and the moments of out.
struct ChannelEpilogue {
  const float *scale = nullptr, *shift = nullptr;  // both or neither
  const FusedActivation* activation = nullptr;     // instead of the layer's own; NULL: that one
  // Number, mean and squared deviations of all values of the batch that are stored, before they are
  // rounded to another type; written. NULL: not wanted. Not for random activations.
  Moments* moments = nullptr;
};

// The channels of a convolution are the rows of a tile, those of a fully connected layer its
// columns. A product may have terms of both: those of columns come first.
struct Epilogue {
  ChannelTerms row = {}, column = {};
  float alpha = 1, beta = 1;
  bool accumulate = false;  // false: old values are not read, beta is not used
  // NULL: none. Kernels do not use it.
  const FusedActivation* activation = nullptr;
  // NULL, or the address of a zero, which becomes the least output (ReLU) of kernels that say so.
  // It is read from memory because a constant would occupy a register in the loop over the terms.
  const float* least = nullptr;

  // Whether biases are all that kernels add to the sums.
  bool only_adds() const {
    return alpha == 1 && !accumulate && row.scale == nullptr && column.scale == nullptr &&
           least == nullptr;
  }
  // Whether kernels store the sums as they are.
  bool stores_sums() const {
    return alpha == 1 && !accumulate && !row.any() && !column.any() && least == nullptr;
  }
};

}  // namespace bnns::impl
