// The family convolution: square windows and images on NCHW data, weights OIHW, with bias.
// Operations: fwd, bwd_data, bwd_weights (with bias), fwd+bwd; with an activation: fwd, bwd (all).
#pragma once

#include "workloads/workloads.h"

namespace bench {

struct ConvolutionShape {
  size_t batch, inputs, outputs, side, kernel, stride = 1, pad = 0, groups = 1;
  Fused fused = Fused::kNone;

  size_t out_side() const { return (side + 2 * pad - kernel) / stride + 1; }
  size_t in_size() const { return batch * inputs * side * side; }
  size_t out_size() const { return batch * outputs * out_side() * out_side(); }
  size_t weights_size() const { return outputs * inputs / groups * kernel * kernel; }
};

struct Convolution final : Problem {
  explicit Convolution(const ConvolutionShape& s);
  void offer(Peer& peer, Rows& rows) const override { peer.convolution(*this, rows); }
  Row row(const std::string& op) const override;

  ConvolutionShape shape;
  Buffer in, weights, bias, out_delta;
  Buffer out;  // the output that backward passes of a fused activation are given; else empty
};

void append_convolution(std::vector<Workload>& list, bool quick);

void add_our_convolution(const Convolution& p, int threads, Rows& rows);
void add_onednn_convolution(const Convolution& p, Rows& rows);
void add_torch_convolution(const Convolution& p, Rows& rows);

}  // namespace bench
