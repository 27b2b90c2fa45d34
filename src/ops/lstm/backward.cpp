// The gradient of lstm.h, layers from the last to the first, steps against the direction. With da
// for the gradients of the sums of the gates of all steps, and dh the gradient that arrives from
// the step after:
//   dh = Wh^T da, dWh = da h_before^T, dWx = da x^T, db = sum of da, dx = Wx^T da
// and dc += Wc_o^T da_o at c, dc_before += Wc_k^T da_k, dWc_k = da_k c_before^T, of the gate o with
// c. Behind the end of a sample da is 0, and dh and dc stay what they are.
#include <algorithm>

#include "ops/lstm/forward.h"

namespace bnns::impl {
namespace {

constexpr double kCellNanoseconds = 2;

// Matrices side by side, as the second operand of a product. The gradients of both matrices of the
// gates are one product, so that da is packed once.
struct Columns {
  const GemmKernels* kernels;
  struct Part {
    const float* data;
    size_t row, count;
  } part[2];

  const float* at(size_t k, size_t column) const {
    const Part& p = part[column < part[0].count ? 0 : 1];
    return p.data + k * p.row + (column < part[0].count ? column : column - part[0].count);
  }
  static void pack(const void* context, size_t first, size_t count, size_t k0, size_t depth,
                   float* panel) {
    const auto& c = *static_cast<const Columns*>(context);
    const size_t border = c.part[0].count, width = c.kernels->nr;
    if (first >= border || first + count <= border) {
      const size_t row = c.part[first < border ? 0 : 1].row;
      return c.kernels->pack_across(c.at(k0, first), row, count, depth, width, panel);
    }
    for (size_t k = 0; k < depth; ++k)
      for (size_t i = 0; i < width; ++i)
        panel[k * width + i] = i < count ? *c.at(k0 + k, first + i) : 0;
  }
};

class LstmBackward : private LstmPass {
 public:
  LstmBackward(const LstmRun& run, const LstmProblem& problem, const LstmNetwork& network,
               const LstmNetwork& delta, const float* cache, uint64_t stream);
  void run();

 private:
  LstmTrack track(size_t layer, size_t direction) const {
    auto* cache = const_cast<float*>(cache_);  // only read
    return {cache + place_.h(layer), cache + place_.gates(layer, direction),
            cache + place_.cells(layer, direction), direction};
  }
  float* c_at(const LstmTrack& t, size_t step) const {
    return t.cells + (step + 1 - t.direction) * s_.batch * s_.hidden;
  }
  float* c_before(const LstmTrack& t, size_t step) const {
    return t.cells + (step + t.direction) * s_.batch * s_.hidden;
  }
  // All steps of a direction, those before each step.
  const float* c_all(const LstmTrack& t, bool before) const {
    return t.cells + (before == (t.direction == 0) ? 0 : s_.batch * s_.hidden);
  }
  bool wants(LstmTensor LstmGateTensors::*member) const;
  bool wants_inputs(size_t layer) const { return layer > 0 || delta_.in.sequence; }
  bool copies_inputs(size_t layer) const {
    return layer == 0 ? !in_place(net_.in.sequence) : p_.drops();
  }
  bool writes_inputs_directly() const { return in_place(delta_.in.sequence); }
  Rows inputs(size_t layer, bool fill) const;
  GemmOp hidden_product() const;
  GemmOp peephole_product(size_t gate) const;
  GemmOp inputs_product(size_t layer) const;
  GemmOp matrices_product(size_t columns, const GemmPacker& packer) const;
  GemmOp cells_product() const;

  void update_cells(const LstmTrack& t, size_t step, Rows dy) const;
  void update_any_cells(const LstmTrack& t, size_t step, Rows dy, double around) const;
  void add_peephole(size_t gate, const float* da) const;
  void run_steps(size_t layer, const LstmTrack& t, Rows dy);
  void weight_gradients(size_t layer, const LstmTrack& t) const;
  void matrix_gradients(size_t layer, const LstmTrack& t) const;
  void write_gates(LstmTensor LstmGateTensors::*member, size_t layer, size_t direction,
                   const float* from, size_t width, size_t row) const;
  void input_gradient(size_t layer, size_t direction);

