// The family resize: planes of NCHW images enlarged to twice their sides, between cell centres.
// Operations: fwd, bwd.
#pragma once

#include "workloads/workloads.h"

namespace bench {

struct Resize final : Problem {
  Resize(bool is_linear, size_t batch_size, size_t channel_count, size_t in_side);
  void offer(Peer& peer, Rows& rows) const override { peer.resize(*this, rows); }
  Row row(const std::string& op) const override;

  size_t planes() const { return batch * channels; }
  size_t out_side() const { return 2 * side; }

  bool linear;  // else the nearest cell
  size_t batch, channels, side;
  Buffer in, out_delta;
};

void append_resize(std::vector<Workload>& list, bool quick);

void add_our_resize(const Resize& p, int threads, Rows& rows);
void add_torch_resize(const Resize& p, Rows& rows);

}  // namespace bench
