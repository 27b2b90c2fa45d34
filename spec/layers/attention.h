// Multi-head attention, for each sample and head:
//   Q = x Wq + bq     K = [x' Wk + bk; key bias; 0]     V = [x'' Wv + bv; value bias; 0]
//   R = Q K^T / sqrt(d_key) + X, minus infinity where a mask hides the key; P = softmax of the rows
//   y = [P V of all heads] Wo + bo
// A row of R with every key hidden has P = 0. X is repeated along the coordinates it does not have.
#ifndef OPENBNNS_SPEC_ATTENTION_H
#define OPENBNNS_SPEC_ATTENTION_H

#include "layers/attention_settings.h"

namespace spec::reference {

template <class T>
struct AttentionHead {
  size_t queries, keys, depth, value_depth;
  std::vector<T> q, k, v, p, o, scores;  // row by row
};

class Attention {
 public:
  explicit Attention(const AttentionSettings& settings) : s(settings), at(settings.places()) {}

  template <class T>
  void forward(Values<T>& v) const {
    for (size_t b = 0; b < v.batch; ++b) {
      std::vector<AttentionHead<T>> heads;
      for (size_t h = 0; h < s.heads; ++h) heads.push_back(head(v, b, h));
      for (size_t t = 0; t < s.target; ++t)
        for (size_t c = 0; c < s.model; ++c) {
          Sum<T> sum;
          for (size_t h = 0; h < s.heads; ++h)
            for (size_t e = 0; e < s.value_depth; ++e)
              sum.add(heads[h].o[t * s.value_depth + e], output_weight(v, h, e, c));
          v.value[1].at(b, {t, c}) = plus_bias(sum.get(), v, at.bias[3], {c});
        }
    }
  }

  template <class T>
  void backward(Values<T>& v) const {
    Gradients<T> g;
    for (const Array<T>& delta : v.delta) g.emplace_back(delta.data().size());
    for (size_t b = 0; b < v.batch; ++b)
      for (size_t h = 0; h < s.heads; ++h) backward_head(v, b, h, g);
    for (size_t b = 0; b < v.batch && at.bias[3] != 0; ++b)
      for (size_t t = 0; t < s.target; ++t)
        for (size_t c = 0; c < s.model; ++c)
          add(g, v, at.bias[3], 0, {c}, v.delta[1].at(b, {t, c}));
    for (size_t i = 0; i < g.size(); ++i) {
      if (i == 1) continue;
      for (size_t k = 0; k < g[i].size(); ++k) v.delta[i].data()[k] = g[i][k].get();
    }
  }

 private:
  using Place = std::initializer_list<size_t>;
  template <class T>
  using Gradients = std::vector<std::vector<Sum<T>>>;

  template <class T, class... Factors>
  static void add(Gradients<T>& g, const Values<T>& v, size_t operand, size_t b, Place place,
                  Factors... factors) {
    const Array<T>& delta = v.delta[operand];
    g[operand][b * delta.count() + delta.position(place)].add(factors...);
  }

  template <class T>
  static T plus_bias(T sum, const Values<T>& v, size_t operand, Place place) {
    return operand == 0 ? sum : sum + v.value[operand].at(0, place);
  }
  template <class T>
  T output_weight(const Values<T>& v, size_t h, size_t e, size_t c) const {
    return v.value[at.weights[3]].at(0, {h * s.value_depth + e, c});
  }
  size_t input(size_t role) const { return role == 0 ? 0 : role == 1 ? at.key : at.value; }
  size_t depth(size_t role) const { return role == 2 ? s.value_depth : s.key_depth; }

