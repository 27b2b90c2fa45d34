#include "ops/lstm/forward.h"

#include <algorithm>

namespace bnns::impl {
namespace {

// Of one value of the cell update, about.
constexpr double kCellNanoseconds = 2;

// Gates of a piece: 256 KB, beside about 1 MB of weights.
constexpr size_t kPieceFloats = size_t{1} << 16;
constexpr size_t kLeastRows = 64;  // of a product that uses packed weights well

size_t piece_of(const LstmShape& s) {
  const size_t rows = std::max(kLeastRows, kPieceFloats / s.gates());
  return std::clamp<size_t>(rows / s.batch, 1, s.steps);
}

}  // namespace

LstmForward::LstmForward(const LstmRun& run, const LstmProblem& problem, const LstmNetwork& network,
                         float* cache, uint64_t stream)
    : LstmPass(run, problem, network, stream),
      place_(problem.shape),
      cache_(cache),
      piece_(piece_of(problem.shape)) {
  size_t x = in_place(net_.in.sequence) ? 0 : checked_mul(s_.rows(), s_.inputs, "the input");
  if (drops()) x = std::max(x, s_.rows() * s_.outputs());
  size_t weights = 0, gemm = 0;
  for (size_t layer = 0; layer < std::min<size_t>(2, s_.layers); ++layer) {
    weights = std::max(weights,
                       PackedMatrix::floats(*gemm_, GemmSide::kB, s_.gates(), s_.inputs_of(layer)));
    for (size_t steps : {piece_, s_.steps % piece_})
      if (steps > 0) gemm = std::max(gemm, input_product(layer, steps).scratch());
  }
  gemm = std::max({gemm, hidden_product().scratch(), peephole_product(0).scratch()});
  memory_.add(&x_, x);
  memory_.add(&packed_x_memory_, weights);
  memory_.add(&packed_h_memory_, PackedMatrix::floats(*gemm_, GemmSide::kB, s_.gates(), s_.hidden));
  for (size_t k = 0; k < kLstmGates; ++k) {
    memory_.add(
        &packed_c_memory_[k],
        has_peephole(k) ? PackedMatrix::floats(*gemm_, GemmSide::kB, s_.hidden, s_.hidden) : 0);
  }
  memory_.add(&bias_, s_.gates());
  memory_.add(&gemm_memory_, gemm);
  const size_t row = problem.functions.standard ? 0 : lstm_row_floats(s_.hidden);
  memory_.add(&row_memory_, checked_mul(run.threads, row, "working memory"));
  if (cache == nullptr) {
    memory_.add(&h_[0], place_.h_floats());
    memory_.add(&h_[1], s_.layers > 1 ? place_.h_floats() : 0);
    memory_.add(&gates_, piece_ * s_.batch * s_.gates());
    memory_.add(&cells_, s_.batch * s_.hidden);
  }
  memory_.allocate(run.memory);
}

LstmTrack LstmForward::track(size_t layer, size_t direction) const {
  if (cache_ == nullptr) return {h_[layer % 2], gates_, cells_, direction};
  return {cache_ + place_.h(layer), cache_ + place_.gates(layer, direction),
          cache_ + place_.cells(layer, direction), direction};
}

size_t LstmForward::input_row(size_t layer) const {
  if (layer > 0) return s_.outputs();
  return in_place(net_.in.sequence) ? plain_rows(net_.in.sequence).row : s_.inputs;
}

// The inputs of a layer as rows.
const float* LstmForward::inputs(size_t layer) const {
  if (layer == 0) {
    if (in_place(net_.in.sequence)) return plain_rows(net_.in.sequence).data;
    read_sequence(net_.in.sequence, x_);
    return x_;
  }
  const float* below = track(layer - 1, 0).h + s_.batch * s_.outputs();
  if (!drops()) return below;
  drop(layer, below, x_);
  return x_;
}

GemmOp LstmForward::input_product(size_t layer, size_t steps) const {
  return product({steps * s_.batch, s_.gates(), s_.inputs_of(layer)}, input_row(layer), packed_x_,
                 s_.gates());
}

GemmOp LstmForward::hidden_product() const {
  return product({s_.batch, s_.gates(), s_.hidden}, s_.outputs(), packed_h_, s_.gates());
}

GemmOp LstmForward::peephole_product(size_t gate) const {
  return product({s_.batch, s_.hidden, s_.hidden}, s_.hidden, packed_c_[gate], s_.gates());
}

void LstmForward::prepare(size_t layer, const LstmTrack& t) {
  const size_t d = t.direction;
  packed_x_ = input_matrix(layer, d).pack(packed_x_memory_, run_.threads, true);
  packed_h_ = hidden_matrix(layer, d).pack(packed_h_memory_, run_.threads, true);
  std::fill_n(bias_, s_.gates(), 0.0f);
  for (size_t k = 0; k < kLstmGates; ++k) {
    const LstmGateTensors& gate = net_.gate[k];
    if (gate.b) read(lstm_slice(gate.b, layer, d), bias_ + k * s_.hidden);
    if (has_peephole(k))
      packed_c_[k] = peephole_matrix(k, layer, d).pack(packed_c_memory_[k], run_.threads, true);
  }
  read_state(net_.in.hidden, layer, d, h_before(t, step_of(t, 0)), s_.outputs());
  read_state(net_.in.cell, layer, d, c_before(t, step_of(t, 0)), s_.hidden);
  if (cache_ == nullptr) return;
  // The half of the other direction in the same place is never read; zeros make the cache a
  // function of the arguments.
  for (size_t n = 0; n < s_.batch; ++n) {
    const size_t step = d == 0 ? s_.steps + 1 : 0;
    std::fill_n(t.h + (step * s_.batch + n) * s_.outputs() + d * s_.hidden, s_.hidden, 0.0f);
  }
}

// The cells of one step, whose sums are complete but for what peepholes add.
void LstmForward::update_cells(const LstmTrack& t, size_t step) const {
  const double around = gemm_nanoseconds({s_.batch, s_.gates(), s_.hidden});
  const size_t n = s_.hidden, out = s_.outputs();
  float *gates = gates_of(t, step), *c_prev = c_before(t, step), *c = c_at(t, step);
  float *h_prev = h_before(t, step), *h = h_at(t, step);
  const auto keep = [&](size_t sample) {
    std::copy_n(h_prev + sample * out, n, h + sample * out);
    if (c != c_prev) std::copy_n(c_prev + sample * n, n, c + sample * n);
  };
  if (p_.functions.standard) {
    return for_samples(kCellNanoseconds, around, [&](size_t i, size_t) {
      if (!p_.is_active(step, i)) return keep(i);
      kernels_->forward({gates + i * s_.gates(), c_prev + i * n, c + i * n, h + i * out}, n,
                        cache_ != nullptr);
    });
  }
  const auto work = [&](size_t worker) { return row_memory_ + worker * lstm_row_floats(n); };
  for_samples(kCellNanoseconds, around, [&](size_t i, size_t worker) {
    if (!p_.is_active(step, i)) return keep(i);
    lstm_cell(p_.functions, gates + i * s_.gates(), c_prev + i * n, c + i * n, n, work(worker));
  });
  if (has_peephole(kOutputGate)) add_peephole(kOutputGate, c, gates);
  for_samples(kCellNanoseconds, around, [&](size_t i, size_t worker) {
    if (!p_.is_active(step, i)) return;
    lstm_output(p_.functions, gates + i * s_.gates(), c + i * n, h + i * out, n, work(worker));
  });
}

void LstmForward::add_peephole(size_t gate, const float* c, float* gates) const {
  peephole_product(gate).run({.a = c, .c = gates + gate * s_.hidden, .accumulate = true},
                             gemm_memory_);
}

// The gates have the products of the inputs. States that are not given are zeros, which add
// nothing.
void LstmForward::run_step(const LstmTrack& t, size_t step, bool first) {
  float* gates = gates_of(t, step);
  if (!first || net_.in.hidden)
    hidden_product().run({.a = h_before(t, step), .c = gates, .accumulate = true}, gemm_memory_);
  for (size_t k : {kInputGate, kForgetGate, kCandidateGate}) {
    if (has_peephole(k) && (!first || net_.in.cell)) add_peephole(k, c_before(t, step), gates);
  }
  update_cells(t, step);
}

void LstmForward::run_direction(size_t layer, const float* x, const LstmTrack& t) {
  prepare(layer, t);
  const ChannelTerms bias = {.bias = has_bias() ? bias_ : nullptr};
  const size_t pieces = div_up(s_.steps, piece_);
  for (size_t turn = 0; turn < pieces; ++turn) {
    const size_t first = (t.direction == 0 ? turn : pieces - 1 - turn) * piece_;
    const size_t steps = std::min(piece_, s_.steps - first);
    const float* rows = x + first * s_.batch * input_row(layer);
    input_product(layer, steps)
        .run({.a = rows, .c = gates_of(t, first), .column = bias}, gemm_memory_);
    for (size_t i = 0; i < steps; ++i) {
      const size_t step = t.direction == 0 ? first + i : first + steps - 1 - i;
      run_step(t, step, step == step_of(t, 0));
    }
  }
}

void LstmForward::run(bool writes_outputs) {
  for (size_t layer = 0; layer < s_.layers; ++layer) {
    const float* x = inputs(layer);
    for (size_t d = 0; d < s_.directions; ++d) {
      const LstmTrack t = track(layer, d);
      run_direction(layer, x, t);
      if (!writes_outputs) continue;
      const size_t last = step_of(t, s_.steps - 1);
      write_state(net_.out.hidden, layer, d, h_at(t, last), s_.outputs());
      write_state(net_.out.cell, layer, d, c_at(t, last), s_.hidden);
    }
  }
  if (!writes_outputs) return;
  write_sequence(net_.out.sequence, track(s_.layers - 1, 0).h + s_.batch * s_.outputs(),
                 s_.outputs());
}

void run_lstm(const LstmRun& run, const LstmProblem& problem, const LstmNetwork& network,
              float* cache, uint64_t stream) {
  LstmForward(run, problem, network, cache, stream).run(true);
}

}  // namespace bnns::impl
