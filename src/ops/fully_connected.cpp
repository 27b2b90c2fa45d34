#include "ops/fully_connected.h"

#include <algorithm>

#include "core/parallel.h"

namespace bnns::impl {
namespace {

bool is_row(const View& view) {
  return view.is_float() && view.is_dense();
}

const float* sample(const FullyConnectedOp::Rows& rows, size_t index, size_t stride) {
  return static_cast<const float*>(rows.data) + index * stride;
}

// Samples [first, first + n) of a batch as one view.
View samples_of(const View& one, const void* data, size_t stride, size_t first, size_t n) {
  const size_t step = stride == 0 ? one.span : stride;
  const auto* start = static_cast<const char*>(data) + first * step * type_bytes(one.type);
  return batched(one, start, n, stride);
}

size_t step_of(const View& one, size_t stride) {
  return stride == 0 ? one.span : stride;
}

// The samples as the last axis; the first tensor may have another distance than the others.
void push_samples(SoftmaxAxes& axes, size_t samples, size_t first_step, size_t step) {
  axes.extent[axes.rank] = samples;
  axes.stride[0][axes.rank] = first_step;
  axes.stride[1][axes.rank] = step;
  axes.stride[2][axes.rank] = step;
  ++axes.rank;
  collapse(axes);
}

}  // namespace

FullyConnectedOp::FullyConnectedOp(const Memory& memory, size_t threads,
                                   const FullyConnectedProblem& problem)
    : memory_(memory),
      threads_(threads),
      problem_(problem),
      run_(threads),
      softmax_run_(threads),
      in_direct_(is_row(problem.in)),
      out_direct_(is_row(problem.out)),
      scratch_(memory) {}

float* FullyConnectedOp::buffer(Array<float>& array, size_t rows, size_t width) {
  const size_t size = checked_mul(rows, width, "an internal buffer");
  if (array.size() < size) array = Array<float>(memory_, size);
  return array.data();
}

void FullyConnectedOp::store(const View& to, float* values, bool accumulate) const {
  float old[256];
  for (size_t i = 0; accumulate && i < to.count; i += std::size(old)) {
    const size_t n = std::min(std::size(old), to.count - i);
    read_values(*run_.convert, to, i, n, old);
    run_.alpha->add(old, values + i, n);
  }
  write_values(*run_.convert, to, 0, to.count, values);
}

// W as a view in the order of rows.
View FullyConnectedOp::matrix_view(const View& like, size_t out_stride, size_t in_stride) const {
  View view = like;
  view.rank = 2;
  view.extent[0] = problem_.in_size;
  view.stride[0] = in_stride;
  view.extent[1] = problem_.out_size;
  view.stride[1] = out_stride;
  view.count = problem_.in_size * problem_.out_size;
  return view;
}

void FullyConnectedOp::convert_matrix(const Weights& weights, float* to) const {
  const View view = matrix_view(weights.matrix, weights.out_stride, weights.in_stride);
  parallel_for(useful_threads(threads_, static_cast<double>(view.count)), problem_.out_size,
               [&](size_t o, size_t) {
                 read_values(*run_.convert, view, o * problem_.in_size, problem_.in_size,
                             to + o * problem_.in_size);
               });
}

void FullyConnectedOp::own_weights(const Weights& weights) {
  own_matrix_ = Array<float>(
      memory_, checked_mul(problem_.in_size, problem_.out_size, "the copy of the weights"));
  convert_matrix(weights, own_matrix_.data());
  if (problem_.has_bias) {
    own_bias_ = Array<float>(memory_, problem_.out_size);
    read_values(*run_.convert, collapsed(weights.bias), 0, problem_.out_size, own_bias_.data());
  }
  ready_ = {.w = {own_matrix_.data(), problem_.in_size, 1}, .bias = own_bias_.data()};
  ready_known_ = true;
}

void FullyConnectedOp::use_weights(const Weights& weights) {
  client_ = weights;
  const bool matrix_usable =
      weights.matrix.is_float() && (weights.in_stride == 1 || weights.out_stride == 1);
  const bool bias_usable = !problem_.has_bias || is_row(weights.bias);
  ready_known_ = matrix_usable && bias_usable;
  ready_ = {.w = {static_cast<float*>(weights.matrix.data), weights.out_stride, weights.in_stride},
            .bias = static_cast<const float*>(weights.bias.data)};
}

FullyConnectedOp::Ready FullyConnectedOp::ready_weights(Scratch& scratch) {
  if (ready_known_) return ready_;
  float* matrix = buffer(scratch.weights, problem_.out_size, problem_.in_size);
  convert_matrix(client_, matrix);
  if (!problem_.has_bias) return {.w = {matrix, problem_.in_size, 1}, .bias = nullptr};
  float* bias = buffer(scratch.bias, 1, problem_.out_size);
  read_values(*run_.convert, collapsed(client_.bias), 0, problem_.out_size, bias);
  return {.w = {matrix, problem_.in_size, 1}, .bias = bias};
}

// Rows of y from rows of x, bias and activation included.
void FullyConnectedOp::product(size_t samples, const float* x, size_t x_stride, float* y,
                               size_t y_stride, const Ready& ready, uint64_t random_stream) {
  const ElementActivation& f = problem_.activation;
  const bool by_element =
      problem_.activation_class == ActivationClass::kElement && !f.is_identity();
  const GemmForm form = ready.w.in_stride == 1 ? GemmForm::kDot : GemmForm::kAxpy;
  const GemmMatrix a = {.data = x, .row = x_stride};
  const GemmMatrix b = {.data = ready.w.data,
                        .row = form == GemmForm::kDot ? ready.w.out_stride : ready.w.in_stride};
  const GemmTarget c = {.data = y, .row = y_stride, .accumulate = false, .bias = ready.bias};
  run_gemm(*gemm_, form, threads_, samples, problem_.out_size, problem_.in_size, a, b, c,
           [&](const GemmTile& tile) {
             if (!by_element) return;
             for (size_t m = tile.m0; m < tile.m1; ++m) {
               float* row = y + m * y_stride + tile.n0;
               f.forward(row, row, tile.n1 - tile.n0);
             }
           });
  const SoftmaxTensor rows = {.data = y};
  if (problem_.activation_class == ActivationClass::kRandom) {
    View view = {.data = y, .rank = 2, .count = samples * problem_.out_size};
    view.extent[0] = problem_.out_size;
    view.stride[0] = 1;
    view.extent[1] = samples;
    view.stride[1] = y_stride;
    run_gumbel(run_, f, random_stream, view);
  } else if (problem_.activation_class == ActivationClass::kAxis) {
    SoftmaxAxes axes = problem_.activation_axes;
    push_samples(axes, samples, y_stride, y_stride);
    const BNNSActivationFunction function = f.row().function;
    if (function == BNNSActivationFunctionGumbelMax) {
      run_gumbel_max(softmax_run_, axes, f.parameters().alpha, f.parameters().beta, random_stream,
                     rows, rows);
    } else {
      const bool log = function == BNNSActivationFunctionLogSoftmax;
      run_softmax(softmax_run_, log ? SoftmaxKind::kLogSoftmax : SoftmaxKind::kSoftmax, axes, rows,
                  rows);
    }
  }
}

void FullyConnectedOp::forward(size_t batch, Rows in, Rows out, uint64_t random_stream) {
  const size_t in_step = step_of(problem_.in, in.stride);
  const size_t out_step = step_of(problem_.out, out.stride);
  if (ready_known_ && in_direct_ && out_direct_) {  // no working memory at all
    return product(batch, sample(in, 0, 0), in_step, const_cast<float*>(sample(out, 0, 0)),
                   out_step, ready_, random_stream);
  }
  LeasePool<Scratch>::Lease scratch = scratch_.take();
  const size_t chunk = in_direct_ && out_direct_ ? batch : std::min(batch, kChunk);
  float* x_buffer = in_direct_ ? nullptr : buffer(scratch->x, chunk, problem_.in_size);
  float* y_buffer = out_direct_ ? nullptr : buffer(scratch->y, chunk, problem_.out_size);
  const Ready ready = ready_weights(*scratch);
  for (size_t first = 0; first < batch; first += chunk) {
    const size_t n = std::min(chunk, batch - first);
    if (!in_direct_) {
      read_values(*run_.convert, samples_of(problem_.in, in.data, in.stride, first, n), 0,
                  n * problem_.in_size, x_buffer);
    }
    product(n, in_direct_ ? sample(in, first, in_step) : x_buffer,
            in_direct_ ? in_step : problem_.in_size,
            out_direct_ ? const_cast<float*>(sample(out, first, out_step)) : y_buffer,
            out_direct_ ? out_step : problem_.out_size, ready, random_stream + first);
    if (!out_direct_) {
      write_values(*run_.convert, samples_of(problem_.out, out.data, out.stride, first, n), 0,
                   n * problem_.out_size, y_buffer);
    }
  }
}

// g = dy act'(y) for samples [first, first + n), packed.
void FullyConnectedOp::gradient_rows(const Gradients& p, size_t first, size_t n, float* g) {
  const size_t width = problem_.out_size;
  const View dy = samples_of(p.dy, p.dy.data, p.dy_stride, first, n);
  const ElementActivation& f = problem_.activation;
  View rows = {.data = g, .rank = 1, .count = n * width, .span = n * width};
  rows.extent[0] = n * width;
  rows.stride[0] = 1;
  if (f.is_identity()) return read_values(*run_.convert, dy, 0, n * width, g);
  const View y = samples_of(problem_.out, p.out.data, p.out.stride, first, n);
  if (problem_.activation_class == ActivationClass::kElement) {
    return run_backward(run_, f, Slope::kFromOutput, y, dy, rows, false);
  }
  // Along axes: the packed copy of dy is turned into g in place.
  read_values(*run_.convert, dy, 0, n * width, g);
  SoftmaxAxes axes = problem_.activation_axes;
  for (size_t k = 0; k < axes.rank; ++k) axes.stride[0][k] = problem_.out.stride[k];
  push_samples(axes, n, step_of(problem_.out, p.out.stride), width);
  const bool log = f.row().function == BNNSActivationFunctionLogSoftmax;
  run_softmax_backward(softmax_run_, log ? SoftmaxKind::kLogSoftmax : SoftmaxKind::kSoftmax, axes,
                       false, static_cast<const float*>(y.data), g, g, false);
}

void FullyConnectedOp::input_gradient(const Gradients& p, size_t first, size_t n, const float* g,
                                      size_t g_stride, const FullyConnectedMatrix& w,
                                      float* buffer) {
  const GemmForm form = w.in_stride == 1 ? GemmForm::kAxpy : GemmForm::kDot;
  const GemmMatrix a = {.data = g, .row = g_stride};
  const GemmMatrix b = {.data = w.data,
                        .row = form == GemmForm::kAxpy ? w.out_stride : w.in_stride};
  const bool direct = is_row(p.dx);
  const size_t step = direct ? step_of(p.dx, p.dx_stride) : problem_.in_size;
  float* rows = direct ? static_cast<float*>(p.dx.data) + first * step : buffer;
  run_gemm(*gemm_, form, threads_, n, problem_.in_size, problem_.out_size, a, b,
           {.data = rows, .row = step, .accumulate = direct && p.dx_accumulate}, NoFinish());
  if (direct) return;
  store(samples_of(p.dx, p.dx.data, p.dx_stride, first, n), rows, p.dx_accumulate);
}

void FullyConnectedOp::weights_gradient(size_t n, const float* g, size_t g_stride, const float* x,
                                        size_t x_stride, const FullyConnectedMatrix& dw,
                                        bool accumulate) {
  if (dw.in_stride == 1) {
    run_gemm(*gemm_, GemmForm::kAxpy, threads_, problem_.out_size, problem_.in_size, n,
             {.data = g, .row = 1, .k = g_stride}, {.data = x, .row = x_stride},
             {.data = dw.data, .row = dw.out_stride, .accumulate = accumulate}, NoFinish());
  } else {
    run_gemm(*gemm_, GemmForm::kAxpy, threads_, problem_.in_size, problem_.out_size, n,
             {.data = x, .row = 1, .k = x_stride}, {.data = g, .row = g_stride},
             {.data = dw.data, .row = dw.in_stride, .accumulate = accumulate}, NoFinish());
  }
}

// The whole batch at once, from where everything lies.
void FullyConnectedOp::backward_direct(size_t batch, const Gradients& p) {
  const auto* g = static_cast<const float*>(p.dy.data);
  const size_t g_step = step_of(p.dy, p.dy_stride);
  if (p.dx.data != nullptr) input_gradient(p, 0, batch, g, g_step, ready_.w, nullptr);
  if (p.dw.data != nullptr) {
    weights_gradient(batch, g, g_step, sample(p.in, 0, 0), step_of(problem_.in, p.in.stride), p.dw,
                     p.dw_accumulate);
  }
  if (p.db.data != nullptr) {
    gemm_->column_sums(g, g_step, batch, problem_.out_size, static_cast<float*>(p.db.data),
                       p.db_accumulate);
  }
}

void FullyConnectedOp::backward(size_t batch, const Gradients& p) {
  const bool want_dx = p.dx.data != nullptr, want_dw = p.dw.data != nullptr,
             want_db = p.db.data != nullptr;
  const bool dy_direct = problem_.activation.is_identity() && is_row(p.dy);
  const bool x_direct = !want_dw || in_direct_;
  const bool dx_direct = !want_dx || is_row(p.dx);
  const bool dw_direct = !want_dw || p.dw.in_stride == 1 || p.dw.out_stride == 1;
  const bool db_direct = !want_db || is_row(p.db);
  if (dy_direct && x_direct && dx_direct && dw_direct && db_direct && (ready_known_ || !want_dx))
    return backward_direct(batch, p);

  // All memory before anything is written.
  LeasePool<Scratch>::Lease scratch = scratch_.take();
  const size_t chunk = std::min(batch, kChunk);
  const size_t width = problem_.out_size;
  float* g = buffer(scratch->g, chunk, width);
  float* x_buffer = x_direct ? nullptr : buffer(scratch->x, chunk, problem_.in_size);
  float* dx_buffer = dx_direct ? nullptr : buffer(scratch->dx, chunk, problem_.in_size);
  FullyConnectedMatrix dw = p.dw;
  if (!dw_direct) dw = {buffer(scratch->dw, width, problem_.in_size), problem_.in_size, 1};
  float* db = db_direct ? static_cast<float*>(p.db.data) : buffer(scratch->db, 1, width);
  Ready ready = {};
  if (want_dx) ready = ready_weights(*scratch);

  for (size_t first = 0; first < batch; first += chunk) {
    const size_t n = std::min(chunk, batch - first);
    gradient_rows(p, first, n, g);
    if (want_dx) input_gradient(p, first, n, g, width, ready.w, dx_buffer);
    if (want_dw) {
      const size_t in_step = x_direct ? step_of(problem_.in, p.in.stride) : problem_.in_size;
      if (!x_direct) {
        read_values(*run_.convert, samples_of(problem_.in, p.in.data, p.in.stride, first, n), 0,
                    n * problem_.in_size, x_buffer);
      }
      weights_gradient(n, g, width, x_direct ? sample(p.in, first, in_step) : x_buffer, in_step, dw,
                       first > 0 || (dw_direct && p.dw_accumulate));
    }
    if (want_db) {
      gemm_->column_sums(g, width, n, width, db, first > 0 || (db_direct && p.db_accumulate));
    }
  }
  if (!dw_direct) {
    const View like = {.data = p.dw.data};
    store(matrix_view(like, p.dw.out_stride, p.dw.in_stride), dw.data, p.dw_accumulate);
  }
  if (!db_direct) store(collapsed(p.db), db, p.db_accumulate);
}

void FullyConnectedOp::reserve(size_t callers) {
  scratch_.reserve(callers, [&](Scratch& s) {
    buffer(s.x, kChunk, problem_.in_size);
    buffer(s.y, kChunk, problem_.out_size);
    buffer(s.g, kChunk, problem_.out_size);
    buffer(s.dx, kChunk, problem_.in_size);
    buffer(s.dw, problem_.out_size, problem_.in_size);
    buffer(s.db, 1, problem_.out_size);
    if (ready_known_) return;
    buffer(s.weights, problem_.out_size, problem_.in_size);
    buffer(s.bias, 1, problem_.out_size);
  });
}

}  // namespace bnns::impl
