// Batch normalization of small planes: the batch is a matrix with a row per sample, and statistics
// run down its columns, a block of neighbouring columns at a time. The deviations of a part of the
// batch are taken from the mean of its first rows.
#include "ops/normalization/passes.h"

namespace bnns::impl::normalization {
namespace {

// body(part, first column, columns) for all parts and blocks of columns.
template <class Body>
void for_column_blocks(const Pass& p, const Body& body) {
  const size_t count = p.problem.count(), blocks = div_up(count, kColumns);
  const size_t parts = plan_parts(p.batch).parts;
  parallel_for(p.useful_threads(2), parts * blocks, [&](size_t g, size_t) {
    const size_t first = g % blocks * kColumns;
    body(g / blocks, first, std::min(kColumns, count - first));
  });
}

// body(sample) for all samples.
template <class Body>
void for_samples(const Pass& p, const Body& body) {
  const size_t grain = div_up(kGrain, p.problem.count());
  parallel_for(p.useful_threads(1), div_up(p.batch, grain), [&](size_t g, size_t) {
    const size_t end = std::min(p.batch, (g + 1) * grain);
    for (size_t sample = g * grain; sample < end; ++sample) body(sample);
  });
}

void column_moments(const ForwardPass& p, size_t part, size_t first, size_t n) {
  const size_t count = p.problem.count(), rows = plan_parts(p.batch).rows;
  const size_t begin = part * rows, end = std::min(p.batch, begin + rows);
  alignas(64) float from[kColumns] = {}, sum[kColumns] = {}, squares[kColumns] = {};
  double sums[kColumns] = {}, all_squares[kColumns] = {};
  const auto visit = [&](size_t sample, const auto& body) {
    over(p.convert, p.x, sample * count + first, n,
         [&](std::array<float*, 1> x, size_t m, size_t offset) { body(x[0], m, offset); });
  };
  const size_t head = std::min(end - begin, kFlush);
  for (size_t s = begin; s < begin + head; ++s) {
    visit(s, [&](const float* x, size_t m, size_t at) { p.kernels.add(x, from + at, m); });
  }
  for (size_t j = 0; j < n; ++j) from[j] /= static_cast<float>(head);
  for (size_t s = begin; s < end; ++s) {
    visit(s, [&](const float* x, size_t m, size_t at) {
      p.kernels.deviations(x, from + at, sum + at, squares + at, m);
    });
    if ((s + 1 - begin) % kFlush != 0 && s + 1 != end) continue;
    for (size_t j = 0; j < n; ++j) {
      sums[j] += double{sum[j]};
      all_squares[j] += double{squares[j]};
      sum[j] = squares[j] = 0;
    }
  }
  const double size = static_cast<double>(end - begin);
  for (size_t j = 0; j < n; ++j) {
    const double rest = sums[j] / size, deviations = all_squares[j] - rest * rest * size;
    p.moments[part * count + first + j] = {
        .count = size, .mean = double{from[j]} + rest, .squares = deviations < 0 ? 0 : deviations};
  }
}

void join_channel(const ForwardPass& p, size_t channel) {
  const size_t count = p.problem.count(), plane = p.problem.plane();
  Moments all;
  for (size_t part = 0; part < plan_parts(p.batch).parts; ++part) {
    for (size_t i = 0; i < plane; ++i) all.join(p.moments[part * count + channel * plane + i]);
  }
  p.mean[channel] = all.mean;
  p.variance[channel] = all.squares / all.count;
  p.inverse[channel] = inverse_deviation(p.variance[channel], p.problem.epsilon);
}

// Adds up g and g k of some columns over a part of the batch.
void column_sums(const BackwardPass& p, size_t part, size_t first, size_t n) {
  const size_t count = p.problem.count(), rows = plan_parts(p.batch).rows;
  const size_t begin = part * rows, end = std::min(p.batch, begin + rows);
  alignas(64) float g[kColumns] = {}, gk[kColumns] = {};
  double* sums = p.sums + 2 * part * count + first;
  std::fill_n(sums, n, 0.0);
  std::fill_n(sums + count, n, 0.0);
  for (size_t s = begin; s < end; ++s) {
    for_gradient<false>(p, s * count + first, n,
                        [&](const GradientRow& row, float*, size_t offset) {
                          p.kernels.collect[p.rectifies()](row, g + offset, gk + offset);
                        });
    if ((s + 1 - begin) % kFlush != 0 && s + 1 != end) continue;
    for (size_t j = 0; j < n; ++j) {
      sums[j] += double{g[j]};
      sums[count + j] += double{gk[j]};
      g[j] = gk[j] = 0;
    }
  }
}

void join_sums(const BackwardPass& p) {
  const size_t count = p.problem.count(), plane = p.problem.plane();
  const size_t channels = p.problem.channels;
  for (size_t channel = 0; channel < channels; ++channel) {
    double all[2] = {};
    for (size_t part = 0; part < plan_parts(p.batch).parts; ++part) {
      const double* sums = p.sums + 2 * part * count + channel * plane;
      for (size_t i = 0; i < plane; ++i) {
        all[0] += sums[i];
        all[1] += sums[count + i];
      }
    }
    p.affine_sums[channel] = all[0];
    p.affine_sums[channels + channel] = all[1];
  }
}

}  // namespace

void forward_columns(const ForwardPass& p) {
  const size_t count = p.problem.count(), plane = p.problem.plane();
  if (!p.known) {
    for_column_blocks(
        p, [&](size_t part, size_t first, size_t n) { column_moments(p, part, first, n); });
    for (size_t channel = 0; channel < p.problem.channels; ++channel) join_channel(p, channel);
  }
  float *mean = p.columns, *inverse = mean + count, *low = inverse + count;
  for (size_t j = 0; j < count; ++j) {
    const SetCoefficients c(p.mean[j / plane], p.inverse[j / plane]);
    mean[j] = c.mean;
    inverse[j] = c.inverse;
    low[j] = c.low;
  }
  for_samples(p, [&](size_t sample) {
    normalize_stretch(p, kAll, sample * count, count, [&](NormalizeRow& row, size_t offset) {
      row.mean = mean + offset;
      row.inverse = inverse + offset;
      row.low = low + offset;
      row.gamma = p.gamma + offset;
      row.beta = p.beta + offset;
    });
  });
}

void backward_columns(const BackwardPass& p) {
  const size_t count = p.problem.count(), plane = p.problem.plane();
  for_column_blocks(p,
                    [&](size_t part, size_t first, size_t n) { column_sums(p, part, first, n); });
  join_sums(p);
  if (!p.wants_dx) return;
  float *factor = p.columns, *slope = factor + count, *shift = slope + count;
  const double size = static_cast<double>(p.batch * plane);
  for (size_t j = 0; j < count; ++j) {
    const size_t channel = j / plane;
    const double scale = double{p.gamma[j]} * p.inverse[channel];
    factor[j] = static_cast<float>(scale);
    slope[j] = static_cast<float>(-scale * p.affine_sums[p.problem.channels + channel] / size);
    shift[j] = static_cast<float>(-scale * p.affine_sums[channel] / size);
  }
  const auto map = p.kernels.map[kAll][p.rectifies()][p.accumulate];
  for_samples(p, [&](size_t sample) {
    for_gradient<true>(p, sample * count, count,
                       [&](const GradientRow& row, float* dx, size_t offset) {
                         map(row, {.dx = dx,
                                   .scale = 1,
                                   .factor = factor + offset,
                                   .slope = slope + offset,
                                   .shift = shift + offset});
                       });
  });
}

}  // namespace bnns::impl::normalization