  // One of Q, K and V, with the rows behind K and V.
  template <class T>
  std::vector<T> project(const Values<T>& v, size_t b, size_t h, size_t role) const {
    std::vector<T> result;
    const size_t rows = role == 0 ? s.target : s.source;
    for (size_t t = 0; t < rows; ++t)
      for (size_t d = 0; d < depth(role); ++d) {
        Sum<T> sum;
        for (size_t c = 0; c < s.columns(role); ++c)
          sum.add(v.value[input(role)].at(b, {t, c}), v.value[at.weights[role]].at(0, {c, d, h}));
        result.push_back(plus_bias(sum.get(), v, at.bias[role], {d, h}));
      }
    if (role == 0) return result;
    const size_t bias = role == 1 ? at.key_bias : at.value_bias;
    for (size_t d = 0; d < depth(role) && bias != 0; ++d)
      result.push_back(v.value[bias].at(0, {d, h}));
    if (s.zero_row) result.insert(result.end(), depth(role), T(0));
    return result;
  }

  template <class T>
  size_t matrix_position(const Array<T>& x, size_t b, size_t h, size_t t, size_t j) const {
    if (s.matrix_rank == 2) return x.position(Place{t, j});
    return s.matrix_rank == 3 ? x.position(Place{h, t, j}) : x.position(Place{b, h, t, j});
  }

  // The keys that a query may see, and the scores with X.
  template <class T>
  std::vector<size_t> visible(const Values<T>& v, size_t b, size_t h, size_t t,
                              AttentionHead<T>& a) const {
    std::vector<size_t> list;
    for (size_t j = 0; j < a.keys; ++j) {
      if (j < s.source && at.key_mask != 0 && value_of(v.value[at.key_mask](b, j)) != 0) continue;
      if (j < s.source && at.matrix != 0) {
        const Array<T>& x = v.value[at.matrix];
        const T value = x(0, matrix_position(x, b, h, t, j));
        if (s.boolean_matrix && value_of(value) != 0) continue;
        if (!s.boolean_matrix) a.scores[t * a.keys + j] = a.scores[t * a.keys + j] + value;
      }
      list.push_back(j);
    }
    return list;
  }

  template <class T>
  AttentionHead<T> head(const Values<T>& v, size_t b, size_t h) const {
    using std::exp;
    AttentionHead<T> a{.queries = s.target,
                       .keys = s.source + (at.key_bias != 0 ? 1 : 0) + (s.zero_row ? 1 : 0),
                       .depth = s.key_depth,
                       .value_depth = s.value_depth,
                       .q = project(v, b, h, 0),
                       .k = project(v, b, h, 1),
                       .v = project(v, b, h, 2),
                       .p = {},
                       .o = {},
                       .scores = {}};
    a.p.resize(a.queries * a.keys, T(0));
    const T scale(1 / std::sqrt(static_cast<double>(a.depth)));
    for (size_t t = 0; t < a.queries; ++t) {
      for (size_t j = 0; j < a.keys; ++j) {
        Sum<T> sum;
        for (size_t d = 0; d < a.depth; ++d) sum.add(a.q[t * a.depth + d], a.k[j * a.depth + d]);
        a.scores.push_back(sum.get() * scale);
      }
      const std::vector<size_t> keys = visible(v, b, h, t, a);
      const T* r = &a.scores[t * a.keys];
      Sum<T> sum;
      T top = keys.empty() ? T(0) : r[keys[0]];
      for (const size_t j : keys) top = maximum(top, r[j]);
      for (const size_t j : keys) sum.add(exp(r[j] - top));
      for (const size_t j : keys) a.p[t * a.keys + j] = exp(r[j] - top) / sum.get();
      for (size_t e = 0; e < a.value_depth; ++e) {
        Sum<T> o;
        for (const size_t j : keys) o.add(a.p[t * a.keys + j], a.v[j * a.value_depth + e]);
        a.o.push_back(o.get());
      }
    }
    return a;
  }

