// The family mps: the gradient of the soft-max cross entropy of images with dense labels, mean over
// the pixels of the batch, from libopenbnns_mps. A call of ours makes a command buffer, encodes,
// commits and waits. Operation: bwd.
#pragma once

#include "workloads/workloads.h"

namespace bench {

struct ImageLoss final : Problem {
  ImageLoss(size_t batch_size, size_t image_side, size_t channel_count);
  void offer(Peer& peer, Rows& rows) const override { peer.image_loss(*this, rows); }
  Row row(const std::string& op) const override;

  size_t pixels() const { return side * side; }

  size_t batch, side, channels;
  Loss loss;  // a row is a pixel
};

void append_image_loss(std::vector<Workload>& list, bool quick);

void add_our_image_loss(const ImageLoss& p, int threads, Rows& rows);

}  // namespace bench
