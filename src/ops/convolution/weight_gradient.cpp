#include "ops/convolution/weight_gradient.h"

#include <algorithm>

#include "core/parallel.h"
#include "ops/convolution/buffer.h"

namespace bnns::impl {
namespace {

constexpr size_t kBufferFloats = 65536;
// Pixels of the small image in a block: what a tile reads of them stays in the first-level cache.
// kOuterOutputs is for the outer kernel.
constexpr size_t kOutputs = 1024;
constexpr size_t kOuterOutputs = 256;
// About so many windows, pairs of a large channel and a tap, share a copy of the small image.
constexpr size_t kWindows = 288;
// A grain has fewer windows if there would be fewer than kGrains grains, but not so few that it has
// less than kGrainProducts products.
constexpr size_t kGrains = 6;
constexpr double kGrainProducts = 200000;
constexpr double kProductsPerNanosecond = 20;

// Small channels of a grain: at most kOuterVectors vectors, about equally many in every grain.
size_t channels_of_small(const ConvolutionGeometry& g, size_t lanes) {
  const size_t vectors = div_up(g.small_channels, lanes);
  return div_up(vectors, div_up(vectors, kOuterVectors)) * lanes;
}

// Large channels that share a copy of the small image, about equally many in every grain.
size_t channels_of_large(const ConvolutionGeometry& g) {
  const size_t blocks = div_up(checked_mul(g.large_channels, g.taps(), "the depth"), kWindows);
  return div_up(g.large_channels, std::min(blocks, g.large_channels));
}

}  // namespace

ConvolutionWeightGradientPlan::ConvolutionWeightGradientPlan(const Memory& memory,
                                                             const ConvolutionGeometry& g,
                                                             size_t lanes)
    : many_(g.small_channels >= lanes),
      lanes_(lanes),
      small_channels_(many_ ? channels_of_small(g, lanes) : lanes),
      large_channels_(channels_of_large(g)),
      plan_(memory, g, ConvolutionDirection::kToSmall,
            {.channels = large_channels_,
             .floats = kBufferFloats,
             .outputs = many_ ? kOuterOutputs : kOutputs}),
      row_(many_ ? g.x.small : std::max(g.x.small, lanes)),
      plane_(checked_mul(row_, plan_.job(0).rows, "the buffer of a convolution")),
      sums_(checked_mul(div_up(g.small_channels, small_channels_) * small_channels_,
                        g.groups * g.large_channels * g.taps(), "the sums of a convolution")) {}

size_t ConvolutionWeightGradientPlan::scratch(size_t widest) const {
  constexpr const char* kWhat = "the working memory of a convolution";
  const size_t copies = checked_mul((many_ ? 2 : 1) * small_channels_, plane_, kWhat);
  const size_t rest = checked_add(copies, RowReader::scratch(widest) + kAlignment, kWhat);
  return checked_add(plan_.buffer(), rest, kWhat);
}

// Copies rows [i0, i0 + rows) of channels [k0, k0 + ks) of sample n of the small image as
// [k][rows][row_]. The outer kernel gets their transpose.
void ConvolutionWeightGradientPlan::copy_small(const ConvolutionContext& context,
                                               const RowReader& small, size_t n, size_t k0,
                                               size_t ks, size_t i0, size_t rows,
                                               const Buffers& to) const {
  const size_t width = context.geometry.x.small;
  const View& one = small.one();
  const auto transpose = [&](const float* from, size_t row) {
    const size_t channels = div_up(ks, lanes_) * lanes_;
    context.kernels.many.transpose({.from = from,
                                    .from_row = row,
                                    .count = ks,
                                    .n = rows * width,
                                    .to = to.transposed,
                                    .to_row = channels,
                                    .end = channels});
  };
  // Rows without gaps between them are transposed without a copy.
  if (many_ && small.is_direct() && one.stride[0] == 1 && one.stride[1] == width) {
    const Row first = small.read(n, k0, i0, to.row_scratch);
    return transpose(first.data, one.stride[2]);
  }
  const size_t at_once = small.is_direct() ? rows : 1;
  for (size_t k = 0; k < ks; ++k) {
    for (size_t i = 0; i < rows; i += at_once) {
      const Row row = small.read(n, k0 + k, i0 + i, to.row_scratch);
      context.kernels.copy({.from = row.data,
                            .from_plane = 0,
                            .from_row = one.stride[1],
                            .from_step = row.step,
                            .planes = 1,
                            .rows = at_once,
                            .first = 0,
                            .step = 1,
                            .size = width,
                            .to = to.small + k * plane_ + i * row_,
                            .to_plane = 0,
                            .pitch = row_,
                            .columns = row_});
    }
  }
  if (many_) transpose(to.small, plane_);
}

ConvolutionWeightGradientPlan::Buffers ConvolutionWeightGradientPlan::buffers(float* work) const {
  Buffers b = {.large = work};
  b.transposed = b.large + div_up(plan_.buffer(), kAlignment) * kAlignment;
  b.small = b.transposed + (many_ ? small_channels_ * plane_ : 0);
  b.row_scratch = b.small + small_channels_ * plane_;
  return b;
}

// Adds the products of one block with the outer kernel, whose vectors hold small channels.
void ConvolutionWeightGradientPlan::add_outer(const ConvolutionContext& context,
                                              const Images& images, const Block& at,
                                              const ConvolutionSums& block,
                                              const Buffers& b) const {
  const ConvolutionJob& job = plan_.job(0);
  ConvolutionOuter outer = {.a = b.transposed,
                            .vectors = div_up(block.ks, lanes_),
                            .x = b.large,
                            .x_row = job.pitch,
                            .x_plane = 0,
                            .offset = job.offset,
                            .depth = block.cs * context.geometry.taps(),
                            .rows = at.rows,
                            .columns = job.x.count,
                            .sums = block.sums,
                            .sums_row = small_channels_};
  if (is_source_itself(job, images.large)) {
    outer.x = row_of(images.large.images(), at.n, at.c0, at.i0);
    outer.x_row = images.large.one().stride[1];
    outer.x_plane = images.large.one().stride[2];
  } else {
    fill_buffer(context.kernels, job, images.large, at.n, at.c0, block.cs, at.i0, at.rows, b.large,
                b.row_scratch);
  }
  copy_small(context, images.small, at.n, block.k0, block.ks, at.i0, at.rows, b);
  context.kernels.many.outer(outer);
}

// Adds the products of one block with the kernels whose vectors hold pixels.
void ConvolutionWeightGradientPlan::add_weight_gradient(const ConvolutionContext& context,
                                                        const Images& images, const Block& at,
                                                        const ConvolutionSums& block,
                                                        const Buffers& b) const {
  const ConvolutionJob& job = plan_.job(0);
  const ConvolutionKernels& kernels = context.kernels;
  const RowReader &small = images.small, &large = images.large;
  const bool is_depthwise = job.choice == ConvolutionChoice::kDepthwise3x3;
  const bool large_in_place = is_depthwise && is_depthwise_source(kernels, job, large);
  if (!large_in_place)
    fill_buffer(kernels, job, large, at.n, at.c0, block.cs, at.i0, at.rows, b.large, b.row_scratch);
  const bool in_place = small.is_direct() && small.one().stride[0] == 1 &&
                        job.x.count >= (is_depthwise ? kernels.depthwise_columns : lanes_);
  if (!in_place) copy_small(context, small, at.n, block.k0, block.ks, at.i0, at.rows, b);
  const ConvolutionWeightGradient weight_gradient = {
      .a = in_place ? row_of(small.images(), at.n, block.k0, at.i0) : b.small,
      .a_plane = in_place ? small.one().stride[2] : plane_,
      .a_row = in_place ? small.one().stride[1] : row_,
      .channels = block.ks,
      .x = b.large,
      .x_row = job.pitch,
      .offset = job.offset,
      .depth = block.cs * context.geometry.taps(),
      .rows = at.rows,
      .columns = job.x.count,
      .sums = block.sums,
      .sums_row = small_channels_};
  if (!is_depthwise) return kernels.weight_gradient(weight_gradient);
  kernels.depthwise_weight_gradient(large_in_place
                                        ? depthwise_of_source(job, large, at.n, at.c0, at.i0)
                                        : depthwise_of_buffer(job, b.large, plan_.buffer()),
                                    weight_gradient);
}

void ConvolutionWeightGradientPlan::run_grain(const ConvolutionContext& context, size_t samples,
                                              const Images& images, const ConvolutionSums& block,
                                              float* work) const {
  const ConvolutionGeometry& g = context.geometry;
  const ConvolutionJob& job = plan_.job(0);
  const Buffers b = buffers(work);
  Block at = {.c0 = block.k0 / g.small_channels * g.large_channels + block.c0};
  for (; at.n < samples; ++at.n) {
    for (at.i0 = 0; at.i0 < job.y.count; at.i0 += job.rows) {
      at.rows = std::min(job.rows, job.y.count - at.i0);
      if (many_) {
        add_outer(context, images, at, block, b);
      } else {
        add_weight_gradient(context, images, at, block, b);
      }
    }
  }
}

void ConvolutionWeightGradientPlan::run(const ConvolutionContext& context,
                                        const SampleRange& samples, const RowReader& small,
                                        const RowReader& large, const ConvolutionWeights& dw,
                                        bool accumulate, const ConvolutionWork& work,
                                        float* sums) const {
  const ConvolutionGeometry& g = context.geometry;
  const size_t k_blocks = div_up(g.small_channels, small_channels_);
  const double sample_products =
      static_cast<double>(g.weights()) * static_cast<double>(g.y.small * g.x.small);
  // The products of the whole batch: grains must not depend on how it is cut into ranges.
  const double products = sample_products * static_cast<double>(samples.batch);
  const auto most =
      static_cast<size_t>(std::clamp(products / kGrainProducts, 1.0, double{kGrains}));
  const size_t splits = std::clamp<size_t>(most / (g.groups * k_blocks), 1, g.large_channels);
  const size_t channels = std::min(large_channels_, div_up(g.large_channels, splits));
  const size_t c_blocks = div_up(g.large_channels, channels);
  const size_t row = g.taps() * small_channels_;  // sums of one large channel
  const auto body = [&](size_t grain, size_t worker) {
    // The last blocks have fewer channels; small grains at the end keep the threads balanced.
    const size_t group = grain / (c_blocks * k_blocks), k_block = grain % k_blocks;
    const size_t c0 = grain / k_blocks % c_blocks * channels, k0 = k_block * small_channels_;
    const size_t first = (group * k_blocks + k_block) * g.large_channels + c0;
    const ConvolutionSums block = {.sums = sums + first * row,
                                   .row = small_channels_,
                                   .k0 = group * g.small_channels + k0,
                                   .ks = std::min(small_channels_, g.small_channels - k0),
                                   .c0 = c0,
                                   .cs = std::min(channels, g.large_channels - c0)};
    if (samples.begins()) std::fill_n(block.sums, block.cs * row, 0.0f);
    run_grain(context, samples.count, {small, large}, block, work.of(worker));
    if (samples.ends()) store_weights(context.kernels.many, g, dw, block, accumulate);
  };
  const double work_here = sample_products * static_cast<double>(samples.count);
  parallel_for(useful_threads(context.threads, work_here / kProductsPerNanosecond),
               g.groups * c_blocks * k_blocks, body);
}

void sum_channels(const ConvolutionContext& context, const SampleRange& samples, const Batch& g,
                  const Gradient& db, double* sums) {
  const View& one = *g.sample;
  const View to = whole(db);
  const double cost = 0.2 * static_cast<double>(one.count) * static_cast<double>(samples.count);
  // Rows without gaps between them are summed as one row.
  const bool is_plane = one.stride[1] == one.extent[0] * one.stride[0];
  const size_t rows = is_plane ? 1 : one.extent[1], values = one.extent[0] * one.extent[1] / rows;
  parallel_for(useful_threads(context.threads, cost), one.extent[2], [&](size_t c, size_t) {
    double sum = samples.begins() ? 0 : sums[c];
    for (size_t n = 0; n < samples.count; ++n) {
      for (size_t y = 0; y < rows; ++y)
        sum += context.kernels.sum(row_of(g, n, c, y), one.stride[0], values);
    }
    sums[c] = sum;
    if (!samples.ends()) return;
    float& value = static_cast<float*>(to.data)[Walker(to, c).offset()];
    value = (db.accumulate ? value : 0) + static_cast<float>(sum);
  });
}

}  // namespace bnns::impl