  // Gradients of Q, K or V of a head, to the operands they were made of.
  template <class T>
  void spread(const Values<T>& v, size_t b, size_t h, size_t role, const std::vector<T>& delta,
              Gradients<T>& g) const {
    const size_t rows = role == 0 ? s.target : s.source, n = depth(role);
    for (size_t t = 0; t < rows; ++t)
      for (size_t d = 0; d < n; ++d) {
        const T& dq = delta[t * n + d];
        if (at.bias[role] != 0) add(g, v, at.bias[role], 0, {d, h}, dq);
        for (size_t c = 0; c < s.columns(role); ++c) {
          add(g, v, at.weights[role], 0, {c, d, h}, dq, v.value[input(role)].at(b, {t, c}));
          add(g, v, input(role), b, {t, c}, dq, v.value[at.weights[role]].at(0, {c, d, h}));
        }
      }
    const size_t bias = role == 1 ? at.key_bias : at.value_bias;
    for (size_t d = 0; d < n && role != 0 && bias != 0; ++d)
      add(g, v, bias, 0, {d, h}, delta[rows * n + d]);
  }

  template <class T>
  void backward_head(const Values<T>& v, size_t b, size_t h, Gradients<T>& g) const {
    const AttentionHead<T> a = head(v, b, h);
    const size_t n = a.depth, m = a.value_depth;
    const T scale(1 / std::sqrt(static_cast<double>(n)));
    std::vector<Sum<T>> dq(a.queries * n), dk(a.keys * n), dv(a.keys * m);
    for (size_t t = 0; t < a.queries; ++t) {
      std::vector<T> dout, dp;
      for (size_t e = 0; e < m; ++e) {
        Sum<T> sum;
        for (size_t c = 0; c < s.model; ++c) {
          const T dy = v.delta[1].at(b, {t, c});
          sum.add(dy, output_weight(v, h, e, c));
          add(g, v, at.weights[3], 0, {h * m + e, c}, dy, a.o[t * m + e]);
        }
        dout.push_back(sum.get());
      }
      Sum<T> dot;
      for (size_t j = 0; j < a.keys; ++j) {
        Sum<T> sum;
        for (size_t e = 0; e < m; ++e) {
          sum.add(dout[e], a.v[j * m + e]);
          dv[j * m + e].add(a.p[t * a.keys + j], dout[e]);
        }
        dp.push_back(sum.get());
        dot.add(dp[j], a.p[t * a.keys + j]);
      }
      for (size_t j = 0; j < a.keys; ++j) {
        const T dr = a.p[t * a.keys + j] * (dp[j] - dot.get()) * scale;
        for (size_t d = 0; d < n; ++d) {
          dq[t * n + d].add(dr, a.k[j * n + d]);
          dk[j * n + d].add(dr, a.q[t * n + d]);
        }
      }
    }
    const std::vector<Sum<T>>* const sums[] = {&dq, &dk, &dv};
    for (size_t role = 0; role < 3; ++role) {
      std::vector<T> delta;
      for (const Sum<T>& sum : *sums[role]) delta.push_back(sum.get());
      spread(v, b, h, role, delta, g);
    }
  }

  AttentionSettings s;
  AttentionPlaces at;
};

}  // namespace spec::reference

