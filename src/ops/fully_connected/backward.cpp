// Gradients of fully_connected.h: from where everything lies, or chunk by chunk.
#include <algorithm>

#include "ops/fully_connected/fully_connected.h"
#include "ops/fully_connected/rows.h"

namespace bnns::impl {

GemmOp FullyConnectedOp::input_product(size_t samples, const FullyConnectedMatrix& w, size_t g_step,
                                       size_t dx_step) const {
  const bool along = w.in_stride == 1;
  return GemmOp(*gemm_, threads_,
                {.shape = {samples, problem_.in_size, problem_.out_size},
                 .a = {.row = g_step},
                 .b = {.row = along ? w.out_stride : w.in_stride, .transposed = !along},
                 .c_row = dx_step});
}

// The rows of dW are those of the matrix as it lies: of g^T x, or of x^T g.
GemmOp FullyConnectedOp::weights_product(size_t samples, const FullyConnectedMatrix& dw,
                                         size_t g_step, size_t x_step) const {
  const bool along = dw.in_stride == 1;
  return GemmOp(*gemm_, threads_,
                {.shape = {along ? problem_.out_size : problem_.in_size,
                           along ? problem_.in_size : problem_.out_size, samples},
                 .a = {.row = along ? g_step : x_step, .transposed = true},
                 .b = {.row = along ? x_step : g_step},
                 .c_row = along ? dw.out_stride : dw.in_stride});
}

// g = dy act'(y) for samples [first, first + n), packed.
void FullyConnectedOp::gradient_rows(const Gradients& p, size_t first, size_t n, float* g) {
  const size_t width = problem_.out_size;
  const FusedActivation& f = problem_.activation;
  const View dy = whole(p.dy.part(first, n));
  // Functions along axes need those of a sample: a packed copy of dy becomes g in place.
  if (f.is_identity() || !f.is_element()) read_values(*run_.convert, dy, 0, n * width, g);
  if (f.is_identity()) return;
  const View y = with_samples(problem_.out, p.out.at<float>(first), n, p.out.step);
  const View rows = with_samples(packed(problem_.out), g, n, width);
  f.multiply_by_slope(threads_, y, f.is_element() ? dy : rows, rows);
}

void FullyConnectedOp::input_gradient(const Gradients& p, size_t first, size_t n, const float* g,
                                      size_t g_step, const FullyConnectedMatrix& w, float* buffer,
                                      float* memory) {
  const bool direct = is_row(*p.dx.sample);
  const size_t step = direct ? p.dx.step : problem_.in_size;
  float* rows = direct ? p.dx.at<float>(first) : buffer;
  input_product(n, w, g_step, step)
      .run({.a = g, .b = w.data, .c = rows, .accumulate = direct && p.dx.accumulate}, memory);
  if (!direct) store(whole(p.dx.part(first, n)), rows, p.dx.accumulate);
}

void FullyConnectedOp::weights_gradient(size_t n, const float* g, size_t g_step, const float* x,
                                        size_t x_step, const FullyConnectedMatrix& dw,
                                        bool accumulate, float* memory) {
  const bool along = dw.in_stride == 1;
  weights_product(n, dw, g_step, x_step)
      .run({.a = along ? g : x, .b = along ? x : g, .c = dw.data, .accumulate = accumulate},
           memory);
}

// The whole batch at once, from where everything lies.
void FullyConnectedOp::backward_direct(const Gradients& p) {
  const size_t batch = p.dy.size;
  const auto* g = p.dy.at<const float>(0);
  const auto compute = [&](float* memory) {
    if (p.dx) input_gradient(p, 0, batch, g, p.dy.step, ready_.w, nullptr, memory);
    if (p.dw.data != nullptr) {
      weights_gradient(batch, g, p.dy.step, p.in.at<float>(0), p.in.step, p.dw, p.dw_accumulate,
                       memory);
    }
    if (p.db) {
      gemm_->column_sums(g, p.dy.step, batch, problem_.out_size, p.db.at<float>(0),
                         p.db.accumulate);
    }
  };
  if (batch == 1) return compute(nullptr);  // products of one sample are never packed
  size_t floats = p.dx ? input_product(batch, ready_.w, p.dy.step).scratch() : 0;
  if (p.dw.data != nullptr) {
    floats = std::max(floats, weights_product(batch, p.dw, p.dy.step, p.in.step).scratch());
  }
  if (floats == 0) return compute(nullptr);
  ScratchPool<Scratch>::Borrowed scratch = scratch_.take();
  compute(buffer(scratch->product, 1, floats));
}

// One sample in one pass over the weights. False, and nothing done, unless all gradients are
// contiguous Float32 and dW has the row that the kernels were made for.
bool FullyConnectedOp::backward_small(const Gradients& p) const {
  if (!small_ || !is_row(*p.dy.sample) || (p.dx && !is_row(*p.dx.sample)) ||
      (p.db && !is_row(*p.db.sample)) ||
      (p.dw.data != nullptr && !small_.writes_rows(p.dw.out_stride, p.dw.in_stride)))
    return false;
  small_.backward({.x = p.in.at<float>(0),
                   .y = p.out.at<float>(0),
                   .dy = p.dy.at<float>(0),
                   .dx = {p.dx.at<float>(0), p.dx.accumulate},
                   .dw = {p.dw.data, p.dw_accumulate},
                   .db = {p.db.at<float>(0), p.db.accumulate}});
  return true;
}

void FullyConnectedOp::backward(const Gradients& p) {
  if (p.dy.size == 1 && backward_small(p)) return;
  const bool want_dx{p.dx}, want_dw = p.dw.data != nullptr;
  const bool direct =
      problem_.activation.is_identity() && is_row(*p.dy.sample) && (!want_dw || in_direct_) &&
      (!want_dx || (is_row(*p.dx.sample) && ready_known_)) &&
      (!want_dw || p.dw.in_stride == 1 || p.dw.out_stride == 1) && (!p.db || is_row(*p.db.sample));
  direct ? backward_direct(p) : backward_chunks(p);
}

void FullyConnectedOp::backward_chunks(const Gradients& p) {
  const size_t batch = p.dy.size;
  const bool want_dx{p.dx}, want_dw = p.dw.data != nullptr, want_db{p.db};
  const bool x_direct = !want_dw || in_direct_;
  const bool dx_direct = !want_dx || is_row(*p.dx.sample);
  const bool dw_direct = !want_dw || p.dw.in_stride == 1 || p.dw.out_stride == 1;
  const bool db_direct = !want_db || is_row(*p.db.sample);
  // All memory before anything is written.
  ScratchPool<Scratch>::Borrowed scratch = scratch_.take();
  const size_t chunk = std::min(batch, x_direct && dx_direct ? kGradientChunk : kChunk);
  const size_t width = problem_.out_size;
  float* g = buffer(scratch->g, chunk, width);
  float* x_buffer = x_direct ? nullptr : buffer(scratch->x, chunk, problem_.in_size);
  float* dx_buffer = dx_direct ? nullptr : buffer(scratch->dx, chunk, problem_.in_size);
  FullyConnectedMatrix dw = p.dw;
  if (!dw_direct) dw = {buffer(scratch->dw, width, problem_.in_size), problem_.in_size, 1};
  float* db = db_direct ? p.db.at<float>(0) : buffer(scratch->db, 1, width);
  Ready ready = {};
  if (want_dx) ready = ready_weights(*scratch);
  const size_t floats = most_floats(batch, chunk, [&](size_t samples) {
    return std::max(want_dx ? input_product(samples, ready.w).scratch() : 0,
                    want_dw ? weights_product(samples, dw).scratch() : 0);
  });
  float* memory = buffer(scratch->product, 1, floats);

  for (size_t first = 0; first < batch; first += chunk) {
    const size_t n = std::min(chunk, batch - first);
    gradient_rows(p, first, n, g);
    if (want_dx) input_gradient(p, first, n, g, width, ready.w, dx_buffer, memory);
    if (want_dw) {
      const size_t in_step = x_direct ? p.in.step : problem_.in_size;
      if (!x_direct) {
        read_values(*run_.convert, whole(p.in.part(first, n)), 0, n * problem_.in_size, x_buffer);
      }
      weights_gradient(n, g, width, x_direct ? p.in.at<float>(first) : x_buffer, in_step, dw,
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
  if (!db_direct) store(whole(p.db), db, p.db.accumulate);
}

}  // namespace bnns::impl
