// The family arithmetic: out = f(a, b) of images, b an image or one value per channel that all
// samples share; exp has no b. Backward computes the gradients of both; that of values per channel
// is a sum over pixels and samples. Operations: fwd, bwd.
#pragma once

#include "workloads/workloads.h"

namespace bench {

enum class ArithmeticFunction { kAdd, kMultiply, kPow, kExp };

struct Arithmetic final : Problem {
  Arithmetic(ArithmeticFunction f, bool per_channel, size_t batch_size, size_t channel_count,
             size_t in_side);
  void offer(Peer& peer, Rows& rows) const override { peer.arithmetic(*this, rows); }
  Row row(const std::string& op) const override;

  bool unary() const { return function == ArithmeticFunction::kExp; }

  ArithmeticFunction function;
  bool broadcast;
  size_t batch, channels, side;
  Buffer a, b, out, out_delta;  // out holds the right values, for slopes that are computed from it
};

void append_arithmetic(std::vector<Workload>& list, bool quick);

void add_our_arithmetic(const Arithmetic& p, int threads, Rows& rows);
void add_torch_arithmetic(const Arithmetic& p, Rows& rows);

}  // namespace bench
