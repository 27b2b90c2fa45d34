#include "ops/attention/plan.h"

#include <algorithm>
#include <cmath>

#include "core/checked.h"

namespace bnns::impl {
namespace {

// Rows of a chunk: enough for products to be worth their packing, few enough that the arrays of a
// chunk stay in the last-level cache.
constexpr size_t kChunkRows = 1024;
// Scores of a block: 256 KB, of which there are two backward.
constexpr size_t kBlockScores = 65536, kLeastBlock = 16, kMostBlock = 128;

constexpr size_t kLine = kAlignment / sizeof(float);

size_t product(size_t a, size_t b) {
  return checked_mul(a, b, "the working memory of an attention layer");
}
size_t padded(size_t floats) {
  return checked_add(floats, kLine - 1, "the working memory of an attention layer") / kLine * kLine;
}

GemmOp head_product(const GemmKernels& kernels, const GemmShape& shape, const GemmOperand& a,
                    const GemmOperand& b, size_t c_row, float alpha = 1) {
  return GemmOp(kernels, 1,
                {.shape = shape, .a = a, .b = b, .c_row = c_row, .epilogue = {.alpha = alpha}});
}

float score_scale(const AttentionProblem& p) {
  return static_cast<float>(1 / std::sqrt(static_cast<double>(p.key_depth)));
}

// Of the products of a whole chunk with these rows of operands, or with rows that are not known
// yet.
size_t projection_scratch(const AttentionProblem& p, const GemmKernels& kernels, size_t threads,
                          size_t samples, bool backward) {
  size_t most = 0;
  const PackedMatrix packed;  // all packed operands make the same plan
  const auto add = [&](const GemmShape& shape, const GemmOperand& a, const GemmOperand& b,
                       size_t count) {
    const GemmOp op(kernels, threads, {.shape = shape, .a = a, .b = b, .c_row = shape.n});
    most = std::max(most, op.scratch(count));
  };
  for (size_t i = 0; i < kAttentionRoles; ++i) {
    const auto role = static_cast<AttentionRole>(i);
    const size_t rows = product(samples, p.rows(role)), depth = p.depth(role);
    const size_t results = p.results(role);
    const GemmOperand weights = {.packed = p.packs_weights ? &packed : nullptr};
    add({rows, results, depth}, {}, weights, 1);
    add({p.rows(role), results, depth}, {}, weights, 2);
    if (!backward) continue;
    add({rows, depth, results}, {}, {.transposed = true}, 1);
    add({depth, results, rows}, {.transposed = true}, {}, 1);
  }
  return most;
}

// Hands out places one behind the other.
class Places {
 public:
  size_t take(size_t floats) {
    const size_t place = end_;
    end_ = checked_add(end_, padded(floats), "the working memory of an attention layer");
    return place;
  }
  size_t end() const { return end_; }

