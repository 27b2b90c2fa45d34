// The family topk.
#pragma once

#include "workloads/workloads.h"

namespace bench {

// The k largest values of every row, or column, of a matrix and their indices, in descending order.
// Operation: fwd.
struct TopK final : Problem {
  TopK(size_t line_count, size_t column_count, size_t best, bool by_column);
  void offer(Peer& peer, Rows& rows) const override { peer.top_k(*this, rows); }
  Row row(const std::string& op) const override;

  size_t results() const { return k * (along_columns ? columns : lines); }

  size_t lines, columns, k;
  bool along_columns;
  Buffer in;
};

// Of every sample the k nearest ones, the sample itself included, by Euclidean distance. Operation:
// all; compared are the distances, as rounding may exchange neighbours.
struct Neighbors final : Problem {
  Neighbors(size_t sample_count, size_t feature_count, size_t neighbors);
  void offer(Peer& peer, Rows& rows) const override { peer.neighbors(*this, rows); }
  Row row(const std::string& op) const override;

  size_t samples, features, k;
  Buffer in;
};

void append_top_k(std::vector<Workload>& list, bool quick);

void add_our_top_k(const TopK& p, int threads, Rows& rows);
void add_our_neighbors(const Neighbors& p, int threads, Rows& rows);
void add_torch_top_k(const TopK& p, Rows& rows);
void add_torch_neighbors(const Neighbors& p, Rows& rows);

}  // namespace bench
