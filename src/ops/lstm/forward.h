// The forward pass of lstm.h. The pass for gradients runs it where no cache is given.
#pragma once

#include "ops/lstm/pass.h"

namespace bnns::impl {

class LstmForward : private LstmPass {
 public:
  LstmForward(const LstmRun& run, const LstmProblem& problem, const LstmNetwork& network,
              float* cache, uint64_t stream);
  void run(bool writes_outputs);

 private:
  bool drops() const { return p_.drops() && cache_ != nullptr; }
  LstmTrack track(size_t layer, size_t direction) const;
  // Without a cache there is one cell state, updated in place.
  float* c_at(const LstmTrack& t, size_t step) const { return cell(t, step + 1 - t.direction); }
  float* c_before(const LstmTrack& t, size_t step) const { return cell(t, step + t.direction); }
  float* cell(const LstmTrack& t, size_t place) const {
    return t.cells + (cache_ == nullptr ? 0 : place * s_.batch * s_.hidden);
  }
  // Of as many steps as a piece has, one after the other in the same place.
  float* gates_of(const LstmTrack& t, size_t step) const {
    return t.gates + (cache_ == nullptr ? step % piece_ : step) * s_.batch * s_.gates();
  }
  size_t input_row(size_t layer) const;
  const float* inputs(size_t layer) const;
  GemmOp input_product(size_t layer, size_t steps) const;
  GemmOp hidden_product() const;
  GemmOp peephole_product(size_t gate) const;
  void prepare(size_t layer, const LstmTrack& t);
  void add_peephole(size_t gate, const float* c, float* gates) const;
  void update_cells(const LstmTrack& t, size_t step) const;
  void run_step(const LstmTrack& t, size_t step, bool first);
  void run_direction(size_t layer, const float* x, const LstmTrack& t);

  const LstmCache place_;
  float* const cache_;
  // Steps whose input products are one product: their gates are still in the second-level cache
  // when the steps come to them.
  const size_t piece_;
  LstmMemory memory_;
  float *x_ = nullptr, *packed_x_memory_ = nullptr, *packed_h_memory_ = nullptr;
  float* packed_c_memory_[kLstmGates] = {};
  float *bias_ = nullptr, *gemm_memory_ = nullptr, *row_memory_ = nullptr;
  float *h_[2] = {}, *gates_ = nullptr, *cells_ = nullptr;
  PackedMatrix packed_x_, packed_h_, packed_c_[kLstmGates];
};

}  // namespace bnns::impl
