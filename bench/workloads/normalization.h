// The family normalization: batch normalization with a rectifier on NCHW data, layer normalization
// on rows. Forward passes are those of training. Operations: fwd, bwd.
#pragma once

#include "workloads/workloads.h"

namespace bench {

struct Normalization final : Problem {
  // Batch normalization of `batch` samples with `channels` planes of side x side and a rectifier;
  // or, with a side of 0, layer normalization of `batch` rows of `channels`.
  Normalization(size_t batch, size_t channels, size_t side);
  void offer(Peer& peer, Rows& rows) const override { peer.normalization(*this, rows); }
  Row row(const std::string& op) const override;

  bool by_row() const { return side == 0; }
  Fused fused() const { return by_row() ? Fused::kNone : Fused::kRelu; }
  size_t plane() const { return by_row() ? 1 : side * side; }
  size_t size() const { return batch * channels * plane(); }

  static constexpr float kEpsilon = 1e-5f;
  size_t batch, channels, side;
  Buffer in, out_delta, gamma, beta;
};

void append_normalization(std::vector<Workload>& list, bool quick);

void add_our_normalization(const Normalization& p, int threads, Rows& rows);
void add_onednn_normalization(const Normalization& p, Rows& rows);
void add_torch_normalization(const Normalization& p, Rows& rows);

}  // namespace bench
