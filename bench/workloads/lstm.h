// The family lstm: one layer in one direction, gates in the order i, f, g, o. Sequences are
// [step][sample][value], weights [gate][hidden][value]; initial states are zeros.
//   a_k = iw_k x_t + hw_k h_(t-1) + bias_k,  c_t = f c_(t-1) + i g,  out_t = h_t = o tanh(c_t)
// Operations: fwd (inference), fwd+bwd (in_delta, iw_delta, hw_delta, bias_delta).
#pragma once

#include "workloads/workloads.h"

namespace bench {

struct Lstm final : Problem {
  Lstm(size_t input_size, size_t hidden_size, size_t step_count, size_t batch_size);
  void offer(Peer& peer, Rows& rows) const override { peer.lstm(*this, rows); }
  Row row(const std::string& op) const override;

  size_t inputs, hidden, steps, batch;
  Buffer in, iw, hw, bias, out_delta;
};

void append_lstm(std::vector<Workload>& list, bool quick);

void add_our_lstm(const Lstm& p, int threads, Rows& rows);
void add_onednn_lstm(const Lstm& p, Rows& rows);
void add_torch_lstm(const Lstm& p, Rows& rows);

}  // namespace bench
