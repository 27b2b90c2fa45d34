// The family sparse: a fully connected layer whose weights are mostly zeros, as a dense matrix and
// packed. Operation: fwd.
#pragma once

#include "workloads/workloads.h"

namespace bench {

struct Sparse final : Problem {
  Sparse(size_t batch_size, size_t in_size, size_t out_size, int percent_zeros);
  void offer(Peer& peer, Rows& rows) const override { peer.sparse(*this, rows); }
  Row row(const std::string& op) const override;

  FullyConnected dense;
  std::vector<float> values;     // the weights that are not 0, row by row
  std::vector<int32_t> columns;  // of each
  std::vector<int32_t> starts;   // of each row, and the end of the last
};

void append_sparse(std::vector<Workload>& list, bool quick);

void add_our_sparse(const Sparse& p, int threads, Rows& rows);

}  // namespace bench
