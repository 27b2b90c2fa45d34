// The family attention: self-attention of sequences, with biases and without masks. Weights are
// [inputs][outputs], heads side by side. Operations: fwd; fwd+bwd, all gradients.
#pragma once

#include "workloads/workloads.h"

namespace bench {

struct Attention final : Problem {
  Attention(size_t batch_size, size_t sequence_length, size_t model_size, size_t head_count);
  void offer(Peer& peer, Rows& rows) const override { peer.attention(*this, rows); }
  Row row(const std::string& op) const override;

  size_t head_size() const { return model / heads; }

  size_t batch, length, model, heads;
  Buffer in, out_delta;
  std::vector<Buffer> weights, bias;  // of query, key, value, output
};

void append_attention(std::vector<Workload>& list, bool quick);

void add_our_attention(const Attention& p, int threads, Rows& rows);
void add_torch_attention(const Attention& p, Rows& rows);

}  // namespace bench
