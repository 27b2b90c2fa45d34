// The forward pass of attention.h, and what both passes share.
#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <cstring>
#include <limits>

#include "core/parallel.h"
#include "ops/attention/chunk.h"
#include "ops/convert/blocks.h"
#include "ops/copy.h"
#include "ops/random/random.h"

namespace bnns::impl {
namespace {

// For a chunk of one block of queries after the other: whole blocks, and the last one.
size_t rest_of(size_t rows, size_t block) {
  return rows % block == 0 ? block : rows % block;
}

}  // namespace

void AttentionOp::gather(const View& from, float* to) const {
  View dense = from;
  dense.data = to;
  dense.rank = 1;
  dense.extent[0] = from.count;
  dense.stride[0] = 1;
  run_copy(*convert_, threads_, from, dense);
}

void AttentionOp::scatter(const float* from, const View& to, bool accumulate) const {
  constexpr size_t kGrain = 16384;
  const size_t threads = useful_threads(threads_, static_cast<double>(to.count));
  parallel_for(threads, div_up(to.count, kGrain), [&](size_t g, size_t) {
    const size_t first = g * kGrain, n = std::min(kGrain, to.count - first);
    if (!accumulate) return write_values(*convert_, to, first, n, from + first);
    const float* next = from + first;
    for_blocks(*convert_, std::array{Operand{to, Operand::kUpdate}}, first, n,
               [&](const auto& rows, size_t m) {
                 for (size_t i = 0; i < m; ++i) rows[0][i] += next[i];
                 next += m;
               });
  });
}

AttentionParameters AttentionOp::prepare(const AttentionSources& from, const AttentionPlan& plan,
                                         float* memory) const {
  AttentionParameters p;
  const auto vector = [&](const AttentionTensor& t, bool gathers, size_t place) -> const float* {
    if (t.data == nullptr || !gathers) return t.data;
    gather(t.view(), memory + place);
    return memory + place;
  };
  for (size_t i = 0; i < kAttentionRoles; ++i) {
    const size_t results = problem_.results(static_cast<AttentionRole>(i));
    const View view = from.weights[i].view();
    AttentionMatrix& w = p.weights[i];
    w = {.data = from.weights[i].data, .row = matrix_row(view, results)};
    if (problem_.gathers_weights[i]) {
      gather(view, memory + plan.weights[i]);
      w = {.data = memory + plan.weights[i], .row = results};
    }
    if (from.packed != nullptr) w.packed = &from.packed[i];
    p.bias[i] = vector(from.bias[i], problem_.gathers_bias[i], plan.bias[i]);
  }
  const bool gathers = problem_.gathers_attention_bias;
  p.key_bias = vector(from.key_bias, gathers, plan.key_bias);
  p.value_bias = vector(from.value_bias, gathers, plan.value_bias);
  return p;
}

// Where they lie, or a dense copy.
AttentionMatrix AttentionOp::rows_of(const AttentionRows& from, AttentionRole role,
                                     const Chunk& c) const {
  const size_t columns = problem_.columns[role];
  const View view = from.view(problem_.rows(role), columns, c.first, c.samples);
  const size_t row = matrix_row(view, columns);
  if (row != 0) return {.data = static_cast<const float*>(view.data), .row = row};
  gather(view, c.at(c.plan.rows[role]));
  return {.data = c.at(c.plan.rows[role]), .row = columns};
}

void AttentionOp::run_product(const GemmProblem& product, const GemmData& data,
                              const Chunk& c) const {
  const GemmOp op(*gemm_, threads_, product);
  assert(c.plan.products + op.scratch() <= c.plan.workers);
  op.run(data, c.at(c.plan.products));
}

AttentionOp::Worker AttentionOp::worker(const Chunk& c, size_t index) const {
  constexpr size_t kLine = kAlignment / sizeof(float);
  const auto padded = [](size_t floats) { return div_up(floats, kLine) * kLine; };
  const size_t keys = problem_.keys(), block = c.plan.block;
  Worker w;
  w.scores = c.at(c.plan.workers + index * c.plan.worker_floats);
  w.gradients = w.scores + block * attention_score_row(problem_);
  w.masks = w.gradients + block * attention_score_row(problem_);
  w.units = w.masks + 3 * keys;
  w.factors = w.masks + padded(4 * keys);
  w.zeros = w.factors + block;
  w.products = w.factors + padded(2 * block);
  return w;
}

// [x W + bias], where the rows of K and V leave room for those that are appended.
void AttentionOp::project(AttentionRole role, const AttentionMatrix& x, float* to, size_t to_row,
                          const Chunk& c) const {
  const AttentionMatrix& w = c.parameters.weights[role];
  const size_t rows = problem_.rows(role), results = problem_.results(role);
  const bool gaps = role != kOutput && attention_state_rows(problem_, role) != rows;
  const GemmProblem product = {
      .shape = {gaps ? rows : c.samples * rows, results, problem_.depth(role)},
      .a = {.row = x.row},
      .b = {.row = w.row, .packed = w.packed},
      .c_row = to_row};
  const GemmData data = {
      .a = x.data, .b = w.data, .c = to, .column = {.bias = c.parameters.bias[role]}};
  if (!gaps) return run_product(product, data, c);
  const GemmOp op(*gemm_, threads_, product);
  assert(c.plan.products + op.scratch(c.samples) <= c.plan.workers);
  op.run_batch(c.samples, {.a = rows * x.row, .c = attention_state_rows(problem_, role) * to_row},
               data, c.at(c.plan.products));
}

void AttentionOp::append_rows(const Chunk& c) const {
  const AttentionProblem& p = problem_;
  if (p.keys() == p.source) return;
  for (const AttentionRole role : {kKey, kValue}) {
    const float* bias = role == kKey ? c.parameters.key_bias : c.parameters.value_bias;
    const size_t width = p.width(role);
    for (size_t s = 0; s < c.samples; ++s) {
      float* row = c.state.rows[role] + (s * p.keys() + p.source) * width;
      if (p.attention_bias) row = std::copy(bias, bias + width, row);
      if (p.zero_row) std::fill(row, row + width, 0.0f);
    }
  }
}

// Q, K, V, and O of all heads.
void AttentionOp::forward_chunk(const AttentionRows (&inputs)[kOutput], const Chunk& c) const {
  const AttentionProblem& p = problem_;
  for (const AttentionRole role : {kQuery, kKey, kValue})
    project(role, rows_of(inputs[role], role, c), c.state.rows[role], p.width(role), c);
  append_rows(c);
  const size_t blocks = div_up(p.target, c.plan.block);
  const double products = gemm_nanoseconds({p.target, p.keys(), p.key_depth + p.value_depth});
  const double scores = static_cast<double>(p.target) * static_cast<double>(p.keys());
  const double work = static_cast<double>(c.samples * p.heads) * (products + scores);
  parallel_for(useful_threads(threads_, work), c.samples * p.heads * blocks,
               [&](size_t grain, size_t index) {
                 const size_t block = grain % blocks, head = grain / blocks % p.heads;
                 forward_block(c, grain / blocks / p.heads, head, block, worker(c, index));
               });
}

// Computes scores of a row of Q again, in double, that are infinite or NaN: sums that left the
// range of float are its largest and smallest values, also where they met infinities of both signs.
void AttentionOp::bring_back(const float* q, const float* k, float* s) const {
  const size_t n = problem_.keys(), depth = problem_.key_depth;
  if (kernels_->finite(s, n)) [[likely]]
    return;
  constexpr double kLargest = std::numeric_limits<float>::max();
  const double scale = 1 / std::sqrt(static_cast<double>(depth));
  for (size_t j = 0; j < n; ++j, k += problem_.width(kKey)) {
    if (std::isfinite(s[j])) continue;
    double sum = 0;
    for (size_t d = 0; d < depth; ++d) sum += double{q[d]} * double{k[d]};
    s[j] = static_cast<float>(std::clamp(sum * scale, -kLargest, kLargest));
  }
}

// Turns a row of masked scores into e^(s - top) and fills its two terms. Returns 1 / sum; 0 for a
// row without keys, whose probabilities are 0.
float AttentionOp::start_row(float* s, float* terms) const {
  const size_t n = problem_.keys();
  const float top = terms[0];
  if (top == -std::numeric_limits<float>::infinity()) [[unlikely]] {
    const bool has_nan = std::any_of(s, s + n, [](float v) { return v != v; });
    std::fill(s, s + n, 0.0f);
    terms[0] = 0;
    terms[1] = has_nan ? std::numeric_limits<float>::quiet_NaN() : 0;
  } else {
    terms[1] = 1 / kernels_->exp_sum(s, n, top);
  }
  return terms[1];
}

void AttentionOp::draw(const Chunk& c, size_t row, uint8_t* kept, float* units) const {
  const size_t n = problem_.keys();
  const size_t first = c.first * problem_.heads * problem_.target + row;
  random_open_units(c.stream, first * n, n, units);
  std::memset(kept, 0, attention_kept_bytes(problem_));
  for (size_t i = 0; i < n; ++i)
    kept[i / 8] |= static_cast<uint8_t>((units[i] >= problem_.dropout ? 1u : 0u) << i % 8);
}

void AttentionOp::drop(const uint8_t* kept, const float* from, float* to, float factor) const {
  for (size_t i = 0; i < problem_.keys(); ++i)
    to[i] = (kept[i / 8] >> i % 8 & 1) != 0 ? from[i] * factor : 0;
}

// The product of a row of probabilities that are all 0 is 0, also where values are not finite.
void AttentionOp::clear_hidden_rows(const float* row_terms, size_t rows, float* to, size_t to_row,
                                    size_t columns) {
  for (size_t t = 0; t < rows; ++t)
    if (row_terms[2 * t + 1] == 0) std::fill_n(to + t * to_row, columns, 0.0f);
}

void AttentionOp::forward_block(const Chunk& c, size_t sample, size_t head, size_t block,
                                const Worker& w) const {
  const AttentionProblem& p = problem_;
  const size_t first = block * c.plan.block, rows = std::min(c.plan.block, p.target - first);
  const AttentionHeadForward& products = c.forward[rows == c.plan.block ? 0 : 1];
  const size_t n = p.keys(), score_row = attention_score_row(p);
  const size_t query = sample * p.target + first;  // rows of Q and O
  const size_t row = (sample * p.heads + head) * p.target + first;
  const float* q = c.state.rows[kQuery] + query * p.width(kQuery) + head * p.key_depth;
  const float* k = c.state.rows[kKey] + sample * n * p.width(kKey) + head * p.key_depth;
  products.scores.run({.a = q, .b = k, .c = w.scores}, w.products);
  const AttentionMaskRows masks(c.masks, p.source, n, c.first + sample, head, w.masks);
  const float grown = 1 / (1 - p.dropout);
  for (size_t t = 0; t < rows; ++t) {
    float* s = w.scores + t * score_row;
    float* terms = c.state.row_terms + 2 * (row + t);
    bring_back(q + t * p.width(kQuery), k, s);
    terms[0] = kernels_->mask(s, n, masks.row(first + t));
    w.factors[t] = start_row(s, terms) * grown;
    w.zeros[t] = 0;
    if (p.dropout == 0) continue;
    uint8_t* kept = c.state.kept + (row + t) * attention_kept_bytes(p);
    draw(c, row + t, kept, w.units);
    drop(kept, s, s, 1);
  }
  float* out = c.state.rows[kOutput] + query * p.width(kOutput) + head * p.value_depth;
  products.values.run(
      {.a = w.scores,
       .b = c.state.rows[kValue] + sample * n * p.width(kValue) + head * p.value_depth,
       .c = out,
       .row = {.scale = w.factors, .shift = w.zeros}},
      w.products);
  clear_hidden_rows(c.state.row_terms + 2 * row, rows, out, p.width(kOutput), p.value_depth);
}

void AttentionOp::forward(const AttentionForward& call, const AttentionPlan& plan,
                          float* memory) const {
  const AttentionProblem& p = problem_;
  const AttentionHeadForward products[] = {{p, *gemm_, plan.block},
                                           {p, *gemm_, rest_of(p.target, plan.block)}};
  const auto run = [&](Chunk c) {
    c.forward = products;
    c.stream = call.stream;
    if (call.state != nullptr) c.state = AttentionState(p, call.batch, call.state).from(p, c.first);
    forward_chunk({call.query, call.key, call.value}, c);
    const size_t columns = p.columns[kOutput];
    const View out = call.output.view(p.target, columns, c.first, c.samples);
    const size_t row = matrix_row(out, columns);
    const AttentionMatrix heads = {.data = c.state.rows[kOutput], .row = p.width(kOutput)};
    if (row != 0) return project(kOutput, heads, static_cast<float*>(out.data), row, c);
    project(kOutput, heads, c.at(plan.rows[kOutput]), columns, c);
    scatter(c.at(plan.rows[kOutput]), out, false);
  };
  for_chunks(call.batch, plan, call.parameters, call.masks, memory, run);
}

}  // namespace bnns::impl