  const LstmNetwork& delta_;
  const LstmCache place_;
  const float* cache_;
  LstmMemory memory_;
  float *x_ = nullptr, *da_ = nullptr, *dy_ = nullptr, *dx_ = nullptr, *packed_x_memory_ = nullptr;
  float *packed_h_memory_ = nullptr, *packed_c_memory_[kLstmGates] = {}, *dh_ = nullptr;
  float *dc_ = nullptr, *next_ = nullptr, *weights_ = nullptr, *gemm_memory_ = nullptr;
  float *row_memory_ = nullptr, *own_cache_ = nullptr;
  PackedMatrix packed_x_, packed_h_, packed_c_[kLstmGates];
};

LstmBackward::LstmBackward(const LstmRun& run, const LstmProblem& problem,
                           const LstmNetwork& network, const LstmNetwork& delta, const float* cache,
                           uint64_t stream)
    : LstmPass(run, problem, network, stream), delta_(delta), place_(problem.shape), cache_(cache) {
  size_t x = 0, weights = 0, packed = 0, dx = 0;
  const GemmPacker packer = {.pack = Columns::pack, .context = nullptr};
  size_t gemm = std::max(
      {hidden_product().scratch(), peephole_product(0).scratch(), cells_product().scratch()});
  for (size_t layer = 0; layer < std::min<size_t>(2, s_.layers); ++layer) {
    const size_t values = checked_mul(s_.rows(), s_.inputs_of(layer), "the inputs of a layer");
    if (copies_inputs(layer)) x = std::max(x, values);
    if (layer > 0 || (delta_.in.sequence && !writes_inputs_directly())) dx = std::max(dx, values);
    // Any of the two matrices may be the only one.
    const size_t in = s_.inputs_of(layer);
    for (size_t columns : {in, s_.hidden, in + s_.hidden})
      gemm = std::max(gemm, matrices_product(columns, packer).scratch());
    weights = std::max(weights, checked_mul(s_.gates(), in + s_.hidden, "a gradient"));
    gemm = std::max(gemm, inputs_product(layer).scratch());
    packed = std::max(packed,
                      PackedMatrix::floats(*gemm_, GemmSide::kB, s_.inputs_of(layer), s_.gates()));
  }
  const size_t state = s_.batch * s_.hidden;
  memory_.add(&x_, x);
  memory_.add(&da_, place_.gate_floats());
  memory_.add(&dy_, std::max(dx, place_.h_floats()));
  memory_.add(&dx_, dx);
  memory_.add(&packed_x_memory_, packed);
  memory_.add(&packed_h_memory_, PackedMatrix::floats(*gemm_, GemmSide::kB, s_.hidden, s_.gates()));
  for (size_t k = 0; k < kLstmGates; ++k) {
    memory_.add(
        &packed_c_memory_[k],
        has_peephole(k) ? PackedMatrix::floats(*gemm_, GemmSide::kB, s_.hidden, s_.hidden) : 0);
  }
  memory_.add(&dh_, state);
  memory_.add(&dc_, state);
  memory_.add(&next_, p_.lengths == nullptr ? 0 : state);
  memory_.add(&weights_, std::max(weights, s_.gates()));
  memory_.add(&gemm_memory_, gemm);
  const size_t row = problem.functions.standard ? 0 : lstm_row_floats(s_.hidden);
  memory_.add(&row_memory_, checked_mul(run.threads, row, "working memory"));
  memory_.add(&own_cache_, cache == nullptr ? place_.floats() : 0);
  memory_.allocate(run.memory);
}

GemmOp LstmBackward::hidden_product() const {
  return product({s_.batch, s_.hidden, s_.gates()}, s_.gates(), packed_h_, s_.hidden);
}

GemmOp LstmBackward::peephole_product(size_t gate) const {
  return product({s_.batch, s_.hidden, s_.hidden}, s_.gates(), packed_c_[gate], s_.hidden);
}

GemmOp LstmBackward::inputs_product(size_t layer) const {
  const size_t row = layer == 0 && writes_inputs_directly() ? plain_rows(delta_.in.sequence).row
                                                            : s_.inputs_of(layer);
  return product({s_.rows(), s_.inputs_of(layer), s_.gates()}, s_.gates(), packed_x_, row);
}

// Columns of da, transposed, times as many rows of other values as there are of da.
GemmOp LstmBackward::matrices_product(size_t columns, const GemmPacker& packer) const {
  return GemmOp(*gemm_, run_.threads,
                {.shape = {s_.gates(), columns, s_.rows()},
                 .a = {.row = s_.gates(), .transposed = true},
                 .b = {.packer = &packer},
                 .c_row = columns});
}

GemmOp LstmBackward::cells_product() const {
  return GemmOp(*gemm_, run_.threads,
                {.shape = {s_.hidden, s_.hidden, s_.rows()},
                 .a = {.row = s_.gates(), .transposed = true},
                 .b = {.row = s_.hidden},
                 .c_row = s_.hidden});
}

// What the layer was given; copies are made with `fill`.
LstmBackward::Rows LstmBackward::inputs(size_t layer, bool fill) const {
  if (!copies_inputs(layer)) {
    if (layer == 0) return plain_rows(net_.in.sequence);
    const float* below = cache_ == nullptr ? nullptr : cache_ + place_.h(layer - 1);
    return {below == nullptr ? nullptr : below + s_.batch * s_.outputs(), s_.outputs()};
  }
  if (fill && layer == 0) read_sequence(net_.in.sequence, x_);
  if (fill && layer > 0) drop(layer, cache_ + place_.h(layer - 1) + s_.batch * s_.outputs(), x_);
  return {x_, s_.inputs_of(layer)};
}

// da of one step from dy, dh and dc; dc becomes the gradient of the state before.
void LstmBackward::update_cells(const LstmTrack& t, size_t step, Rows dy) const {
  const double around = gemm_nanoseconds({s_.batch, s_.gates(), s_.hidden});
  const size_t n = s_.hidden, all = s_.gates();
  const float *gates = gates_at(t, step), *c = c_at(t, step), *c_prev = c_before(t, step);
  const float* dy_step = dy.data + step * s_.batch * dy.row + t.direction * n;
  float* da = da_ + step * s_.batch * all;
  if (p_.functions.standard) {
    for_samples(kCellNanoseconds, around, [&](size_t i, size_t) {
      if (!p_.is_active(step, i)) {
        std::fill_n(da + i * all, all, 0.0f);
        return;
      }
      kernels_->backward({.gates = gates + i * all,
                          .c_prev = c_prev + i * n,
                          .c = c + i * n,
                          .dy = dy_step + i * dy.row,
                          .dh = dh_ + i * n,
                          .dc = dc_ + i * n,
                          .da = da + i * all},
                         n);
    });
  } else {
    update_any_cells(t, step, {dy_step, dy.row}, around);
  }
  for (size_t k : {kInputGate, kForgetGate, kCandidateGate})
    if (has_peephole(k)) add_peephole(k, da);
}

// The same with any functions, and with a peephole of the output gate.
void LstmBackward::update_any_cells(const LstmTrack& t, size_t step, Rows dy, double around) const {
  const size_t n = s_.hidden, all = s_.gates();
  const float *gates = gates_at(t, step), *c = c_at(t, step), *c_prev = c_before(t, step);
  float* da = da_ + step * s_.batch * all;
  const LstmFunctions& f = p_.functions;
  const auto work = [&](size_t worker) { return row_memory_ + worker * lstm_row_floats(n); };
  for_samples(kCellNanoseconds, around, [&](size_t i, size_t worker) {
    if (!p_.is_active(step, i)) {
      std::fill_n(da + i * all, all, 0.0f);
      return;
    }
    lstm_output_gradient(f, gates + i * all, c + i * n, dy.data + i * dy.row, dh_ + i * n,
                         dc_ + i * n, da + i * all, n, work(worker));
  });
  if (has_peephole(kOutputGate)) add_peephole(kOutputGate, da);
  for_samples(kCellNanoseconds, around, [&](size_t i, size_t worker) {
    if (!p_.is_active(step, i)) return;
    lstm_cell_gradient(f, gates + i * all, c_prev + i * n, dc_ + i * n, da + i * all, n,
                       work(worker));
  });
}

// To the gradient of the cell state that the gate has seen.
void LstmBackward::add_peephole(size_t gate, const float* da) const {
  peephole_product(gate).run({.a = da + gate * s_.hidden, .c = dc_, .accumulate = true},
                             gemm_memory_);
}

void LstmBackward::run_steps(size_t layer, const LstmTrack& t, Rows dy) {
  const size_t d = t.direction;
  packed_h_ = hidden_matrix(layer, d).pack(packed_h_memory_, run_.threads, false);
  for (size_t k = 0; k < kLstmGates; ++k) {
    if (has_peephole(k))
      packed_c_[k] = peephole_matrix(k, layer, d).pack(packed_c_memory_[k], run_.threads, false);
  }
  read_state(delta_.out.hidden, layer, d, dh_, s_.hidden);
  read_state(delta_.out.cell, layer, d, dc_, s_.hidden);
  const GemmOp hidden = hidden_product();
  for (size_t turn = s_.steps; turn-- > 0;) {
    const size_t step = step_of(t, turn);
    update_cells(t, step, dy);
    if (turn == 0 && !delta_.in.hidden) break;
    const float* da = da_ + step * s_.batch * s_.gates();
    if (p_.lengths == nullptr) {
      hidden.run({.a = da, .c = dh_}, gemm_memory_);
      continue;
    }
    hidden.run({.a = da, .c = next_}, gemm_memory_);
    for (size_t n = 0; n < s_.batch; ++n)
      if (p_.is_active(step, n)) std::copy_n(next_ + n * s_.hidden, s_.hidden, dh_ + n * s_.hidden);
  }
  write_state(delta_.in.hidden, layer, d, dh_, s_.hidden);
  write_state(delta_.in.cell, layer, d, dc_, s_.hidden);
}

// Gradients of one parameter of the four gates: `hidden` rows of `width` values for each.
void LstmBackward::write_gates(LstmTensor LstmGateTensors::*member, size_t layer, size_t direction,
                               const float* from, size_t width, size_t row) const {
  const double work = 0.5 * static_cast<double>(s_.gates() * width);
  parallel_for(useful_threads(run_.threads, work), kLstmGates, [&](size_t k, size_t) {
    const LstmTensor& to = delta_.gate[k].*member;
    if (!to) return;
    const float* rows = from + k * s_.hidden * row;
    View view = lstm_slice(to, layer, direction);
    if (row == width) return write(view, rows, to.accumulate);
    view.rank = 1;
    view.count = width;
    for (size_t h = 0; h < s_.hidden; ++h) {
      write(view, rows + h * row, to.accumulate);
      view.data = static_cast<float*>(view.data) + view.stride[1];
    }
  });
}

bool LstmBackward::wants(LstmTensor LstmGateTensors::*member) const {
  return std::any_of(delta_.gate, delta_.gate + kLstmGates,
                     [&](const LstmGateTensors& gate) { return bool{gate.*member}; });
}

// da times inputs and states before the steps, of those that are wanted.
void LstmBackward::matrix_gradients(size_t layer, const LstmTrack& t) const {
  const bool upper = layer > 0 && s_.splits_weights();
  const auto member = upper ? &LstmGateTensors::iw_upper : &LstmGateTensors::iw;
  const size_t in = wants(member) ? s_.inputs_of(layer) : 0;
  const size_t own = wants(&LstmGateTensors::hw) ? s_.hidden : 0;
  if (in + own == 0) return;
  const Rows x = in > 0 ? inputs(layer, t.direction == 0) : Rows();
  const Columns columns = {gemm_, {{x.data, x.row, in}, {h_before(t, 0), s_.outputs(), s_.hidden}}};
  const GemmPacker packer = {.pack = Columns::pack, .context = &columns};
  matrices_product(in + own, packer).run({.a = da_, .c = weights_}, gemm_memory_);
  if (in > 0) write_gates(member, upper ? layer - 1 : layer, t.direction, weights_, in, in + own);
  if (own > 0) write_gates(&LstmGateTensors::hw, layer, t.direction, weights_ + in, own, in + own);
}

void LstmBackward::weight_gradients(size_t layer, const LstmTrack& t) const {
  matrix_gradients(layer, t);
  if (wants(&LstmGateTensors::b)) {
    gemm_->column_sums(da_, s_.gates(), s_.rows(), s_.gates(), weights_, false);
    write_gates(&LstmGateTensors::b, layer, t.direction, weights_, 1, 1);
  }
  for (size_t k = 0; k < kLstmGates; ++k) {
    const LstmTensor& to = delta_.gate[k].cw;
    if (!to) continue;
    cells_product().run({.a = da_ + k * s_.hidden, .b = c_all(t, k != kOutputGate), .c = weights_},
                        gemm_memory_);
    write(lstm_slice(to, layer, t.direction), weights_, to.accumulate);
  }
}

// Of the inputs of a layer, the sum over its directions.
void LstmBackward::input_gradient(size_t layer, size_t direction) {
  packed_x_ = input_matrix(layer, direction).pack(packed_x_memory_, run_.threads, false);
  const bool direct = layer == 0 && writes_inputs_directly();
  float* to = direct ? const_cast<float*>(plain_rows(delta_.in.sequence).data) : dx_;
  const bool accumulate = direction > 0 || (direct && delta_.in.sequence.accumulate);
  inputs_product(layer).run({.a = da_, .c = to, .accumulate = accumulate}, gemm_memory_);
  if (direction + 1 < s_.directions) return;
  if (layer > 0 && p_.drops()) drop(layer, dx_, dx_);
  if (layer == 0 && !direct) write_sequence(delta_.in.sequence, dx_, s_.inputs);
}

void LstmBackward::run() {
  if (cache_ == nullptr) {
    LstmForward(run_, p_, net_, own_cache_, stream_).run(false);
    cache_ = own_cache_;
  }
  Rows dy = plain_rows(delta_.out.sequence);
  if (dy.data == nullptr) {
    if (delta_.out.sequence) {
      read_sequence(delta_.out.sequence, dy_);
    } else {
      std::fill_n(dy_, s_.rows() * s_.outputs(), 0.0f);
    }
    dy = {dy_, s_.outputs()};
  }
  for (size_t layer = s_.layers; layer-- > 0;) {
    for (size_t d = 0; d < s_.directions; ++d) {
      const LstmTrack t = track(layer, d);
      run_steps(layer, t, dy);
      weight_gradients(layer, t);
      if (wants_inputs(layer)) input_gradient(layer, d);
    }
    std::swap(dy_, dx_);
    dy = {dy_, s_.outputs()};
  }
}

}  // namespace

void run_lstm_backward(const LstmRun& run, const LstmProblem& problem, const LstmNetwork& network,
                       const LstmNetwork& delta, const float* cache, uint64_t stream) {
  LstmBackward(run, problem, network, delta, cache, stream).run();
}

}  // namespace bnns::impl
