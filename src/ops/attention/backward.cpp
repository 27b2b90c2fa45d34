// The backward pass of attention.h.
#include <cassert>

#include "core/parallel.h"
#include "ops/attention/chunk.h"

namespace bnns::impl {
namespace {

size_t rest_of(size_t rows, size_t block) {
  return rows % block == 0 ? block : rows % block;
}

}  // namespace

void AttentionOp::backward(const AttentionBackward& call, const AttentionPlan& plan,
                           float* memory) const {
  const AttentionProblem& p = problem_;
  const size_t rest = rest_of(p.target, plan.block);
  const AttentionHeadForward forward[] = {{p, *gemm_, plan.block}, {p, *gemm_, rest}};
  const AttentionHeadBackward backward[] = {{p, *gemm_, plan.block}, {p, *gemm_, rest}};
  for_chunks(call.batch, plan, call.parameters, call.masks, memory, [&](Chunk c) {
    c.forward = forward;
    c.backward = backward;
    if (call.state != nullptr) {
      // It is only read.
      c.state = AttentionState(p, call.batch, const_cast<float*>(call.state)).from(p, c.first);
    } else {
      forward_chunk({call.query, call.key, call.value}, c);
    }
    backward_chunk(call, c);
  });
}

void AttentionOp::backward_chunk(const AttentionBackward& call, const Chunk& c) const {
  const AttentionProblem& p = problem_;
  const bool key_bias = call.key_bias.data != nullptr, value_bias = call.value_bias.data != nullptr;
  bool want_inputs = key_bias || value_bias;
  for (const AttentionRole role : {kQuery, kKey, kValue}) want_inputs |= call.delta[role].any();
  output_gradients(call, want_inputs, c);
  if (!want_inputs) return;
  const double products =
      gemm_nanoseconds({p.target, p.keys(), 3 * p.key_depth + 2 * p.value_depth});
  const double scores = 2 * static_cast<double>(p.target) * static_cast<double>(p.keys());
  const double work = static_cast<double>(c.samples * p.heads) * (products + scores);
  parallel_for(useful_threads(threads_, work), c.samples * p.heads,
               [&](size_t grain, size_t index) {
                 backward_head(call, c, grain / p.heads, grain % p.heads, worker(c, index));
               });
  for (const AttentionRole role : {kQuery, kKey, kValue}) role_gradients(call, role, c);
  const auto sums = [&](AttentionRole role, size_t place, const AttentionTensor& to, bool add) {
    sum_columns({.data = c.at(place), .row = p.width(role)}, c.samples, p.width(role), to, add, c);
  };
  if (key_bias) sums(kKey, c.plan.key_sums, call.key_bias, call.key_bias_accumulate);
  if (value_bias) sums(kValue, c.plan.value_sums, call.value_bias, call.value_bias_accumulate);
}

void AttentionOp::output_gradients(const AttentionBackward& call, bool want_inputs,
                                   const Chunk& c) const {
  const AttentionProblem& p = problem_;
  const AttentionMatrix dy = rows_of(call.output_delta, kOutput, c);
  const AttentionMatrix heads = {.data = c.state.rows[kOutput], .row = p.width(kOutput)};
  weights_gradient(kOutput, call.delta[kOutput], heads, dy, c);
  if (!want_inputs) return;
  const AttentionMatrix& w = c.parameters.weights[kOutput];
  run_product({.shape = {c.samples * p.target, p.width(kOutput), p.columns[kOutput]},
               .a = {.row = dy.row},
               .b = {.row = w.row, .transposed = true},
               .c_row = p.width(kOutput)},
              {.a = dy.data, .b = w.data, .c = c.at(c.plan.delta[kOutput])}, c);
}

// P of a block of rows, from the scores and the terms that the forward pass kept. q: the first of
// the rows of Q, k: those of K.
void AttentionOp::probabilities(const Chunk& c, size_t sample, size_t head, size_t first,
                                size_t rows, const AttentionMaskRows& masks, const float* q,
                                const float* k, float* p) const {
  const size_t n = problem_.keys(), score_row = attention_score_row(problem_);
  const size_t row = (sample * problem_.heads + head) * problem_.target + first;
  for (size_t t = 0; t < rows; ++t) {
    float* s = p + t * score_row;
    const float* terms = c.state.row_terms + 2 * (row + t);
    if (terms[1] == 0) {  // all keys are hidden
      std::fill(s, s + n, 0.0f);
      continue;
    }
    bring_back(q + t * problem_.width(kQuery), k, s);
    kernels_->mask(s, n, masks.row(first + t));
    kernels_->exp_scaled(s, n, terms[0], terms[1]);
  }
}

void AttentionOp::drop_rows(const Chunk& c, size_t row, size_t rows, const float* from,
                            float* to) const {
  const size_t score_row = attention_score_row(problem_), bytes = attention_kept_bytes(problem_);
  const float grown = 1 / (1 - problem_.dropout);
  for (size_t t = 0; t < rows; ++t)
    drop(c.state.kept + (row + t) * bytes, from + t * score_row, to + t * score_row, grown);
}

void AttentionOp::backward_head(const AttentionBackward& call, const Chunk& c, size_t sample,
                                size_t head, const Worker& w) const {
  const AttentionProblem& p = problem_;
  const size_t n = p.keys(), score_row = attention_score_row(p), d = p.key_depth, e = p.value_depth;
  const bool want_query = call.delta[kQuery].any();
  const bool want_key = call.delta[kKey].any() || call.key_bias.data != nullptr;
  const bool want_value = call.delta[kValue].any() || call.value_bias.data != nullptr;
  const float* k = c.state.rows[kKey] + sample * n * p.width(kKey) + head * d;
  const float* v = c.state.rows[kValue] + sample * n * p.width(kValue) + head * e;
  float* dk = c.at(c.plan.delta[kKey]) + sample * p.source * p.width(kKey) + head * d;
  float* dv = c.at(c.plan.delta[kValue]) + sample * p.source * p.width(kValue) + head * e;
  float* key_sums = c.at(c.plan.key_sums) + sample * p.width(kKey) + head * d;
  float* value_sums = c.at(c.plan.value_sums) + sample * p.width(kValue) + head * e;
  const AttentionMaskRows masks(c.masks, p.source, n, c.first + sample, head, w.masks);
  for (size_t first = 0; first < p.target; first += c.plan.block) {
    const size_t rows = std::min(c.plan.block, p.target - first);
    const AttentionHeadBackward& products = c.backward[rows == c.plan.block ? 0 : 1];
    const size_t at = sample * p.target + first;
    const size_t row = (sample * p.heads + head) * p.target + first;
    const float* q = c.state.rows[kQuery] + at * p.width(kQuery) + head * d;
    const float* dz = c.at(c.plan.delta[kOutput]) + at * p.width(kOutput) + head * e;
    const bool add = first > 0;
    products.scores.run({.a = q, .b = k, .c = w.scores}, w.products);
    probabilities(c, sample, head, first, rows, masks, q, k, w.scores);
    if (want_value) {
      const float* dropped = w.scores;
      if (p.dropout > 0) {
        drop_rows(c, row, rows, w.scores, w.gradients);
        dropped = w.gradients;
      }
      products.value.run({.a = dropped, .b = dz, .c = dv, .accumulate = add}, w.products);
      if (p.attention_bias) {
        products.value_bias.run(
            {.a = dropped + p.source, .b = dz, .c = value_sums, .accumulate = add}, w.products);
      }
    }
    if (!want_query && !want_key) continue;
    products.probabilities.run({.a = dz, .b = v, .c = w.gradients}, w.products);
    if (p.dropout > 0) drop_rows(c, row, rows, w.gradients, w.gradients);
    for (size_t t = 0; t < rows; ++t)
      kernels_->gradient(w.scores + t * score_row, w.gradients + t * score_row, n);
    const float* terms = c.state.row_terms + 2 * row;
    clear_hidden_rows(terms, rows, w.gradients, score_row, n);
    if (want_query) {
      float* dq = c.at(c.plan.delta[kQuery]) + at * p.width(kQuery) + head * d;
      products.query.run({.a = w.gradients, .b = k, .c = dq}, w.products);
      clear_hidden_rows(terms, rows, dq, p.width(kQuery), d);
    }
    if (!want_key) continue;
    products.key.run({.a = w.gradients, .b = q, .c = dk, .accumulate = add}, w.products);
    if (p.attention_bias) {
      products.key_bias.run({.a = w.gradients + p.source, .b = q, .c = key_sums, .accumulate = add},
                            w.products);
    }
  }
}

void AttentionOp::sum_columns(const AttentionMatrix& from, size_t rows, size_t columns,
                              const AttentionTensor& to, bool accumulate, const Chunk& c) const {
  constexpr size_t kColumns = 64;
  const View view = to.view();
  const bool direct = matrix_row(view, columns) != 0 && (columns > 1 || view.stride[0] == 1);
  float* sums = direct ? to.data : c.at(c.plan.parameter);
  const bool add = accumulate || c.first > 0;
  const double work = 0.2 * static_cast<double>(rows) * static_cast<double>(columns);
  parallel_for(useful_threads(threads_, work), div_up(columns, kColumns), [&](size_t g, size_t) {
    const size_t first = g * kColumns, n = std::min(kColumns, columns - first);
    gemm_->column_sums(from.data + first, from.row, rows, n, sums + first, direct && add);
  });
  if (!direct) scatter(sums, view, add);
}

// (+)= x^T g and the sums of the columns of g.
void AttentionOp::weights_gradient(AttentionRole role, const AttentionDelta& delta,
                                   const AttentionMatrix& x, const AttentionMatrix& g,
                                   const Chunk& c) const {
  const size_t rows = c.samples * problem_.rows(role);
  const size_t depth = problem_.depth(role), results = problem_.results(role);
  if (delta.bias.data != nullptr)
    sum_columns(g, rows, results, delta.bias, delta.bias_accumulate, c);
  if (delta.weights.data == nullptr) return;
  const View view = delta.weights.view();
  const size_t row = matrix_row(view, results);
  const bool add = delta.weights_accumulate || c.first > 0;
  float* to = row != 0 ? delta.weights.data : c.at(c.plan.parameter);
  run_product({.shape = {depth, results, rows},
               .a = {.row = x.row, .transposed = true},
               .b = {.row = g.row},
               .c_row = row != 0 ? row : results},
              {.a = x.data, .b = g.data, .c = to, .accumulate = row != 0 && add}, c);
  if (row == 0) scatter(to, view, add);
}

// (+)= g W^T
void AttentionOp::rows_gradient(AttentionRole role, const AttentionDelta& delta, bool accumulate,
                                const Chunk& c) const {
  const size_t columns = problem_.columns[role], width = problem_.width(role);
  const View view = delta.rows.view(problem_.rows(role), columns, c.first, c.samples);
  const size_t row = matrix_row(view, columns);
  float* to = row != 0 ? static_cast<float*>(view.data) : c.at(c.plan.rows[role]);
  const AttentionMatrix& w = c.parameters.weights[role];
  run_product(
      {.shape = {c.samples * problem_.rows(role), columns, width},
       .a = {.row = width},
       .b = {.row = w.row, .transposed = true},
       .c_row = row != 0 ? row : columns},
      {.a = c.at(c.plan.delta[role]), .b = w.data, .c = to, .accumulate = row != 0 && accumulate},
      c);
  if (row == 0) scatter(to, view, accumulate);
}

void AttentionOp::role_gradients(const AttentionBackward& call, AttentionRole role,
                                 const Chunk& c) const {
  const AttentionRows* inputs[] = {&call.query, &call.key, &call.value};
  const AttentionDelta& delta = call.delta[role];
  const AttentionMatrix g = {.data = c.at(c.plan.delta[role]), .row = problem_.width(role)};
  AttentionMatrix x;
  if (delta.weights.data != nullptr) x = rows_of(*inputs[role], role, c);
  if (delta.wants_parameters()) weights_gradient(role, delta, x, g, c);
  if (delta.rows.data == nullptr) return;
  bool accumulate = delta.rows_accumulate;
  for (size_t earlier = 0; earlier < role; ++earlier)
    accumulate |= call.delta[earlier].rows.data == delta.rows.data;
  rows_gradient(role, delta, accumulate, c);
}

}  // namespace bnns::impl
