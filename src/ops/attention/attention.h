// Multi-head attention. For a sample and head h, with T rows of queries and S rows of keys:
//   Q = x Wq + bq    K = [x' Wk + bk; key bias; 0]    V = [x'' Wv + bv; value bias; 0]
//   P = softmax of the rows of Q K^T / sqrt(D) + X    O = drop(P) V    y = [O of all heads] Wo + bo
//   dV = drop(P)^T dO    dP = drop(dO V^T)    dR = P (dP - sum(dP P))    dQ = dR K / sqrt(D)
//   dK = dR^T Q / sqrt(D), and the gradients of the projections, which are products of ops/gemm.
// Samples are worked on in chunks of about 1024 rows: projections are products of all rows of a
// chunk, scores belong to a head and a block of query rows, and stay in the second-level cache.
// They are never kept: the backward pass computes them again from Q, K and two numbers a row. A
// grain is a head and a block of rows forward, a head backward; sums have a fixed order.
#pragma once

#include <cstddef>
#include <cstdint>

#include "ops/attention/kernels.h"
#include "ops/attention/masks.h"
#include "ops/attention/plan.h"
#include "ops/attention/problem.h"
#include "ops/convert/convert.h"
#include "ops/gemm/gemm.h"

namespace bnns::impl {

// Parameters as every pass reads them: weights in memory order of AttentionPlan, biases contiguous.
struct AttentionMatrix {
  const float* data = nullptr;
  size_t row = 0;
  const PackedMatrix* packed = nullptr;  // panels of the same matrix, or NULL
};
struct AttentionParameters {
  AttentionMatrix weights[kAttentionRoles];
  const float* bias[kAttentionRoles] = {};                 // NULL: none
  const float *key_bias = nullptr, *value_bias = nullptr;  // both or neither
};

struct AttentionForward {
  size_t batch;
  AttentionRows query, key, value, output;
  AttentionMasks masks;
  AttentionSources parameters;
  uint64_t stream = 0;     // of random numbers, if there is dropout
  float* state = nullptr;  // of the whole batch, for the backward pass; NULL: not wanted
};

// What receives a gradient; no data: it is not wanted.
struct AttentionDelta {
  AttentionRows rows;
  AttentionTensor weights, bias;
  bool rows_accumulate = false, weights_accumulate = false, bias_accumulate = false;

  bool any() const { return rows.data != nullptr || wants_parameters(); }
  bool wants_parameters() const { return weights.data != nullptr || bias.data != nullptr; }
};

struct AttentionBackward {
  size_t batch;
  AttentionRows query, key, value;
  AttentionRows output_delta;  // read
  AttentionMasks masks;
  AttentionSources parameters;
  // Those of kOutput have no rows. Rows of several roles may be the same memory, which then
  // receives their sum.
  AttentionDelta delta[kAttentionRoles];
  AttentionTensor key_bias, value_bias;
  bool key_bias_accumulate = false, value_bias_accumulate = false;
  const float* state = nullptr;  // that of the forward pass; NULL: computed again
};

class AttentionOp {
 public:
  AttentionOp(const AttentionProblem& problem, size_t threads)
      : problem_(problem), threads_(threads) {}

  const AttentionProblem& problem() const { return problem_; }
  const GemmKernels& gemm() const { return *gemm_; }
  const ConvertKernels& convert() const { return *convert_; }

  AttentionPlan plan(size_t batch, AttentionPass pass) const {
    return AttentionPlan(problem_, *gemm_, threads_, batch, pass);
  }
  // `memory` has the floats of the plan, aligned to a cache line.
  void forward(const AttentionForward& call, const AttentionPlan& plan, float* memory) const;
  void backward(const AttentionBackward& call, const AttentionPlan& plan, float* memory) const;

  // Copies rows or parameters, whatever their strides, into a dense array, or from one.
  void gather(const View& from, float* to) const;
  void scatter(const float* from, const View& to, bool accumulate) const;

 private:
  struct Chunk;
  struct Worker;

  template <class Body>
  void for_chunks(size_t batch, const AttentionPlan& plan, const AttentionSources& sources,
                  const AttentionMasks& masks, float* memory, const Body& body) const;
  AttentionParameters prepare(const AttentionSources& from, const AttentionPlan& plan,
                              float* memory) const;
  AttentionMatrix rows_of(const AttentionRows& from, AttentionRole role, const Chunk& c) const;
  void run_product(const GemmProblem& product, const GemmData& data, const Chunk& c) const;
  Worker worker(const Chunk& c, size_t index) const;

  void forward_chunk(const AttentionRows (&inputs)[kOutput], const Chunk& c) const;
  void project(AttentionRole role, const AttentionMatrix& x, float* to, size_t to_row,
               const Chunk& c) const;
  void append_rows(const Chunk& c) const;
  void forward_block(const Chunk& c, size_t sample, size_t head, size_t block,
                     const Worker& w) const;
  void bring_back(const float* q, const float* k, float* s) const;
  float start_row(float* s, float* terms) const;
  static void clear_hidden_rows(const float* row_terms, size_t rows, float* to, size_t to_row,
                                size_t columns);
  void draw(const Chunk& c, size_t row, uint8_t* kept, float* units) const;
  void drop(const uint8_t* kept, const float* from, float* to, float factor) const;

  void backward_chunk(const AttentionBackward& call, const Chunk& c) const;
  void output_gradients(const AttentionBackward& call, bool want_inputs, const Chunk& c) const;
  void backward_head(const AttentionBackward& call, const Chunk& c, size_t sample, size_t head,
                     const Worker& w) const;
  void probabilities(const Chunk& c, size_t sample, size_t head, size_t first, size_t rows,
                     const AttentionMaskRows& masks, const float* q, const float* k,
                     float* p) const;
  void drop_rows(const Chunk& c, size_t row, size_t rows, const float* from, float* to) const;
  void role_gradients(const AttentionBackward& call, AttentionRole role, const Chunk& c) const;
  void weights_gradient(AttentionRole role, const AttentionDelta& delta, const AttentionMatrix& x,
                        const AttentionMatrix& g, const Chunk& c) const;
  void rows_gradient(AttentionRole role, const AttentionDelta& delta, bool accumulate,
                     const Chunk& c) const;
  // (+)= the sums of the columns of a matrix.
  void sum_columns(const AttentionMatrix& from, size_t rows, size_t columns,
                   const AttentionTensor& to, bool accumulate, const Chunk& c) const;

  AttentionProblem problem_;
  size_t threads_;
  const GemmKernels* gemm_ = gemm_kernels();
  const ConvertKernels* convert_ = convert_kernels();
  const AttentionKernels* kernels_ = attention_kernels();
};

}  // namespace bnns::impl
