// The family movement: layers that only move elements. Operations: fwd, bwd.
//   permute  images of [channels][rows][columns] become [rows][columns][channels]
//   padding  cells around the rows and columns of images, constant or mirrored
#pragma once

#include "workloads/workloads.h"

namespace bench {

enum class Moves { kPermute, kConstant, kReflect };

struct Movement final : Problem {
  Movement(Moves kind, size_t batch_size, size_t channel_count, size_t in_side, size_t padding);
  void offer(Peer& peer, Rows& rows) const override { peer.movement(*this, rows); }
  Row row(const std::string& op) const override;

  size_t out_side() const { return side + 2 * pad; }

  static constexpr float kConstant = 1;  // as in the spec
  Moves moves;
  size_t batch, channels, side, pad;
  Buffer in, out_delta;
};

void append_movement(std::vector<Workload>& list, bool quick);

void add_our_movement(const Movement& p, int threads, Rows& rows);
void add_torch_movement(const Movement& p, Rows& rows);

}  // namespace bench
