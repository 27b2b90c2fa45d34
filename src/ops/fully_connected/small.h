// One sample of a fully connected layer whose weights stay in the first-level cache:
//   y = act(b + W x);   g = dy act'(y), dx = W^T g, dW = g x^T, db = g.
// Such calls take some ten nanoseconds, so that everything that follows from the layer is decided
// when it is made: a call is one pass over the weights by the calling thread, without memory of its
// own. All gradients that are wanted come from the same pass.
// Sums: chains of kGemmShortChain products, joined with a compensated sum.
#pragma once

#include <cstddef>

#include "ops/activation/fused.h"

namespace bnns::impl {

struct SmallLayer {
  const float* w = nullptr;  // W(o, i) at w[o * w_row + i]
  size_t w_row = 0, dw_row = 0;
  const float* bias = nullptr;  // NULL: none
  size_t in_size = 0, out_size = 0;
};

// One tensor of a backward call; data NULL: not wanted.
struct SmallDelta {
  float* data = nullptr;
  bool accumulate = false;
};
struct SmallGradients {
  const float* x = nullptr;   // not read unless dw is wanted
  const float* y = nullptr;   // not read for the identity
  const float* dy = nullptr;  // for the kernels: g
  SmallDelta dx, dw, db;
};

struct SmallKernels {
  size_t least_in, least_out;  // the smallest layer they can do
  void (*forward)(const SmallLayer& layer, const float* x, float* y);
  void (*backward)(const SmallLayer& layer, const SmallGradients& p);
};

class SmallFullyConnected {
 public:
  SmallFullyConnected() = default;
  // Only layers that fit; others leave it empty.
  SmallFullyConnected(const SmallLayer& layer, const FusedActivation& activation);

  explicit operator bool() const { return kernels_ != nullptr; }
  // Whether gradients of the weights with these strides can be written.
  bool writes_rows(size_t out_stride, size_t in_stride) const {
    return in_stride == 1 && out_stride == layer_.dw_row;
  }

  void forward(const float* x, float* y) const {
    kernels_->forward(layer_, x, y);
    if (!identity_) activation_.forward(y, layer_.out_size);
  }
  void backward(const SmallGradients& p) const {
    identity_ ? kernels_->backward(layer_, p) : backward_activation(p);
  }

 private:
  void backward_activation(const SmallGradients& p) const;

  const SmallKernels* kernels_ = nullptr;
  SmallLayer layer_;
  FusedActivation activation_;
  bool identity_ = true;
};

}  // namespace bnns::impl
