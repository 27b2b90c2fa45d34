// Gradients where gamma differs by element. Groups are rows of a sample; dbeta and dgamma have a
// value per element of a sample. Sums over samples are float over kFlush samples, then double.
#include "ops/normalization/passes.h"

namespace bnns::impl::normalization {
namespace {

// Collects sums in float and adds them to double sums every kFlush samples.
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
  void end_sample() {
    if (++samples % kFlush == 0) flush();
  }
  void flush() {
    kernels.flush(block_beta, beta, n);
    kernels.flush(block_gamma, gamma, n);
  }
};

// The coefficients of GradientMap that belong to a row.
struct RowCoefficients {
  float scale, k_factor, shift;

  RowCoefficients(double r, double mean_h, double mean_hk)
      : scale(static_cast<float>(r)),
        k_factor(static_cast<float>(-r * mean_hk)),
        shift(static_cast<float>(-r * mean_h)) {}
};

// Sums for the gradients of beta and gamma; NULL if they are not wanted.
struct AffineSums {
  float *beta, *gamma;
};

// Adds the sums of h and h k over elements [first, first + n), which lie in one row, to sums[0] and
// sums[1].
void add_row_sums(const BackwardPass& p, size_t first, size_t n, double* sums) {
  const float* gamma = p.gamma + first % p.problem.count();
  for_gradient<false>(p, first, n, [&](const GradientRow& row, float*, size_t offset) {
    p.kernels.weighted_sums[p.rectifies()](row, gamma + offset, sums);
  });
}

// Computes dx of elements [first, first + n) of one row and adds to the sums of beta and gamma.
void finish_stretch(const BackwardPass& p, size_t first, size_t n, const RowCoefficients& c,
                    const AffineSums& sums) {
  const float* gamma = p.gamma + first % p.problem.count();
  const auto map = p.kernels.map[kAffine][p.rectifies()][p.accumulate];
  const auto collect = p.kernels.collect[p.rectifies()];
  const auto finish = [&](const GradientRow& row, float* dx, size_t offset) {
    float* beta_sum = p.wants_affine ? sums.beta + offset : nullptr;
    float* gamma_sum = p.wants_affine ? sums.gamma + offset : nullptr;
    if (dx == nullptr) return collect(row, beta_sum, gamma_sum);
    map(row, {.dx = dx,
              .scale = &c.scale,
              .factor = gamma + offset,
              .k_factor = &c.k_factor,
              .shift = &c.shift,
              .beta_sum = beta_sum,
              .gamma_sum = gamma_sum});
  };
  p.wants_dx ? for_gradient<true>(p, first, n, finish) : for_gradient<false>(p, first, n, finish);
}

// Computes dx of all rows in [sample, sample + samples) and adds to `sums`.
void finish_samples(const BackwardPass& p, size_t sample, size_t samples, const AffineSums& sums) {
  const size_t count = p.problem.count(), row = p.problem.row;
  const double share = 1 / static_cast<double>(row);
  for (size_t k = sample; k < sample + samples; ++k) {
    for (size_t at = 0; at < count; at += row) {
      const size_t first = k * count + at;
      double h[2] = {};
      add_row_sums(p, first, row, h);
      const RowCoefficients c(p.inverse[first / row], h[0] * share, h[1] * share);
      finish_stretch(p, first, row, c, {.beta = sums.beta + at, .gamma = sums.gamma + at});
    }
  }
}

// The same for contiguous tensors: one kernel call for all rows that share their gamma.
void finish_contiguous(const BackwardPass& p, size_t sample, size_t samples,
                       const AffineSums& sums) {
  const size_t count = p.problem.count(), row = p.problem.row;
  const auto data = [&](size_t operand) {
    return static_cast<float*>(p.dy_y_dx.list[operand].view.data) + sample * count;
  };
  for (size_t at = 0; at < count; at += row) {
    p.kernels.map_groups[p.rectifies()][p.accumulate](
        {.normalized = p.normalized + sample * count + at,
         .dy = data(0) + at,
         .y = data(1) + at,
         .dx = data(2) + at,
         .n = row,
         .rows = samples,
         .step = count,
         .gamma = p.gamma + at,
         .inverse = p.inverse + (sample * count + at) / row,
         .inverse_step = count / row,
         .beta_sum = p.wants_affine ? sums.beta + at : nullptr,
         .gamma_sum = p.wants_affine ? sums.gamma + at : nullptr});
  }
}

}  // namespace

