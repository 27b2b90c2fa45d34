// A valid attention call that tests damage: the golden numbers of one query, one key and one head,
//   q = 0.5, k = 1.5, v = 3.5, Wq = Wk = 1, Wv = 2, Wo = 3: out = 21; of dy = 1 dv = 6, dWv = 10.5,
//   dWo = 7, the gradients of q, k, Wq and Wk are 0,
// for a batch of two equal samples with a gap between them, so that gradients of weights double.
#pragma once

#include "support/call_table.h"

namespace bnns::test {

struct AttentionCall : CallBase {
  static constexpr size_t kBatch = 2, kStep = 3;

  Guarded<float> q{0.5f, 9, 9, 0.5f, 9, 9}, k{1.5f, 9, 9, 1.5f, 9, 9}, v{3.5f, 9, 9, 3.5f, 9, 9};
  Guarded<float> out{Space{kBatch * kStep}};
  Guarded<float> wq{1}, wk{1}, wv{2}, wo{3}, b{0}, bk{0}, bv{0}, spare{0, 0, 0, 0};
  BNNSFilterParameters options = {};
  BNNSLayerParametersMultiheadAttention params = {};
  const BNNSLayerParametersMultiheadAttention* params_pointer = &params;
  size_t batch = kBatch, q_stride = kStep, k_stride = kStep, v_stride = kStep, out_stride = kStep;
  const void *q_pointer = q.data(), *k_pointer = k.data(), *v_pointer = v.data();
  void* out_pointer = out.data();
  Guarded<uint8_t> mask{0, 7, 0, 7};
  Guarded<float> matrix{0};
  BNNSNDArrayDescriptor key_mask = vector_of(1, mask.data(), BNNSDataTypeBoolean);
  BNNSNDArrayDescriptor add = matrix_of(1, 1, matrix.data());
  size_t key_mask_stride = 2;

  static BNNSMHAProjectionParameters role(float* rows, float* weights, bool is_output = false) {
    BNNSMHAProjectionParameters p = {};
    p.target_desc = matrix_of(1, 1, rows);
    p.weights =
        is_output ? matrix_of(1, 1, weights) : array(BNNSDataLayoutMHA_DHK, {1, 1, 1}, weights);
    return p;
  }

  AttentionCall() {
    params.query = role(nullptr, wq.data());
    params.key = role(nullptr, wk.data());
    params.value = role(nullptr, wv.data());
    params.output = role(nullptr, wo.data(), true);
    params.query.bias = matrix_of(1, 1, b.data());
    params.output.bias = vector_of(1, b.data());
  }
  AttentionCall(const AttentionCall&) = delete;

  template <class F>
  void for_outputs(const F& f) {
    for (Guarded<float>* g : {&q, &k, &v, &out, &wq, &wk, &wv, &wo, &b, &bk, &bv, &spare, &matrix})
      f(*g);
    f(mask);
  }
  bool inputs_untouched() const {
    for (const Guarded<float>* g : {&q, &k, &v, &wq, &wk, &wv, &wo, &b, &matrix})
      if (!g->untouched()) return false;
    return mask.untouched();
  }
  static bool holds(const Guarded<float>& values, float right) {
    return values[0] == right && values[kStep] == right &&
           values.untouched_except([](size_t i) { return i % kStep == 0; });
  }
  void append_attention_bias() {
    params.key_attn_bias = matrix_of(1, 1, bk.data());
    params.value_attn_bias = matrix_of(1, 1, bv.data());
  }
  Filter make() const {
    return Filter(BNNSFilterCreateLayerMultiheadAttention(params_pointer, &options));
  }
};

struct AttentionForward : AttentionCall {
  const char* function = "BNNSApplyMultiheadAttention";
  size_t cache_size = 0, workspace_size = 0;
  size_t *cache_size_pointer = nullptr, *workspace_size_pointer = nullptr;
  void *cache = nullptr, *workspace = nullptr;

