// Multi-head attention through the C functions. fwd copies the weights; fwd+bwd reads those of the
// client, and keeps what the backward pass needs in the client's cache.
#include "workloads/attention.h"

#include <openbnns/bnns.h>
#include <openbnns/openbnns.h>

#include <stdexcept>

namespace bench {
namespace {

void require_success(int status) {
  if (status != 0) throw std::runtime_error(OpenBNNSGetLastError());
}

struct Tensors {
  float *rows, *weights[4], *bias[4];
};

BNNSNDArrayDescriptor array(BNNSDataLayout layout, size_t a, size_t b, size_t c, float* data) {
  return {.layout = layout, .size = {a, b, c}, .data = data, .data_type = BNNSDataTypeFloat32};
}

// The projection of a role, with its parameters or their gradients.
BNNSMHAProjectionParameters projection(const Attention& p, size_t role, const Tensors& t) {
  BNNSMHAProjectionParameters r{};
  r.target_desc = array(BNNSDataLayoutRowMajorMatrix, p.model, p.length, 0, t.rows);
  r.weights = role == 3
                  ? array(BNNSDataLayoutRowMajorMatrix, p.model, p.model, 0, t.weights[3])
                  : array(BNNSDataLayoutMHA_DHK, p.model, p.head_size(), p.heads, t.weights[role]);
  r.bias = role == 3 ? array(BNNSDataLayoutVector, p.model, 0, 0, t.bias[3])
                     : array(BNNSDataLayout2DLastMajor, p.head_size(), p.heads, 0, t.bias[role]);
  return r;
}

struct State {
  State(const Attention& p, int threads, bool training);

  void forward(size_t* cache_size, void* cache_data) {
    require_success(BNNSApplyMultiheadAttention(filter.get(), batch, x, 0, x, 0, nullptr, 0, x, 0,
                                                out.data(), 0, nullptr, cache_size, cache_data,
                                                nullptr, nullptr));
  }
  void step() {
    size_t size = cache.size();
    forward(&size, cache.data());
    require_success(BNNSApplyMultiheadAttentionBackward(
        filter.get(), batch, x, 0, &deltas[0], x, 0, nullptr, 0, &deltas[1], x, 0, &deltas[2],
        nullptr, nullptr, nullptr, nullptr, 0, &deltas[3], size, cache.data(), nullptr, nullptr));
  }

  size_t batch;
  const float* x;
  Buffer out, in_delta;
  std::vector<Buffer> gradients;
  std::shared_ptr<void> filter;
  std::vector<char> cache;
  BNNSMHAProjectionParameters deltas[4];
};

State::State(const Attention& p, int threads, bool training)
    : batch(p.batch), x(p.in.data()), out(p.in.size()), in_delta(p.in.size()) {
  BNNSLayerParametersMultiheadAttention layer{};
  BNNSMHAProjectionParameters* const roles[] = {&layer.query, &layer.key, &layer.value,
                                                &layer.output};
  Tensors values{}, changes{};
  changes.rows = in_delta.data();
  for (size_t i = 0; i < 4; ++i) {
    values.weights[i] = p.weights[i].data();
    values.bias[i] = p.bias[i].data();
    gradients.emplace_back(p.weights[i].size());
    changes.weights[i] = gradients.back().data();
    gradients.emplace_back(p.bias[i].size());
    changes.bias[i] = gradients.back().data();
  }
  for (size_t i = 0; i < 4; ++i) {
    *roles[i] = projection(p, i, values);
    deltas[i] = projection(p, i, changes);
  }
  deltas[3].target_desc.data = p.out_delta.data();
  const BNNSFilterParameters settings{.flags = training ? BNNSFlagsUseClientPtr : 0u,
                                      .n_threads = size_t(threads),
                                      .alloc_memory = nullptr,
                                      .free_memory = nullptr};
  filter.reset(BNNSFilterCreateLayerMultiheadAttention(&layer, &settings), BNNSFilterDestroy);
  if (!filter) throw std::runtime_error(OpenBNNSGetLastError());
  if (!training) return;
  size_t size = 0;
  forward(&size, nullptr);
  cache.resize(size);
}

}  // namespace

void add_our_attention(const Attention& p, int threads, Rows& rows) {
  for (const bool training : {false, true}) {
    const auto state = std::make_shared<State>(p, threads, training);
    const auto call = [=] { training ? state->step() : state->forward(nullptr, nullptr); };
    rows.add(training ? "fwd+bwd" : "fwd",
             {.who = "ours",
              .run = repeated(call),
              .results =
                  [=] {
                    call();
                    std::vector<Result> list = {{.tensor = "out", .value = state->out.copy()}};
                    if (training)
                      list.push_back({.tensor = "in_delta", .value = state->in_delta.copy()});
                    return list;
                  },
              .note = ""});
  }
}

}  // namespace bench
