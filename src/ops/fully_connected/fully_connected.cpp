#include "ops/fully_connected/fully_connected.h"

#include <algorithm>

#include "core/parallel.h"
#include "ops/fully_connected/rows.h"
#include "ops/gemm/activation.h"

namespace bnns::impl {
namespace {

// Below this many weights a second, packed copy of them does not pay.
constexpr size_t kLeastPacked = 1024;

}  // namespace

FullyConnectedOp::FullyConnectedOp(const Memory& memory, size_t threads,
                                   const FullyConnectedProblem& problem)
    : memory_(memory),
      threads_(threads),
      problem_(problem),
      run_(threads),
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
  make_small(weights.out_stride);
  if (own_matrix_.size() < kLeastPacked) return;
  PackedMatrix panels(memory_, *gemm_, GemmSide::kB, problem_.out_size, problem_.in_size);
  panels.pack(*gemm_, threads_, forward_weights(ready_.w));
  own_panels_ = std::move(panels);
}

void FullyConnectedOp::use_weights(const Weights& weights) {
  client_ = weights;
  const bool matrix_usable =
      weights.matrix.is_float() && (weights.in_stride == 1 || weights.out_stride == 1);
  const bool bias_usable = !problem_.has_bias || is_row(weights.bias);
  ready_known_ = matrix_usable && bias_usable;
  ready_ = {.w = {static_cast<float*>(weights.matrix.data), weights.out_stride, weights.in_stride},
            .bias = static_cast<const float*>(weights.bias.data)};
  make_small(weights.out_stride);
}

void FullyConnectedOp::make_small(size_t dw_row) {
  const bool direct = ready_known_ && in_direct_ && out_direct_ && ready_.w.in_stride == 1 &&
                      problem_.activation.is_element();
  if (!direct) return;
  small_ = SmallFullyConnected({.w = ready_.w.data,
                                .w_row = ready_.w.out_stride,
                                .dw_row = dw_row,
                                .bias = ready_.bias,
                                .in_size = problem_.in_size,
                                .out_size = problem_.out_size},
                               problem_.activation);
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

GemmOperand FullyConnectedOp::forward_weights(const FullyConnectedMatrix& w) const {
  const bool along = w.in_stride == 1;
  return {
      .matrix = {.data = w.data, .row = along ? w.out_stride : w.in_stride, .transposed = along},
      .packed = own_panels_ ? &own_panels_ : nullptr};
}

size_t FullyConnectedOp::forward_floats(size_t samples, const FullyConnectedMatrix& w) const {
  return gemm_scratch(*gemm_, threads_, {samples, problem_.out_size, problem_.in_size}, {},
                      forward_weights(w));
}

// Rows of y from rows of x, bias and activation included.
void FullyConnectedOp::product(size_t samples, const float* x, size_t x_stride, float* y,
                               size_t y_stride, const Ready& ready, uint64_t random_stream,
                               float* memory) {
  const FusedActivation& f = problem_.activation;
  const GemmActivation tile = {f, y, y_stride};
  run_gemm(*gemm_, threads_, {samples, problem_.out_size, problem_.in_size},
           {.matrix = {.data = x, .row = x_stride}}, forward_weights(ready.w),
           {.data = y, .row = y_stride, .column_bias = ready.bias}, tile.epilogue(), memory);
  // Others need whole rows, or draw numbers in the order of elements.
  if (!f.is_element())
    f.forward(threads_, with_samples(packed(problem_.out), y, samples, y_stride), random_stream);
}

void FullyConnectedOp::forward(size_t batch, Rows in, Rows out, uint64_t random_stream) {
  if (batch == 1 && small_)
    return small_.forward(sample(in, 0, 0), const_cast<float*>(sample(out, 0, 0)));
  const size_t in_step = step_of(problem_.in, in.stride);
  const size_t out_step = step_of(problem_.out, out.stride);
  const bool direct = ready_known_ && in_direct_ && out_direct_;
  const size_t chunk = in_direct_ && out_direct_ ? batch : std::min(batch, kChunk);
  const size_t floats = direct && batch == 1 ? 0 : most_floats(batch, chunk, [&](size_t samples) {
    return forward_floats(samples, ready_matrix());
  });
  if (direct && floats == 0) {  // no working memory at all, as always for one sample
    return product(batch, sample(in, 0, 0), in_step, const_cast<float*>(sample(out, 0, 0)),
                   out_step, ready_, random_stream, nullptr);
  }
  ScratchPool<Scratch>::Borrowed scratch = scratch_.take();
  float* memory = buffer(scratch->product, 1, floats);
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
            out_direct_ ? out_step : problem_.out_size, ready, random_stream + first, memory);
    if (!out_direct_) {
      write_values(*run_.convert, samples_of(problem_.out, out.data, out.stride, first, n), 0,
                   n * problem_.out_size, y_buffer);
    }
  }
}

void FullyConnectedOp::reserve(size_t batch, size_t callers) {
  scratch_.reserve(callers, [&](Scratch& s) {
    buffer(s.x, kChunk, problem_.in_size);
    buffer(s.y, kChunk, problem_.out_size);
    buffer(s.g, kGradientChunk, problem_.out_size);
    buffer(s.dx, kChunk, problem_.in_size);
    buffer(s.dw, problem_.out_size, problem_.in_size);
    buffer(s.db, 1, problem_.out_size);
    // A batch is computed at once or in chunks, depending on the call.
    const FullyConnectedMatrix rows = {nullptr, problem_.in_size, 1};
    const FullyConnectedMatrix w = ready_matrix();
    for (size_t samples : {batch, std::min(batch, kChunk), batch % kChunk,
                           std::min(batch, kGradientChunk), batch % kGradientChunk}) {
      if (samples == 0) continue;
      buffer(s.product, 1,
             std::max({forward_floats(samples, w), input_floats(samples, w),
                       weights_floats(samples, rows), weights_floats(samples, {nullptr, 1, 2})}));
    }
    if (ready_known_) return;
    buffer(s.weights, problem_.out_size, problem_.in_size);
    buffer(s.bias, 1, problem_.out_size);
  });
}

}  // namespace bnns::impl
