// Gradients of fully_connected.h: from where everything lies, or chunk by chunk.
#include <algorithm>

#include "ops/fully_connected/fully_connected.h"
#include "ops/fully_connected/rows.h"

namespace bnns::impl {
namespace {

GemmOperand weights_of(const FullyConnectedMatrix& w) {
  const bool along = w.in_stride == 1;
  return {
      .matrix = {.data = w.data, .row = along ? w.out_stride : w.in_stride, .transposed = !along}};
}

}  // namespace

size_t FullyConnectedOp::input_floats(size_t samples, const FullyConnectedMatrix& w) const {
  return gemm_scratch(*gemm_, threads_, {samples, problem_.in_size, problem_.out_size}, {},
                      weights_of(w));
}

size_t FullyConnectedOp::weights_floats(size_t samples, const FullyConnectedMatrix& dw) const {
  const bool along = dw.in_stride == 1;
  return gemm_scratch(*gemm_, threads_,
                      {along ? problem_.out_size : problem_.in_size,
                       along ? problem_.in_size : problem_.out_size, samples},
                      {.matrix = {.transposed = true}}, {});
}

// g = dy act'(y) for samples [first, first + n), packed.
void FullyConnectedOp::gradient_rows(const Gradients& p, size_t first, size_t n, float* g) {
  const size_t width = problem_.out_size;
  const FusedActivation& f = problem_.activation;
  const View dy = samples_of(*p.dy.view, p.dy.data, p.dy.stride, first, n);
  // Functions along axes need those of a sample: a packed copy of dy becomes g in place.
  if (f.is_identity() || !f.is_element()) read_values(*run_.convert, dy, 0, n * width, g);
  if (f.is_identity()) return;
  const size_t step = step_of(problem_.out, p.out.stride);
  const View y = with_samples(problem_.out, sample(p.out, first, step), n, step);
  const View rows = with_samples(packed(problem_.out), g, n, width);
  f.multiply_by_slope(threads_, y, f.is_element() ? dy : rows, rows);
}

void FullyConnectedOp::input_gradient(const Gradients& p, size_t first, size_t n, const float* g,
                                      size_t g_stride, const FullyConnectedMatrix& w, float* buffer,
                                      float* memory) {
  const bool direct = is_row(*p.dx.view);
  const size_t step = direct ? step_of(*p.dx.view, p.dx.stride) : problem_.in_size;
  float* rows = direct ? static_cast<float*>(p.dx.data) + first * step : buffer;
  run_gemm(*gemm_, threads_, {n, problem_.in_size, problem_.out_size},
           {.matrix = {.data = g, .row = g_stride}}, weights_of(w),
           {.data = rows, .row = step, .accumulate = direct && p.dx.accumulate}, {}, memory);
  if (direct) return;
  store(samples_of(*p.dx.view, p.dx.data, p.dx.stride, first, n), rows, p.dx.accumulate);
}

void FullyConnectedOp::weights_gradient(size_t n, const float* g, size_t g_stride, const float* x,
                                        size_t x_stride, const FullyConnectedMatrix& dw,
                                        bool accumulate, float* memory) {
  const GemmMatrix gradient = {.data = g, .row = g_stride}, input = {.data = x, .row = x_stride};
  const bool along = dw.in_stride == 1;
  const GemmMatrix &rows = along ? gradient : input, &columns = along ? input : gradient;
  run_gemm(*gemm_, threads_,
           {along ? problem_.out_size : problem_.in_size,
            along ? problem_.in_size : problem_.out_size, n},
           {.matrix = {.data = rows.data, .row = rows.row, .transposed = true}},
           {.matrix = columns},
           {.data = dw.data, .row = along ? dw.out_stride : dw.in_stride, .accumulate = accumulate},
           {}, memory);
}

// The whole batch at once, from where everything lies.
void FullyConnectedOp::backward_direct(size_t batch, const Gradients& p) {
  const auto* g = static_cast<const float*>(p.dy.data);
  const size_t g_step = step_of(*p.dy.view, p.dy.stride);
  const auto compute = [&](float* memory) {
    if (p.dx.wanted()) input_gradient(p, 0, batch, g, g_step, ready_.w, nullptr, memory);
    if (p.dw.data != nullptr) {
      weights_gradient(batch, g, g_step, sample(p.in, 0, 0), step_of(problem_.in, p.in.stride),
                       p.dw, p.dw_accumulate, memory);
    }
    if (p.db.wanted()) {
      gemm_->column_sums(g, g_step, batch, problem_.out_size, static_cast<float*>(p.db.data),
                         p.db.accumulate);
    }
  };
  if (batch == 1) return compute(nullptr);  // products of one sample are never packed
  size_t floats = p.dx.wanted() ? input_floats(batch, ready_.w) : 0;
  if (p.dw.data != nullptr) floats = std::max(floats, weights_floats(batch, p.dw));
  if (floats == 0) return compute(nullptr);
  ScratchPool<Scratch>::Borrowed scratch = scratch_.take();
  compute(buffer(scratch->product, 1, floats));
}

// One sample in one pass over the weights. False, and nothing done, unless all gradients are
// contiguous Float32 and dW has the row that the kernels were made for.
bool FullyConnectedOp::backward_small(const Gradients& p) const {
  if (!small_ || !is_row(*p.dy.view) || (p.dx.wanted() && !is_row(*p.dx.view)) ||
      (p.db.wanted() && !is_row(*p.db.view)) ||
      (p.dw.data != nullptr && !small_.writes_rows(p.dw.out_stride, p.dw.in_stride)))
    return false;
  small_.backward({.x = static_cast<const float*>(p.in.data),
                   .y = static_cast<const float*>(p.out.data),
                   .dy = static_cast<const float*>(p.dy.data),
                   .dx = {static_cast<float*>(p.dx.data), p.dx.accumulate},
                   .dw = {p.dw.data, p.dw_accumulate},
                   .db = {static_cast<float*>(p.db.data), p.db.accumulate}});
  return true;
}

void FullyConnectedOp::backward(size_t batch, const Gradients& p) {
  if (batch == 1 && backward_small(p)) return;
  const bool want_dx = p.dx.wanted(), want_dw = p.dw.data != nullptr;
  const bool direct = problem_.activation.is_identity() && is_row(*p.dy.view) &&
                      (!want_dw || in_direct_) &&
                      (!want_dx || (is_row(*p.dx.view) && ready_known_)) &&
                      (!want_dw || p.dw.in_stride == 1 || p.dw.out_stride == 1) &&
                      (!p.db.wanted() || is_row(*p.db.view));
  direct ? backward_direct(batch, p) : backward_chunks(batch, p);
}

void FullyConnectedOp::backward_chunks(size_t batch, const Gradients& p) {
  const bool want_dx = p.dx.wanted(), want_dw = p.dw.data != nullptr, want_db = p.db.wanted();
  const bool x_direct = !want_dw || in_direct_;
  const bool dx_direct = !want_dx || is_row(*p.dx.view);
  const bool dw_direct = !want_dw || p.dw.in_stride == 1 || p.dw.out_stride == 1;
  const bool db_direct = !want_db || is_row(*p.db.view);
  // All memory before anything is written.
  ScratchPool<Scratch>::Borrowed scratch = scratch_.take();
  const size_t chunk = std::min(batch, x_direct && dx_direct ? kGradientChunk : kChunk);
  const size_t width = problem_.out_size;
  float* g = buffer(scratch->g, chunk, width);
  float* x_buffer = x_direct ? nullptr : buffer(scratch->x, chunk, problem_.in_size);
  float* dx_buffer = dx_direct ? nullptr : buffer(scratch->dx, chunk, problem_.in_size);
  FullyConnectedMatrix dw = p.dw;
  if (!dw_direct) dw = {buffer(scratch->dw, width, problem_.in_size), problem_.in_size, 1};
  float* db = db_direct ? static_cast<float*>(p.db.data) : buffer(scratch->db, 1, width);
  Ready ready = {};
  if (want_dx) ready = ready_weights(*scratch);
  const size_t floats = most_floats(batch, chunk, [&](size_t samples) {
    return std::max(want_dx ? input_floats(samples, ready.w) : 0,
                    want_dw ? weights_floats(samples, dw) : 0);
  });
  float* memory = buffer(scratch->product, 1, floats);

  for (size_t first = 0; first < batch; first += chunk) {
    const size_t n = std::min(chunk, batch - first);
    gradient_rows(p, first, n, g);
    if (want_dx) input_gradient(p, first, n, g, width, ready.w, dx_buffer, memory);
    if (want_dw) {
      const size_t in_step = x_direct ? step_of(problem_.in, p.in.stride) : problem_.in_size;
      if (!x_direct) {
        read_values(*run_.convert, samples_of(problem_.in, p.in.data, p.in.stride, first, n), 0,
                    n * problem_.in_size, x_buffer);
      }
      weights_gradient(n, g, width, x_direct ? sample(p.in, first, in_step) : x_buffer, in_step, dw,
                       first > 0 || (dw_direct && p.dw_accumulate), memory);
    }
    if (want_db) {
      gemm_->column_sums(g, width, n, width, db, first > 0 || (db_direct && p.db.accumulate));
    }
  }
  if (!dw_direct) {
    const View like = {.data = p.dw.data};
    store(matrix_view(like, p.dw.out_stride, p.dw.in_stride), dw.data, p.dw_accumulate);
  }
  if (!db_direct) store(samples_of(*p.db.view, p.db.data, 0, 0, 1), db, p.db.accumulate);
}

}  // namespace bnns::impl
