#include "ops/convolution/weights.h"

#include <algorithm>
#include <utility>

#include "core/parallel.h"

namespace bnns::impl {
namespace {

// Reads n weights that are `step` apart, such as the taps w(k, c, r, ...) of one row.
void read_row(const ConvertKernels& kernels, const View& line, ptrdiff_t at, ptrdiff_t step,
              size_t n, float* to) {
  if (line.is_float()) {
    const float* from = static_cast<const float*>(line.data) + at;
    for (size_t s = 0; s < n; ++s) to[s] = from[static_cast<ptrdiff_t>(s) * step];
  } else if (step == 1) {
    read_values(kernels, line, static_cast<size_t>(at), n, to);
  } else {
    for (size_t s = 0; s < n; ++s) {
      read_values(kernels, line, static_cast<size_t>(at + static_cast<ptrdiff_t>(s) * step), 1,
                  to + s);
    }
  }
}

bool is_dense_from_k(const ConvolutionGeometry& g, const ConvolutionWeights& w) {
  return !w.transposed && w.column == 1 && w.row == static_cast<ptrdiff_t>(g.x.taps) &&
         w.in == g.taps() && w.origin == 0;
}

// A job with all taps has them in order towards the small image, in reverse towards the large one.
bool has_all_taps(const ConvolutionGeometry& g, const ConvolutionJob& job) {
  return job.y.taps == g.y.taps && job.x.taps == g.x.taps;
}

// Packs a panel with any subset of the taps and `width` output channels, without SIMD.
void pack_terms(const ConvolutionGeometry& g, const ConvolutionJob& job,
                const ConvolutionPanel& panel, size_t width) {
  float* to = panel.to;
  for (size_t c = 0; c < panel.sources; ++c) {
    for (size_t r = 0; r < job.y.taps; ++r) {
      const float* row = panel.from + c * panel.by_source + job.y.tap[r] * g.x.taps;
      for (size_t s = 0; s < job.x.taps; ++s, to += width) {
        const float* w = row + job.x.tap[s];
        for (size_t m = 0; m < width; ++m) to[m] = w[m * panel.by_output];
      }
    }
  }
}

}  // namespace

View line_of(const View& view) {
  View line = view;
  line.rank = 1;
  line.extent[0] = view.span;
  line.stride[0] = 1;
  line.count = view.span;
  return line;
}

bool ConvolutionWeights::is_canonical(const ConvolutionGeometry& g) const {
  return view.is_float() && is_dense_from_k(g, *this) && out == g.taps() * g.large_channels &&
         block > g.groups * g.small_channels;
}

void read_weights(const ConvertKernels& kernels, const ConvolutionGeometry& g,
                  const ConvolutionWeights& weights, size_t threads, float* to) {
  const View line = line_of(weights.view);
  const size_t channels = g.large_channels, taps = g.taps();
  const double work = 2.0 * static_cast<double>(g.weights());
  parallel_for(useful_threads(threads, work), g.groups * g.small_channels, [&](size_t k, size_t) {
    float* out = to + k * channels * taps;
    if (is_dense_from_k(g, weights))
      return read_row(kernels, line, weights.at(g, k, 0), 1, channels * taps, out);
    for (size_t c = 0; c < channels; ++c) {
      const ptrdiff_t at = weights.at(g, k, c);
      for (size_t r = 0; r < g.y.taps; ++r, out += g.x.taps) {
        read_row(kernels, line, at + static_cast<ptrdiff_t>(r) * weights.row, weights.column,
                 g.x.taps, out);
      }
    }
  });
}

void pack_weights(PanelKernel pack_panel, const ConvolutionGeometry& g, const ConvolutionPlan& plan,
                  ConvolutionDirection direction, const float* weights, size_t threads,
                  float* panels) {
  const bool large = direction == ConvolutionDirection::kToLarge;
  const size_t taps = g.taps(), across = g.large_channels * taps;
  const size_t outputs = large ? g.large_channels : g.small_channels;
  const size_t sources = large ? g.small_channels : g.large_channels;
  const size_t by_output = large ? taps : across, by_source = large ? across : taps;
  const size_t per_group = div_up(outputs, kPanel);
  const double work = static_cast<double>(g.weights());
  for (size_t j = 0; j < plan.jobs(); ++j) {
    const ConvolutionJob& job = plan.job(j);
    const bool whole = has_all_taps(g, job);
    parallel_for(useful_threads(threads, work), g.groups * per_group, [&](size_t grain, size_t) {
      const size_t group = grain / per_group, m = grain % per_group * kPanel;
      const float* from = weights + group * g.small_channels * across + m * by_output;
      ConvolutionPanel panel = {.from = from,
                                .by_source = by_source,
                                .by_output = by_output,
                                .sources = sources,
                                .taps = taps,
                                .reversed = large && taps > 1,
                                .to = panels + job.panels + (group * outputs + m) * job.depth};
      const size_t width = std::min(kPanel, outputs - m);
      if (!whole || width < kPanel) return pack_terms(g, job, panel, width);
      // Source channels without gaps between them are treated as one channel with more taps.
      if (!panel.reversed && by_source == taps) panel.taps *= std::exchange(panel.sources, 1);
      pack_panel(panel);
    });
  }
}

void store_weights(const OuterKernels& kernels, const ConvolutionGeometry& g,
                   const ConvolutionWeights& to, const ConvolutionSums& block, bool accumulate) {
  auto* data = static_cast<float*>(to.view.data);
  if (!accumulate && is_dense_from_k(g, to) && to.block > g.groups * g.small_channels) {
    const size_t count = block.cs * g.taps();
    return kernels.transpose({.from = block.sums,
                              .from_row = block.row,
                              .count = count,
                              .n = block.ks,
                              .to = data + to.at(g, block.k0, block.c0),
                              .to_row = to.out,
                              .end = count});
  }
  const size_t taps = g.x.taps, row = block.row;
  for (size_t k = 0; k < block.ks; ++k) {
    const float* sum = block.sums + k;
    // Input channels are evenly spaced; output channels may come in blocks, so that each needs
    // at().
    const ptrdiff_t start = to.at(g, block.k0 + k, block.c0);
    for (size_t c = 0; c < block.cs; ++c) {
      float* first = data + (to.transposed ? to.at(g, block.k0 + k, block.c0 + c)
                                           : start + static_cast<ptrdiff_t>(c * to.in));
      // An axis of one tap may have any stride. Offsets are index * stride: adding strides up could
      // form a pointer outside the array.
      for (size_t r = 0; r < g.y.taps; ++r) {
        float* line = first + static_cast<ptrdiff_t>(r) * to.row;
        for (size_t s = 0; s < taps; ++s, sum += row) {
          float& value = line[static_cast<ptrdiff_t>(s) * to.column];
          value = accumulate ? value + *sum : *sum;
        }
      }
    }
  }
}

}  // namespace bnns::impl