void backward_by_sample(const BackwardPass& p) {
  const size_t count = p.problem.count(), threads = p.useful_threads(2);
  const SamplePlan plan = plan_samples(p.batch, count);
  const bool contiguous = p.wants_dx && p.dy_y_dx.contiguous && !p.has_other_activation();
  parallel_for(threads, div_up(p.batch, plan.grain), [&](size_t g, size_t) {
    const size_t end = std::min(p.batch, (g + 1) * plan.grain);
    for (size_t sample = g * plan.grain; sample < end; sample += kFlush) {
      float* beta = p.block_sums + sample / kFlush * plan.step;
      const AffineSums sums = {.beta = beta, .gamma = beta + plan.apart};
      if (p.wants_affine) {
        std::fill_n(sums.beta, count, 0.0f);
        std::fill_n(sums.gamma, count, 0.0f);
      }
      const auto finish = contiguous ? finish_contiguous : finish_samples;
      finish(p, sample, std::min(kFlush, end - sample), sums);
    }
  });
  if (!p.wants_affine) return;
  const double work = static_cast<double>(2 * plan.blocks * count);
  parallel_for(
      useful_threads(threads, work), div_up(count, kColumnBlock), [&](size_t block, size_t) {
        const size_t first = block * kColumnBlock, n = std::min(kColumnBlock, count - first);
        for (size_t k = 0; k < 2; ++k)
          p.kernels.join(p.block_sums + k * plan.apart + first, plan.blocks, plan.step,
                         p.affine_sums + k * count + first, n);
      });
}

// First computes the sums of all rows, by pieces. Then each grain maps a block of columns in all
// samples.
void backward_by_large_sample(const BackwardPass& p) {
  const size_t count = p.problem.count(), row = p.problem.row;
  const GroupPlan plan = plan_groups(p.problem, p.batch);
  const size_t threads = p.useful_threads(2), pieces = plan.pieces();
  const size_t grain = div_up(kGrain, std::min(plan.length, GroupPlan::kPiece));
  parallel_for(threads, div_up(plan.groups * pieces, grain), [&](size_t g, size_t) {
    const size_t end = std::min(plan.groups * pieces, (g + 1) * grain);
    for (size_t i = g * grain; i < end; ++i) {
      double* sums = p.sums + 2 * i;
      sums[0] = sums[1] = 0;
      add_row_sums(p, plan.first(i / pieces, i % pieces), plan.size(i % pieces), sums);
    }
  });
  for (size_t group = 0; group < plan.groups; ++group) {
    double h = 0, hk = 0;
    for (size_t piece = 0; piece < pieces; ++piece) {
      h += p.sums[2 * (group * pieces + piece)];
      hk += p.sums[2 * (group * pieces + piece) + 1];
    }
    p.mean_h[group] = h / static_cast<double>(row);
    p.mean_hk[group] = hk / static_cast<double>(row);
  }
  constexpr size_t kWidth = 4 * kColumnBlock;
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
        const size_t group = (sample * count + at) / row;
        const RowCoefficients c(p.inverse[group], p.mean_h[group], p.mean_hk[group]);
        finish_stretch(
            p, sample * count + at, stretch, c,
            {.beta = block_sums[0] + (at - first), .gamma = block_sums[1] + (at - first)});
        at += stretch;
      }
      collector.end_sample();
    }
    collector.flush();
  });
}

}  // namespace bnns::impl::normalization
