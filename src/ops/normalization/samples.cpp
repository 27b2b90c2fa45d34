// Gradients where gamma differs by element: sets are rows of a sample, dbeta and dgamma have a
// value per element of a sample. Sums over samples: float over kFlush samples, then double.
#include "ops/normalization/passes.h"

namespace bnns::impl::normalization {
namespace {

// Float sums of some samples in front of double sums of all.
struct Collector {
  const NormalizationKernels& kernels;
  float *block_beta, *block_gamma;
  double *beta, *gamma;
  size_t n;
  size_t samples = 0;

  void clear() {
    std::fill_n(block_beta, n, 0.0f);
    std::fill_n(block_gamma, n, 0.0f);
    std::fill_n(beta, n, 0.0);
    std::fill_n(gamma, n, 0.0);
  }
  void end_samples(size_t n_samples) {
    samples += n_samples;
    if (samples % kFlush == 0) flush();
  }
  void flush() {
    kernels.flush(block_beta, beta, n);
    kernels.flush(block_gamma, gamma, n);
  }
};

// Rows that are mapped in one call, and what GradientMap takes of each.
constexpr size_t kTogether = 2;
struct RowCoefficients {
  float scale[kTogether], slope[kTogether], shift[kTogether];

  void set(size_t k, double r, double mean_h, double mean_hk) {
    scale[k] = static_cast<float>(r);
    slope[k] = static_cast<float>(-r * mean_hk);
    shift[k] = static_cast<float>(-r * mean_h);
  }
};

// Adds sum of h and h k over elements [first, first + n), which lie in one row.
void add_row_sums(const BackwardPass& p, size_t first, size_t n, double* sums) {
  const float* gamma = p.gamma + first % p.problem.count();
  for_gradient<false>(p, first, n, [&](const GradientRow& row, float*, size_t offset) {
    p.kernels.weighted_sums[p.rectifies()](row, gamma + offset, sums);
  });
}

// Maps and collects elements [first, first + n) of one row, and those of the next samples where
// there are coefficients for several; column: of the first in the collector.
void finish_stretch(const BackwardPass& p, size_t first, size_t n, const RowCoefficients& c,
                    size_t samples, Collector& collector, size_t column) {
  const size_t count = p.problem.count();
  const float* gamma = p.gamma + first % count;
  const auto map = p.kernels.map[kAffine][p.rectifies()][p.accumulate];
  const auto collect = p.kernels.collect[p.rectifies()];
  const auto finish = [&](GradientRow row, float* dx, size_t offset) {
    float* beta = p.wants_affine ? collector.block_beta + column + offset : nullptr;
    float* sums = p.wants_affine ? collector.block_gamma + column + offset : nullptr;
    row.rows = samples;
    row.step = count;
    if (dx == nullptr) return collect(row, beta, sums);
    map(row, {.dx = dx,
              .scale = c.scale,
              .factor = gamma + offset,
              .slope = c.slope,
              .shift = c.shift,
              .beta_sum = beta,
              .gamma_sum = sums});
  };
  p.wants_dx ? for_gradient<true>(p, first, n, finish) : for_gradient<false>(p, first, n, finish);
}

}  // namespace

// A grain is some samples, with partial sums of its own.
void backward_samples(const BackwardPass& p) {
  const size_t count = p.problem.count(), row = p.problem.row;
  const PartPlan plan = plan_samples(p.batch, count);
  const size_t threads = p.useful_threads(2);
  const double share = 1 / static_cast<double>(row);
  const bool in_place = p.map.lines && !p.has_other_activation();
  const size_t most = in_place ? kTogether : 1;
  parallel_for(threads, plan.parts, [&](size_t part, size_t) {
    Collector collector = {.kernels = p.kernels,
                           .block_beta = p.blocks + 2 * part * count,
                           .block_gamma = p.blocks + (2 * part + 1) * count,
                           .beta = p.affine_sums + 2 * part * count,
                           .gamma = p.affine_sums + (2 * part + 1) * count,
                           .n = count};
    if (p.wants_affine) collector.clear();
    const size_t end = std::min(p.batch, (part + 1) * plan.rows);
    for (size_t sample = part * plan.rows; sample < end; sample += most) {
      const size_t samples = std::min(most, end - sample);
      for (size_t at = 0; at < count; at += row) {
        const size_t first = sample * count + at;
        double sums[kTogether][2] = {};
        for (size_t k = 0; k < samples; ++k) add_row_sums(p, first + k * count, row, sums[k]);
        RowCoefficients c;
        for (size_t k = 0; k < samples; ++k)
          c.set(k, p.inverse[(first + k * count) / row], sums[k][0] * share, sums[k][1] * share);
        finish_stretch(p, first, row, c, samples, collector, at);
      }
      if (p.wants_affine) collector.end_samples(samples);
    }
    if (p.wants_affine) collector.flush();
  });
  if (!p.wants_affine) return;
  const size_t blocks = div_up(2 * count, kColumns);
  parallel_for(useful_threads(threads, static_cast<double>(plan.parts * count)), blocks,
               [&](size_t block, size_t) {
                 const size_t first = block * kColumns, n = std::min(kColumns, 2 * count - first);
                 double* to = p.affine_sums + first;
                 for (size_t part = 1; part < plan.parts; ++part) {
                   const double* from = to + 2 * part * count;
                   for (size_t i = 0; i < n; ++i) to[i] += from[i];
                 }
               });
}

// Sums of rows by pieces first; then a grain is a block of columns in all samples.
void backward_large_samples(const BackwardPass& p) {
  const size_t count = p.problem.count(), row = p.problem.row;
  const SetPlan plan = plan_sets(p.problem, p.batch);
  const size_t threads = p.useful_threads(2), pieces = plan.pieces();
  const size_t grain = div_up(kGrain, std::min(plan.length, SetPlan::kPiece));
  parallel_for(threads, div_up(plan.sets * pieces, grain), [&](size_t g, size_t) {
    const size_t end = std::min(plan.sets * pieces, (g + 1) * grain);
    for (size_t i = g * grain; i < end; ++i) {
      double* sums = p.sums + 2 * i;
      sums[0] = sums[1] = 0;
      add_row_sums(p, plan.first(i / pieces, i % pieces), plan.size(i % pieces), sums);
    }
  });
  for (size_t set = 0; set < plan.sets; ++set) {
    double h = 0, hk = 0;
    for (size_t piece = 0; piece < pieces; ++piece) {
      h += p.sums[2 * (set * pieces + piece)];
      hk += p.sums[2 * (set * pieces + piece) + 1];
    }
    p.mean_h[set] = h / static_cast<double>(row);
    p.mean_hk[set] = hk / static_cast<double>(row);
  }
  constexpr size_t kWidth = 4 * kColumns;
  parallel_for(threads, div_up(count, kWidth), [&](size_t block, size_t) {
    alignas(64) float block_sums[2][kWidth];
    const size_t first = block * kWidth, n = std::min(kWidth, count - first);
    Collector collector = {.kernels = p.kernels,
                           .block_beta = block_sums[0],
                           .block_gamma = block_sums[1],
                           .beta = p.affine_sums + first,
                           .gamma = p.affine_sums + count + first,
                           .n = n};
    collector.clear();
    for (size_t sample = 0; sample < p.batch; ++sample) {
      for (size_t at = first; at < first + n;) {
        const size_t stretch = std::min(first + n, (at / row + 1) * row) - at;
        const size_t set = (sample * count + at) / row;
        RowCoefficients c;
        c.set(0, p.inverse[set], p.mean_h[set], p.mean_hk[set]);
        finish_stretch(p, sample * count + at, stretch, c, 1, collector, at - first);
        at += stretch;
      }
      collector.end_samples(1);
    }
    collector.flush();
  });
}

}  // namespace bnns::impl::normalization
