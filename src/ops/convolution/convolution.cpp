#include "ops/convolution/convolution.h"

#include <algorithm>

#include "core/parallel.h"
#include "ops/epilogue/moments.h"

namespace bnns::impl {
namespace {

// Size of the buffer of padded rows: half of a second-level cache of 512 KB. The other half is for
// outputs that are stored in a block before they are converted.
constexpr size_t kBufferFloats = 65536;
// Floats of g = dy act'(y) computed at a time, per thread: all passes read them while they are in
// the second-level cache.
constexpr size_t kGradientFloats = 65536;
constexpr size_t kGrainFloats = 16384;
// Least cost of one value of g: y and dy are read from memory.
constexpr double kNanoseconds = 0.3;

size_t group_channels(const View& image, const ConvolutionGeometry& g) {
  return image.extent[2] / g.groups;
}

ConvolutionPlan::Limits limits(const ConvolutionKernels& kernels, const ConvolutionProblem& p,
                               bool forward) {
  const bool block = forward && !stores_direct(p.out, !p.activation.is_identity());
  return {.channels = group_channels(forward ? p.in : p.out, p.geometry),
          .floats = kBufferFloats,
          .outputs = block ? kBufferFloats / group_channels(p.out, p.geometry) : SIZE_MAX,
          .tile = kernels.tile};
}

}  // namespace

ConvolutionOp::ConvolutionOp(const Memory& memory, size_t threads,
                             const ConvolutionProblem& problem)
    : memory_(memory),
      problem_(problem),
      context_(problem.geometry, threads),
      to_small_(memory, problem.geometry, ConvolutionDirection::kToSmall,
                limits(context_.kernels, problem, !problem.transposed)),
      to_large_(memory, problem.geometry, ConvolutionDirection::kToLarge,
                limits(context_.kernels, problem, problem.transposed)),
      weight_gradient_(memory, problem.geometry, context_.kernels.lanes),
      per_thread_(plan_scratch()),
      gradient_(packed(problem.out)),
      samples_(std::max<size_t>(1, threads * kGradientFloats / problem.out.count)),
      scratch_(memory) {}

size_t ConvolutionOp::plan_scratch() const {
  const View &in = problem_.in, &out = problem_.out;
  const size_t widest = std::max(in.extent[0], out.extent[0]);
  const bool activation = !problem_.activation.is_identity();
  size_t most =
      pass_scratch(forward_way().plan, out, group_channels(out, problem_.geometry), activation);
  // Gradients exist for Float32 only.
  if (in.is_float() && out.is_float()) {
    most = std::max(
        {most, pass_scratch(backward_way().plan, in, group_channels(in, problem_.geometry), false),
         weight_gradient_.scratch(widest)});
  }
  // Rounded up to whole cache lines, so that two threads never share one.
  return div_up(most, kAlignment) * kAlignment;
}

template <class T>
T* ConvolutionOp::buffer(Array<T>& array, size_t size) {
  if (array.size() < size) array = Array<T>(memory_, size);
  return array.data();
}

Moments* ConvolutionOp::moment_buffer(Scratch& scratch, size_t batch) {
  constexpr const char* kWhat = "the moments of a convolution";
  const size_t parts = checked_mul(batch, moment_parts(forward_way().plan), kWhat);
  return buffer(scratch.moments, checked_mul(parts, problem_.out.extent[2], kWhat));
}

Batch ConvolutionOp::gradient_buffer(Scratch& scratch) {
  const size_t size = checked_mul(samples_, gradient_.count, "the working memory of a convolution");
  return make_batch(gradient_, buffer(scratch.gradient, size), samples_, gradient_.count);
}

ConvolutionWork ConvolutionOp::work(Scratch& scratch) {
  const size_t size =
      checked_mul(per_thread_, context_.threads, "the working memory of a convolution");
  return {.data = buffer(scratch.work, size), .per_thread = per_thread_};
}

void ConvolutionOp::own_parameters(const Parameters& parameters) {
  const ConvolutionGeometry& g = problem_.geometry;
  own_weights_ = Array<float>(memory_, g.weights());
  own_panels_ = Array<float>(memory_, g.weights());
  read_weights(*context_.run.convert, g, parameters.weights, context_.threads, own_weights_.data());
  const Way way = forward_way();
  pack_weights(context_.kernels.pack_panel, g, way.plan, way.direction, own_weights_.data(),
               context_.threads, own_panels_.data());
  if (!problem_.has_bias) return;
  own_bias_ = Array<float>(memory_, problem_.out.extent[2]);
  read_values(*context_.run.convert, collapsed(parameters.bias), 0, own_bias_.size(),
              own_bias_.data());
}

const float* ConvolutionOp::ready_weights(Scratch& scratch) {
  const ConvolutionGeometry& g = problem_.geometry;
  if (own_weights_) return own_weights_.data();
  if (client_.weights.is_canonical(g)) return static_cast<float*>(client_.weights.view.data);
  float* weights = buffer(scratch.weights, g.weights());
  read_weights(*context_.run.convert, g, client_.weights, context_.threads, weights);
  return weights;
}

const float* ConvolutionOp::ready_panels(Scratch& scratch, const Way& way) {
  if (own_panels_ && way.direction == forward_way().direction) return own_panels_.data();
  const float* weights = ready_weights(scratch);
  float* panels = buffer(scratch.panels, problem_.geometry.weights());
  pack_weights(context_.kernels.pack_panel, problem_.geometry, way.plan, way.direction, weights,
               context_.threads, panels);
  return panels;
}

const float* ConvolutionOp::ready_bias(Scratch& scratch) {
  if (!problem_.has_bias) return nullptr;
  if (own_bias_) return own_bias_.data();
  const View bias = collapsed(client_.bias);
  if (bias.is_float() && bias.is_dense()) return static_cast<float*>(bias.data);
  float* values = buffer(scratch.bias, bias.count);
  read_values(*context_.run.convert, bias, 0, bias.count, values);
  return values;
}

void ConvolutionOp::forward(const Batch& in, const Batch& out, uint64_t random_stream,
                            const ChannelEpilogue& channels) {
  const FusedActivation& f =
      channels.activation == nullptr ? problem_.activation : *channels.activation;
  if (f.ignores_input()) return f.forward(context_.threads, with_samples(out), random_stream);
  ScratchPool<Scratch>::Borrowed scratch = scratch_.take();
  const Way way = forward_way();
  const bool on_tiles = !f.is_identity() && !f.is_random();
  Moments* parts = channels.moments == nullptr ? nullptr : moment_buffer(*scratch, out.size);
  const ChannelTerms terms = {
      .bias = ready_bias(*scratch), .scale = channels.scale, .shift = channels.shift};
  const ConvolutionPass pass = {.plan = &way.plan,
                                .direction = way.direction,
                                .source = RowReader(context_.run, in),
                                .to = out,
                                .panels = ready_panels(*scratch, way),
                                .epilogue = {.row = terms, .activation = on_tiles ? &f : nullptr},
                                .moments = parts};
  run_pass(context_, pass, work(*scratch));
  if (parts != nullptr) {
    join_parts(context_.threads, parts, out.size * moment_parts(way.plan), out.sample->extent[2],
               channels.moments);
  }
  if (f.is_random()) f.forward(context_.threads, with_samples(out), random_stream);
}

// Computes g of a range of samples. The work of the whole batch, not of this range, decides whether
// several threads are used: the passes that follow wake them anyway, and each thread then finds
// values of g in its cache.
void ConvolutionOp::make_gradient(const SampleRange& range, const Gradients& p,
                                  const Batch& g) const {
  const View& one = *g.sample;
  const size_t plane = one.extent[0] * one.extent[1], channels = one.extent[2];
  const size_t step = std::clamp<size_t>(kGrainFloats / plane, 1, channels);
  const size_t blocks = div_up(channels, step);
  const double each = std::max(kNanoseconds, problem_.activation.nanoseconds());
  const double work = each * static_cast<double>(range.batch) * static_cast<double>(one.count);
  const Batch y = p.out.part(range.first, range.count), dy = p.dy.part(range.first, range.count);
  const auto body = [&](size_t grain, size_t) {
    const size_t n = grain / blocks, c = grain % blocks * step;
    const auto part = [&](const Batch& images) {
      View view = *images.sample;
      view.data = row_of(images, n, c, 0);
      view.extent[2] = std::min(step, channels - c);
      view.count = plane * view.extent[2];
      return view;
    };
    problem_.activation.multiply_by_slope(1, part(y), part(dy), part(g));
  };
  parallel_for(useful_threads(context_.threads, work), range.count * blocks, body);
}

void ConvolutionOp::backward(const Gradients& p) {
  // All memory is allocated before anything is written: a failure leaves the gradients untouched.
  ScratchPool<Scratch>::Borrowed scratch = scratch_.take();
  const ConvolutionWork memory = work(*scratch);
  const Way way = backward_way();
  const bool want_dw = p.dw.view.data != nullptr, activation = !problem_.activation.is_identity();
  const float* panels = p.dx ? ready_panels(*scratch, way) : nullptr;
  float* weight_sums = want_dw ? buffer(scratch->weight_sums, weight_gradient_.sums()) : nullptr;
  double* bias_sums = p.db ? buffer(scratch->bias_sums, problem_.out.extent[2]) : nullptr;
  const Batch g = activation ? gradient_buffer(*scratch) : p.dy;

  const size_t batch = p.dy.size, step = activation ? samples_ : batch;
  for (size_t first = 0; first < batch; first += step) {
    const SampleRange range = {first, std::min(step, batch - first), batch};
    if (activation) make_gradient(range, p, g);
    if (p.dx) {
      const ConvolutionPass pass = {.plan = &way.plan,
                                    .direction = way.direction,
                                    .source = RowReader(context_.run, g),
                                    .to = p.dx.part(first, range.count),
                                    .panels = panels,
                                    .epilogue = {.accumulate = p.dx.accumulate}};
      run_pass(context_, pass, memory);
    }
    if (want_dw) {
      const RowReader in(context_.run, p.in.part(first, range.count)), out(context_.run, g);
      weight_gradient_.run(context_, range, problem_.transposed ? in : out,
                           problem_.transposed ? out : in, p.dw, p.dw_accumulate, memory,
                           weight_sums);
    }
    if (p.db) sum_channels(context_, range, g, p.db, bias_sums);
  }
}

void ConvolutionOp::reserve(size_t callers, size_t batch_of_moments) {
  const ConvolutionGeometry& g = problem_.geometry;
  scratch_.reserve(callers, [&](Scratch& s) {
    work(s);
    buffer(s.panels, g.weights());
    if (batch_of_moments > 0) moment_buffer(s, batch_of_moments);
    // Gradients exist for Float32 only.
    if (problem_.in.is_float() && problem_.out.is_float()) {
      buffer(s.weight_sums, weight_gradient_.sums());
      buffer(s.bias_sums, problem_.out.extent[2]);
      if (!activation().is_identity() && activation().slope_known()) gradient_buffer(s);
    }
    if (own_weights_) return;
    if (!client_.weights.is_canonical(g)) buffer(s.weights, g.weights());
    if (problem_.has_bias) buffer(s.bias, client_.bias.count);
  });
}

}  // namespace bnns::impl
