// The family pooling: square windows on NCHW data. The forward pass of a maximum keeps what its
// backward pass needs: indices, or whatever a library has in their place. Operations: fwd, bwd.
#pragma once

#include "workloads/workloads.h"

namespace bench {

struct PoolingWindow {
  bool max;  // else the average, padding counted
  size_t kernel, stride, pad;
  Fused fused = Fused::kNone;
};

struct Pooling final : Problem {
  Pooling(const PoolingWindow& w, size_t batch_size, size_t channel_count, size_t in_side);
  void offer(Peer& peer, Rows& rows) const override { peer.pooling(*this, rows); }
  Row row(const std::string& op) const override;

  size_t planes() const { return batch * channels; }
  size_t out_side() const { return (side + 2 * window.pad - window.kernel) / window.stride + 1; }
  size_t in_size() const { return planes() * side * side; }
  size_t out_size() const { return planes() * out_side() * out_side(); }

  PoolingWindow window;
  size_t batch, channels, side;
  Buffer in, out_delta;
  Buffer out;  // the output that backward passes of a fused activation are given; else empty
};

void append_pooling(std::vector<Workload>& list, bool quick);

void add_our_pooling(const Pooling& p, int threads, Rows& rows);
void add_onednn_pooling(const Pooling& p, Rows& rows);
void add_torch_pooling(const Pooling& p, Rows& rows);

}  // namespace bench