 private:
  size_t end_ = 0;
};

}  // namespace

View AttentionRows::view(size_t rows, size_t columns, size_t first, size_t count) const {
  View v;
  v.data = data + first * step;
  v.rank = 3;
  const size_t extent[] = {columns, rows, count}, stride[] = {column, row, step};
  std::copy(extent, extent + 3, v.extent);
  std::copy(stride, stride + 3, v.stride);
  v.count = columns * rows * count;
  return collapsed(v);
}

View AttentionTensor::view() const {
  View v;
  v.data = data;
  v.rank = 3;
  std::copy(extent, extent + 3, v.extent);
  std::copy(stride, stride + 3, v.stride);
  v.count = extent[0] * extent[1] * extent[2];
  return collapsed(v);
}

size_t matrix_row(const View& view, size_t columns) {
  if (columns == 1) return view.rank == 1 ? view.stride[0] : 0;
  if (view.stride[0] != 1) return 0;
  if (view.rank == 1) return columns;
  return view.rank == 2 && view.extent[0] == columns ? view.stride[1] : 0;
}

size_t attention_state_rows(const AttentionProblem& p, AttentionRole role) {
  return role == kQuery || role == kOutput ? p.target : p.keys();
}

size_t attention_kept_bytes(const AttentionProblem& p) {
  return p.dropout > 0 ? div_up(p.keys(), 8) : 0;
}

size_t attention_score_row(const AttentionProblem& p) {
  return padded(p.keys());
}

AttentionState::AttentionState(const AttentionProblem& p, size_t batch, float* memory) {
  for (size_t i = 0; i < kAttentionRoles; ++i) {
    const auto role = static_cast<AttentionRole>(i);
    rows[i] = memory;
    memory += batch * attention_state_rows(p, role) * p.width(role);
  }
  row_terms = memory;
  memory += 2 * batch * p.heads * p.target;
  kept = reinterpret_cast<uint8_t*>(memory);
}

size_t AttentionState::floats(const AttentionProblem& p, size_t batch) {
  size_t sum = 0;
  const auto add = [&](size_t floats) {
    sum = checked_add(sum, floats, "the state of an attention layer");
  };
  for (size_t i = 0; i < kAttentionRoles; ++i) {
    const auto role = static_cast<AttentionRole>(i);
    add(product(product(batch, attention_state_rows(p, role)), p.width(role)));
  }
  const size_t heads = product(batch, product(p.heads, p.target));
  add(product(2, heads));
  add(div_up(product(heads, attention_kept_bytes(p)), sizeof(float)));
  return sum;
}

AttentionState AttentionState::from(const AttentionProblem& p, size_t first) const {
  AttentionState s = *this;
  for (size_t i = 0; i < kAttentionRoles; ++i) {
    const auto role = static_cast<AttentionRole>(i);
    s.rows[i] += first * attention_state_rows(p, role) * p.width(role);
  }
  s.row_terms += 2 * first * p.heads * p.target;
  s.kept += first * p.heads * p.target * attention_kept_bytes(p);
  return s;
}

AttentionHeadForward::AttentionHeadForward(const AttentionProblem& p, const GemmKernels& kernels,
                                           size_t rows)
    : scores(head_product(kernels, {rows, p.keys(), p.key_depth}, {.row = p.width(kQuery)},
                          {.row = p.width(kKey), .transposed = true}, attention_score_row(p),
                          score_scale(p))),
      values(head_product(kernels, {rows, p.value_depth, p.keys()}, {.row = attention_score_row(p)},
                          {.row = p.width(kValue)}, p.width(kOutput))) {}

size_t AttentionHeadForward::scratch() const {
  return std::max(scores.scratch(), values.scratch());
}

AttentionHeadBackward::AttentionHeadBackward(const AttentionProblem& p, const GemmKernels& kernels,
                                             size_t rows)
    : scores(AttentionHeadForward(p, kernels, rows).scores),
      probabilities(
          head_product(kernels, {rows, p.keys(), p.value_depth}, {.row = p.width(kOutput)},
                       {.row = p.width(kValue), .transposed = true}, attention_score_row(p))),
      query(head_product(kernels, {rows, p.key_depth, p.keys()}, {.row = attention_score_row(p)},
                         {.row = p.width(kKey)}, p.width(kQuery), score_scale(p))),
      key(head_product(kernels, {p.source, p.key_depth, rows},
                       {.row = attention_score_row(p), .transposed = true},
                       {.row = p.width(kQuery)}, p.width(kKey), score_scale(p))),
      value(head_product(kernels, {p.source, p.value_depth, rows},
                         {.row = attention_score_row(p), .transposed = true},
                         {.row = p.width(kOutput)}, p.width(kValue))),
      key_bias(head_product(kernels, {1, p.key_depth, rows},
                            {.row = attention_score_row(p), .transposed = true},
                            {.row = p.width(kQuery)}, p.width(kKey), score_scale(p))),
      value_bias(head_product(kernels, {1, p.value_depth, rows},
                              {.row = attention_score_row(p), .transposed = true},
                              {.row = p.width(kOutput)}, p.width(kValue))) {}

size_t AttentionHeadBackward::scratch() const {
  return std::max({scores.scratch(), probabilities.scratch(), query.scratch(), key.scratch(),
                   value.scratch(), key_bias.scratch(), value_bias.scratch()});
}

AttentionPlan::AttentionPlan(const AttentionProblem& p, const GemmKernels& kernels, size_t threads,
                             size_t batch, AttentionPass pass) {
  const bool backward = pass == AttentionPass::kBackward || pass == AttentionPass::kBackwardAlone;
  const size_t longest = std::max(p.target, p.keys());
  chunk = std::clamp<size_t>(kChunkRows / longest, 1, std::max<size_t>(batch, 1));
  block = std::min(p.target, std::clamp(kBlockScores / p.keys(), kLeastBlock, kMostBlock));
  Places places;
  for (size_t i = 0; i < kAttentionRoles; ++i) {
    const auto role = static_cast<AttentionRole>(i);
    rows[i] = places.take(product(product(chunk, p.rows(role)), p.columns[i]));
    if (p.gathers_weights[i]) weights[i] = places.take(product(p.depth(role), p.results(role)));
    if (p.gathers_bias[i]) bias[i] = places.take(p.results(role));
    if (!backward) continue;
    delta[i] = places.take(product(product(chunk, p.rows(role)), p.width(role)));
    parameter = std::max(parameter, product(p.depth(role), p.results(role)));
  }
  if (p.gathers_attention_bias) {
    key_bias = places.take(p.width(kKey));
    value_bias = places.take(p.width(kValue));
  }
  if (pass == AttentionPass::kForward || pass == AttentionPass::kBackwardAlone)
    state = places.take(AttentionState::floats(p, chunk));
  if (backward) {
    parameter = places.take(parameter);
    key_sums = places.take(product(chunk, p.width(kKey)));
    value_sums = places.take(product(chunk, p.width(kValue)));
  }
  // The last chunk and the last block are smaller, and may all the same need more.
  size_t most = 0;
  for (const size_t samples : {chunk, batch % chunk}) {
    if (samples > 0)
      most = std::max(most, projection_scratch(p, kernels, threads, samples, backward));
  }
  products = places.take(most);
  size_t inside = 0;
  for (const size_t n : {block, p.target % block}) {
    if (n == 0) continue;
    inside = std::max(inside, AttentionHeadForward(p, kernels, n).scratch());
    if (backward) inside = std::max(inside, AttentionHeadBackward(p, kernels, n).scratch());
  }
  // Scores, and their gradients; a row of masks, thrice; a row of random numbers; two terms a row.
  const size_t scores = product(block, attention_score_row(p));
  worker_floats = padded(product(scores, 2));
  worker_floats += padded(product(4, p.keys())) + padded(2 * block) + padded(inside);
  workers = places.take(product(threads, worker_floats));
  floats = places.end();
}

}  // namespace bnns::impl
