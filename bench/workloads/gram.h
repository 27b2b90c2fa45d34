// The family gram: G = X X^T of every image, X with a row for each channel; X_delta = (G_delta +
// G_delta^T) X. Operations: fwd, bwd.
#pragma once

#include "workloads/workloads.h"

namespace bench {

struct Gram final : Problem {
  Gram(size_t batch_size, size_t channel_count, size_t in_side);
  void offer(Peer& peer, Rows& rows) const override { peer.gram(*this, rows); }
  Row row(const std::string& op) const override;

  size_t pixels() const { return side * side; }

  size_t batch, channels, side;
  Buffer in, out_delta;
};

void append_gram(std::vector<Workload>& list, bool quick);

void add_our_gram(const Gram& p, int threads, Rows& rows);

}  // namespace bench