  int apply(const Filter& filter) {
    return BNNSApplyMultiheadAttention(filter.get(), batch, q_pointer, q_stride, k_pointer,
                                       k_stride, &key_mask, key_mask_stride, v_pointer, v_stride,
                                       out_pointer, out_stride, &add, cache_size_pointer, cache,
                                       workspace_size_pointer, workspace);
  }
  bool run() {
    const Filter filter = make();
    EXPECT_TRUE(filter) << OpenBNNSGetLastError();
    return apply(filter) == 0;
  }
  bool correct() const { return inputs_untouched() && holds(out, 21); }
};

struct AttentionCreate : AttentionForward {
  AttentionCreate() { function = "BNNSFilterCreateLayerMultiheadAttention"; }
  bool run() {
    const Filter filter = make();
    return filter && apply(filter) == 0;
  }
};

struct AttentionBackward : AttentionForward {
  Guarded<float> dq{Space{kBatch * kStep}}, dk{Space{kBatch * kStep}}, dv{Space{kBatch * kStep}};
  Guarded<float> dy{1, 9, 9, 1, 9, 9};
  Guarded<float> dwq{Space{1}}, dwk{Space{1}}, dwv{Space{1}}, dwo{Space{1}};
  Guarded<float> dbk{Space{1}}, dbv{Space{1}};
  BNNSMHAProjectionParameters delta[4] = {role(dq.data(), dwq.data()), role(dk.data(), dwk.data()),
                                          role(dv.data(), dwv.data()),
                                          role(dy.data(), dwo.data(), true)};
  BNNSMHAProjectionParameters* delta_pointer[4] = {&delta[0], &delta[1], &delta[2], &delta[3]};
  BNNSNDArrayDescriptor key_bias_delta = {}, value_bias_delta = {};
  size_t given_cache_size = 0;
  bool cached = false;
  std::vector<float> cache_memory = std::vector<float>(256);
  std::function<void(AttentionBackward&)> damage_cache;

  AttentionBackward() {
    function = "BNNSApplyMultiheadAttentionBackward";
    for (BNNSMHAProjectionParameters& d : delta) d.target_desc.stride[2] = kStep;
  }
  template <class F>
  void for_outputs(const F& f) {
    AttentionForward::for_outputs(f);
    for (Guarded<float>* g : {&dq, &dk, &dv, &dy, &dwq, &dwk, &dwv, &dwo, &dbk, &dbv}) f(*g);
  }
  // Fills the cache by a forward call that is right.
  void fill_cache(const Filter& filter) {
    AttentionForward forward;
    given_cache_size = cache_memory.size() * sizeof(float);
    forward.cache_size_pointer = &given_cache_size;
    forward.cache = cache_memory.data();
    EXPECT_EQ(forward.apply(filter), 0) << OpenBNNSGetLastError();
    cache = cache_memory.data();
  }
  bool run() {
    const Filter filter = make();
    EXPECT_TRUE(filter) << OpenBNNSGetLastError();
    if (cached) fill_cache(filter);
    if (damage_cache) damage_cache(*this);
    return BNNSApplyMultiheadAttentionBackward(
               filter.get(), batch, q_pointer, q_stride, delta_pointer[0], k_pointer, k_stride,
               &key_mask, key_mask_stride, delta_pointer[1], v_pointer, v_stride, delta_pointer[2],
               &add, &key_bias_delta, &value_bias_delta, nullptr, 0, delta_pointer[3],
               given_cache_size, cache, workspace_size_pointer, workspace) == 0;
  }
  bool correct() const {
    return inputs_untouched() && dy.untouched() && holds(dq, 0) && holds(dk, 0) && holds(dv, 6) &&
           dwq[0] == 0 && dwk[0] == 0 && dwv[0] == 21 && dwo[0] == 14;
  }
};

}  // namespace bnns::test
