// Batch normalization of small planes. The batch is a matrix with a row per sample, and statistics
// run down its columns, a block of neighbouring columns at a time.
#include <type_traits>

#include "ops/normalization/passes.h"

namespace bnns::impl::normalization {
namespace {

// Calls body(part, first column, number of columns) for all parts and blocks of columns.
template <class Body>
void for_column_blocks(const Pass& p, const Body& body) {
  const size_t count = p.problem.count(), blocks = div_up(count, kColumnBlock);
  const size_t parts = plan_parts(p.batch).parts;
  parallel_for(p.useful_threads(2), parts * blocks, [&](size_t g, size_t) {
    const size_t first = g % blocks * kColumnBlock;
    body(g / blocks, first, std::min(kColumnBlock, count - first));
  });
}

// Number of samples that one kernel call can take: several only where they are rows of a contiguous
// matrix and no separate activation pass is needed.
size_t samples_per_call(const Pass& p, bool contiguous, size_t samples) {
  return contiguous && !p.has_other_activation() ? samples : 1;
}

// Calls body(sample, samples) for all samples, as many at a time as a kernel call can take.
template <class Body>
void for_samples(const Pass& p, bool contiguous, const Body& body) {
  const size_t grain = div_up(kGrain, p.problem.count()),
               most = samples_per_call(p, contiguous, grain);
  parallel_for(p.useful_threads(1), div_up(p.batch, grain), [&](size_t g, size_t) {
    const size_t end = std::min(p.batch, (g + 1) * grain);
    for (size_t s = g * grain; s < end; s += most) body(s, std::min(most, end - s));
  });
}

void part_moments(const ForwardPass& p, size_t part, size_t first, size_t n) {
  const size_t count = p.problem.count(), rows = plan_parts(p.batch).rows, begin = part * rows;
  const auto visit = [&](size_t s, size_t end, const auto& body) {
    const size_t most = p.x.contiguous ? kFlush : 1;
    for (; s < end; s += most) {
      over(p.convert, p.x, (begin + s) * count + first, n,
           [&](std::array<float*, 1> x, size_t m, size_t offset) {
             body(x[0], std::min(most, end - s), count, m, offset);
           });
    }
  };
  column_moments(p.kernels, std::min(rows, p.batch - begin), n, visit,
                 [&](size_t column, const Moments& moments) {
                   p.moments[part * count + first + column] = moments;
                 });
}

// Sums over the columns of a channel run in order, so that each addition waits for the one before
// it. Those of several channels run side by side.
constexpr size_t kSideBySide = 4;

// Calls body(constant number of channels, first channel) for all channels.
template <class Body>
void for_channels_side_by_side(size_t channels, const Body& body) {
  size_t channel = 0;
  for (; channel + kSideBySide <= channels; channel += kSideBySide)
    body(std::integral_constant<size_t, kSideBySide>(), channel);
  for (; channel < channels; ++channel) body(std::integral_constant<size_t, 1>(), channel);
}

// Calls to(channel, moments) for all channels. All columns of a part have the same count, so they
// are joined without divisions.
template <class To>
void join_moments(const ForwardPass& p, const To& to) {
  const size_t count = p.problem.count(), plane = p.problem.plane();
  const double columns = static_cast<double>(plane), share = 1 / columns;
  for_channels_side_by_side(p.problem.channels, [&](auto n, size_t channel) {
    constexpr size_t kChannels = n;
    Moments all[kChannels];
    for (size_t part = 0; part < plan_parts(p.batch).parts; ++part) {
      const Moments* column = p.moments + part * count + channel * plane;
      const double size = column->count;
      double mean[kChannels] = {}, squares[kChannels] = {};
      for (size_t i = 0; i < plane; ++i)
        for (size_t k = 0; k < kChannels; ++k) mean[k] += column[k * plane + i].mean;
      for (double& m : mean) m *= share;
      for (size_t i = 0; i < plane; ++i) {
        for (size_t k = 0; k < kChannels; ++k) {
          const Moments& own = column[k * plane + i];
          const double apart = own.mean - mean[k];
          squares[k] += own.squares + size * apart * apart;
        }
      }
      for (size_t k = 0; k < kChannels; ++k)
        all[k].join({.count = size * columns, .mean = mean[k], .squares = squares[k]});
    }
    for (size_t k = 0; k < kChannels; ++k) to(channel + k, all[k]);
  });
}

// Calls body(channel, first column, end column) for all channels.
template <class Body>
void for_channels(const NormalizationProblem& problem, const Body& body) {
  const size_t plane = problem.plane();
  for (size_t channel = 0; channel < problem.channels; ++channel)
    body(channel, channel * plane, (channel + 1) * plane);
}

// Adds up g and g k of some columns over a part of the batch.
void column_sums(const BackwardPass& p, size_t part, size_t first, size_t n) {
  const size_t count = p.problem.count(), rows = plan_parts(p.batch).rows;
  const size_t begin = part * rows, end = std::min(p.batch, begin + rows);
  alignas(64) float g[kColumnBlock] = {}, gk[kColumnBlock] = {};
  double* sums = p.sums + 2 * part * count + first;
  std::fill_n(sums, n, 0.0);
  std::fill_n(sums + count, n, 0.0);
  const size_t most = samples_per_call(p, p.dy_y.contiguous, kFlush);
  for (size_t s = begin; s < end; s += most) {
    const size_t samples = std::min(most, end - s);
    for_gradient<false>(p, s * count + first, n, [&](GradientRow row, float*, size_t offset) {
      row.rows = samples;
      row.step = count;
      p.kernels.collect[p.rectifies()](row, g + offset, gk + offset);
    });
    if ((s + samples - begin) % kFlush != 0 && s + samples != end) continue;
    p.kernels.flush(g, sums, n);
    p.kernels.flush(gk, sums + count, n);
  }
}

void join_sums(const BackwardPass& p) {
  const size_t count = p.problem.count(), plane = p.problem.plane();
  const size_t channels = p.problem.channels;
  for_channels_side_by_side(channels, [&](auto n, size_t channel) {
    constexpr size_t kChannels = n;
    double g[kChannels] = {}, gk[kChannels] = {};
    for (size_t part = 0; part < plan_parts(p.batch).parts; ++part) {
      const double* sums = p.sums + 2 * part * count + channel * plane;
      for (size_t i = 0; i < plane; ++i) {
        for (size_t k = 0; k < kChannels; ++k) {
          g[k] += sums[k * plane + i];
          gk[k] += sums[count + k * plane + i];
        }
      }
    }
    std::copy_n(g, kChannels, p.affine_sums + channel);
    std::copy_n(gk, kChannels, p.affine_sums + channels + channel);
  });
}

}  // namespace

void statistics_by_column(const ForwardPass& p, Moments* to) {
  for_column_blocks(p,
                    [&](size_t part, size_t first, size_t n) { part_moments(p, part, first, n); });
  join_moments(p, [&](size_t channel, const Moments& moments) { to[channel] = moments; });
}

void forward_by_column(const ForwardPass& p) {
  const size_t count = p.problem.count();
  if (!p.known) {
    for_column_blocks(
        p, [&](size_t part, size_t first, size_t n) { part_moments(p, part, first, n); });
    join_moments(p, [&](size_t channel, const Moments& moments) {
      p.mean[channel] = moments.mean;
      p.variance[channel] = moments.squares / moments.count;
    });
    // A loop of its own, so that square roots and divisions of several channels overlap.
    for_channels(p.problem, [&](size_t channel, size_t, size_t) {
      p.inverse[channel] = inverse_deviation(p.variance[channel], p.problem.epsilon);
    });
  }
  float *mean = p.column_coefficients, *inverse = mean + count, *low = inverse + count;
  for_channels(p.problem, [&](size_t channel, size_t first, size_t end) {
    const GroupCoefficients c(p.mean[channel], p.inverse[channel]);
    for (size_t j = first; j < end; ++j) {
      mean[j] = c.mean;
      inverse[j] = c.inverse;
      low[j] = c.low;
    }
  });
  for_samples(p, p.xy.contiguous, [&](size_t sample, size_t samples) {
    normalize_stretch(p, kAll, sample * count, count, [&](NormalizeRow& row, size_t offset) {
      row.mean = mean + offset;
      row.inverse = inverse + offset;
      row.low = low + offset;
      row.gamma = p.gamma + offset;
      row.beta = p.beta + offset;
      row.rows = samples;
      row.step = count;
    });
  });
}

void backward_by_column(const BackwardPass& p) {
  const size_t count = p.problem.count();
  for_column_blocks(p,
                    [&](size_t part, size_t first, size_t n) { column_sums(p, part, first, n); });
  join_sums(p);
  if (!p.wants_dx) return;
  float *factor = p.column_coefficients, *k_factor = factor + count, *shift = k_factor + count;
  const double share = 1 / static_cast<double>(p.batch * p.problem.plane());
  for_channels(p.problem, [&](size_t channel, size_t first, size_t end) {
    const double mean_gk = p.affine_sums[p.problem.channels + channel] * share;
    const double mean_g = p.affine_sums[channel] * share;
    for (size_t j = first; j < end; ++j) {
      const double scale = double{p.gamma[j]} * p.inverse[channel];
      factor[j] = static_cast<float>(scale);
      k_factor[j] = static_cast<float>(-scale * mean_gk);
      shift[j] = static_cast<float>(-scale * mean_g);
    }
  });
  const auto map = p.kernels.map[kAll][p.rectifies()][p.accumulate];
  for_samples(p, p.dy_y_dx.contiguous, [&](size_t sample, size_t samples) {
    for_gradient<true>(p, sample * count, count, [&](GradientRow row, float* dx, size_t offset) {
      row.rows = samples;
      row.step = count;
      map(row, {.dx = dx,
                .scale = nullptr,
                .factor = factor + offset,
                .k_factor = k_factor + offset,
                .shift = shift + offset});
    });
  });
}

}  // namespace bnns::impl::normalization
