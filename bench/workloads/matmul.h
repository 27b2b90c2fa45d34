// The family matmul: C = A B for each of `count` pairs of square matrices; A_delta = C_delta B^T,
// B_delta = A^T C_delta. Operations: fwd, bwd (both gradients).
#pragma once

#include "workloads/workloads.h"

namespace bench {

struct MatMul final : Problem {
  MatMul(size_t product_count, size_t matrix_size);
  void offer(Peer& peer, Rows& rows) const override { peer.matmul(*this, rows); }
  Row row(const std::string& op) const override;

  size_t count, size;
  Buffer a, b, out_delta;
};

void append_matmul(std::vector<Workload>& list, bool quick);

void add_our_matmul(const MatMul& p, int threads, Rows& rows);
void add_onednn_matmul(const MatMul& p, Rows& rows);
void add_torch_matmul(const MatMul& p, Rows& rows);

}  // namespace bench