namespace spec {

inline Case attention_case(const AttentionSettings& s, size_t batch) {
  const reference::Attention layer(s);
  Case c{.layer = "attention", .function = s.function(), .shape = s.shape(batch)};
  c.batch = batch;
  fill_attention_operands(c, s);
  c.forward = [layer](auto& v) { layer.forward(v); };
  const Pass reference = [layer](auto& v) { layer.backward(v); };
  for (const bool cached : {false, true}) {
    for (const std::vector<size_t>& deltas : attention_deltas(s)) {
      c.backward.push_back({.name = (cached ? "backward-cached" : "backward") +
                                    std::string(c.backward.empty() || !s.thorough ? "" : "+") +
                                    (s.thorough ? std::to_string(c.backward.size()) : ""),
                            .reference = reference,
                            .pass_out = cached,
                            .deltas = deltas});
    }
  }
  c.create = [s](Call& call) { return create_attention(call, s); };
  c.apply = [s](Call& call) { return apply_attention(call, s); };
  // A pass that is given the output is one with a cache.
  c.apply_backward = [s](Call& call) {
    return apply_attention_backward(call, s, call.value[1].given);
  };
  c.thorough = s.thorough;
  return c;
}

// 02-functions, golden vector 35.
inline std::string check_attention_golden() {
  float q = 0.5f, k = 1.5f, v = 3.5f, wq = 1, wv = 2, wo = 3, out = 0, dy = 1;
  const auto matrix = [](float* data, BNNSDataLayout layout) {
    BNNSNDArrayDescriptor d = {};
    d.layout = layout;
    d.size[0] = d.size[1] = d.size[2] = 1;
    d.data = data;
    d.data_type = BNNSDataTypeFloat32;
    return d;
  };
  const auto role = [&](float* rows, float* weights, BNNSDataLayout layout) {
    BNNSMHAProjectionParameters p = {};
    p.target_desc = matrix(rows, BNNSDataLayoutRowMajorMatrix);
    p.weights = matrix(weights, layout);
    return p;
  };
  BNNSLayerParametersMultiheadAttention p = {};
  p.query = role(nullptr, &wq, BNNSDataLayoutMHA_DHK);
  p.key = role(nullptr, &wq, BNNSDataLayoutMHA_DHK);
  p.value = role(nullptr, &wv, BNNSDataLayoutMHA_DHK);
  p.output = role(nullptr, &wo, BNNSDataLayoutRowMajorMatrix);
  BNNSFilter filter = BNNSFilterCreateLayerMultiheadAttention(&p, nullptr);
  float g[7];
  std::fill(g, g + 7, -99.0f);
  auto dq = role(&g[0], &g[1], BNNSDataLayoutMHA_DHK),
       dk = role(&g[2], &g[3], BNNSDataLayoutMHA_DHK);
  auto dv = role(&g[4], &g[5], BNNSDataLayoutMHA_DHK);
  auto dout = role(&dy, &g[6], BNNSDataLayoutRowMajorMatrix);
  const bool fine = BNNSApplyMultiheadAttention(filter, 1, &q, 0, &k, 0, nullptr, 0, &v, 0, &out, 0,
                                                nullptr, nullptr, nullptr, nullptr, nullptr) == 0 &&
                    BNNSApplyMultiheadAttentionBackward(
                        filter, 1, &q, 0, &dq, &k, 0, nullptr, 0, &dk, &v, 0, &dv, nullptr, nullptr,
                        nullptr, nullptr, 0, &dout, 0, nullptr, nullptr, nullptr) == 0;
  BNNSFilterDestroy(filter);
  if (!fine) return "a call failed";
  const float right[] = {0, 0, 0, 0, 6, 10.5f, 7};
  return out == 21 && std::equal(right, right + 7, g) ? "" : "wrong numbers";
}

inline void add_attention(Suite& suite) {
  const auto add = [&](const AttentionSettings& s, size_t batch) -> Case& {
    return suite.cases.emplace_back(attention_case(s, batch));
  };
  for (const AttentionSettings& s : small_attentions()) add(s, 2).gradient = true;
  for (const AttentionSettings& s : attention_masks())
    add(s, 3).gradient = s.mask_type == BNNSDataTypeBoolean;
  for (size_t n = 1; n <= 34; ++n) add(sized_attention(n), 1 + n % 3);
  // Worth several threads; several blocks of queries; several chunks of samples.
  AttentionSettings large = {.target = 70,
                             .source = 61,
                             .model = 40,
                             .key_size = 24,
                             .value_size = 33,
                             .heads = 4,
                             .key_depth = 12,
                             .value_depth = 9};
  add(large, 5);
  large.all_options();
  add(large, 3);
  AttentionSettings longer = {.target = 260,
                              .source = 530,
                              .model = 6,
                              .key_size = 5,
                              .value_size = 4,
                              .heads = 1,
                              .key_depth = 6,
                              .value_depth = 5};
  longer.attention_bias = true;
  add(longer, 1);
  add({.target = 2,
       .source = 3,
       .model = 4,
       .key_size = 4,
       .value_size = 4,
       .heads = 2,
       .key_depth = 2,
       .value_depth = 2},
      700);
  suite.checks.push_back({"attention/golden", check_attention_golden});
}

}  // namespace spec
#endif
