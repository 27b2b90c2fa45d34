// The family dropout: out = in m / (1 - rate) with m drawn at random, in_delta = out_delta m / (1 -
// rate) with the m of the forward call. Operations: fwd, bwd.
#pragma once

#include "workloads/workloads.h"

namespace bench {

struct Dropout final : Problem {
  explicit Dropout(size_t count);
  void offer(Peer& peer, Rows& rows) const override { peer.dropout(*this, rows); }
  Row row(const std::string& op) const override;

  // Everybody draws other numbers. Compared is what does not depend on them: the share of the
  // elements that are kept, and how far these are from in / (1 - rate).
  std::vector<Result> results(const Buffer& from, const float* to) const;

  static constexpr float kRate = 0.25f;
  size_t n;
  Buffer in, out_delta;
};

void append_dropout(std::vector<Workload>& list, bool quick);

void add_our_dropout(const Dropout& p, int threads, Rows& rows);

}  // namespace bench
