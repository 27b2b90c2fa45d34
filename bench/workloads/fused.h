// The family fused: a convolution, batch normalization and a rectifier, a step of training.
// Operations: fwd, fwd+bwd (all gradients).
#pragma once

#include "workloads/convolution.h"

namespace bench {

struct FusedConvolution final : Problem {
  explicit FusedConvolution(const ConvolutionShape& s);
  void offer(Peer& peer, Rows& rows) const override { peer.fused(*this, rows); }
  Row row(const std::string& op) const override;

  const ConvolutionShape& shape() const { return convolution.shape; }

  static constexpr float kEpsilon = 1e-5f;
  Convolution convolution;  // out_delta is that of the rectifier
  Buffer gamma, beta;
};

void append_fused(std::vector<Workload>& list, bool quick);

void add_our_fused(const FusedConvolution& p, int threads, Rows& rows);
void add_onednn_fused(const FusedConvolution& p, Rows& rows);
void add_torch_fused(const FusedConvolution& p, Rows& rows);

}  // namespace bench
