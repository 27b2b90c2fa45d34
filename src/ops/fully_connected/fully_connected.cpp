#include "ops/fully_connected/fully_connected.h"

#include <algorithm>
#include <optional>

#include "core/parallel.h"
#include "ops/epilogue/moments.h"
#include "ops/fully_connected/rows.h"

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
  panels.pack(*gemm_, threads_, forward_weights(ready_.w), ready_.w.data);
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
  return {.row = along ? w.out_stride : w.in_stride,
          .transposed = along,
          .packed = own_panels_ ? &own_panels_ : nullptr};
}

GemmOp FullyConnectedOp::forward_product(size_t samples, const FullyConnectedMatrix& w,
                                         size_t x_step, size_t y_step,
                                         const FusedActivation& f) const {
  const bool on_tiles = f.is_element() && !f.is_identity();
  return GemmOp(*gemm_, threads_,
                {.shape = {samples, problem_.out_size, problem_.in_size},
                 .a = {.row = x_step},
                 .b = forward_weights(w),
                 .c_row = y_step,
                 .epilogue = {.activation = on_tiles ? &f : nullptr}});
}

// Rows of y from rows of x, bias and activation included.
void FullyConnectedOp::product(const GemmOp& op, size_t samples, const float* x, float* y,
                               size_t y_step, const Ready& ready, const ChannelEpilogue& channels,
                               uint64_t random_stream, float* memory) {
  const ChannelTerms terms = {.bias = ready.bias, .scale = channels.scale, .shift = channels.shift};
  op.run({.a = x, .b = ready.w.data, .c = y, .column = terms}, memory);
  // Functions that are not of one element need whole rows, or draw numbers in the order of
  // elements.
  const FusedActivation& f = activation_of(channels);
  if (!f.is_element())
    f.forward(threads_, with_samples(packed(problem_.out), y, samples, y_step), random_stream);
  if (channels.moments == nullptr) return;
  join_column_moments(*statistics_, threads_, y, samples, y_step, problem_.out_size,
                      channels.moments);
}

void FullyConnectedOp::forward(const Batch& in, const Batch& out, uint64_t random_stream,
                               const ChannelEpilogue& channels) {
  const size_t batch = in.size;
  const size_t x_step = in_direct_ ? in.step : problem_.in_size;
  const size_t y_step = out_direct_ ? out.step : problem_.out_size;
  const size_t chunk = in_direct_ && out_direct_ ? batch : std::min(batch, kChunk);
  const FusedActivation& f = activation_of(channels);
  const GemmOp op = forward_product(chunk, ready_matrix(), x_step, y_step, f);
  if (channels.moments != nullptr) std::fill_n(channels.moments, problem_.out_size, Moments());
  const size_t rest = batch % chunk;
  if (ready_known_ && rest == 0 && chunk == batch && in_direct_ && out_direct_ &&
      op.scratch() == 0) {  // no working memory at all, as always for one sample
    return product(op, batch, in.at<float>(0), out.at<float>(0), y_step, ready_, channels,
                   random_stream, nullptr);
  }
  ScratchPool<Scratch>::Borrowed scratch = scratch_.take();
  const std::optional<GemmOp> last =
      rest == 0 ? std::nullopt
                : std::optional(forward_product(rest, ready_matrix(), x_step, y_step, f));
  float* memory = buffer(scratch->product, 1, std::max(op.scratch(), last ? last->scratch() : 0));
  float* x_buffer = in_direct_ ? nullptr : buffer(scratch->x, chunk, problem_.in_size);
  float* y_buffer = out_direct_ ? nullptr : buffer(scratch->y, chunk, problem_.out_size);
  const Ready ready = ready_weights(*scratch);
  for (size_t first = 0; first < batch; first += chunk) {
    const size_t n = std::min(chunk, batch - first);
    if (!in_direct_) {
      read_values(*run_.convert, whole(in.part(first, n)), 0, n * problem_.in_size, x_buffer);
    }
    product(n == chunk ? op : *last, n, in_direct_ ? in.at<float>(first) : x_buffer,
            out_direct_ ? out.at<float>(first) : y_buffer, y_step, ready, channels,
            random_stream + first, memory);
    if (!out_direct_) {
      write_values(*run_.convert, whole(out.part(first, n)), 0, n * problem_.out_size, y_buffer);
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
      buffer(
          s.product, 1,
          std::max({forward_product(samples, w, 0, 0, problem_.activation).scratch(),
                    input_product(samples, w).scratch(), weights_product(samples, rows).scratch(),
                    weights_product(samples, {nullptr, 1, 2}).scratch()}));
    }
    if (ready_known_) return;
    buffer(s.weights, problem_.out_size, problem_.in_size);
    buffer(s.bias, 1, problem_.out_size);
  });
}

}  // namespace bnns::impl
