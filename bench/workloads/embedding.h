// The families embedding and gather: rows of a table, chosen by indices.
//   embedding   fwd: out = rows of the table; bwd: weights_delta = sums of the rows of out_delta
//   gather      fwd: the same rows, without a layer
#pragma once

#include <cstdint>
#include <vector>

#include "workloads/workloads.h"

namespace bench {

struct Embedding final : Problem {
  Embedding(size_t item_count, size_t item_width, size_t index_count, bool as_layer);
  void offer(Peer& peer, Rows& rows) const override { peer.embedding(*this, rows); }
  Row row(const std::string& op) const override;

  size_t items, width;
  bool layer;
  Buffer dictionary, out_delta;
  std::vector<int64_t> indices;
};

void append_embedding(std::vector<Workload>& list, bool quick);

void add_our_embedding(const Embedding& p, int threads, Rows& rows);
void add_torch_embedding(const Embedding& p, Rows& rows);

}  // namespace bench
