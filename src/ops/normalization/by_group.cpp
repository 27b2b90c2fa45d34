// Passes over groups. A group is read for its statistics or sums and then mapped, while a small one
// is still in the cache. Moments and sums of pieces are joined in order whether or not threads
// share a group, so that the bits do not depend on it.
#include "ops/normalization/passes.h"

namespace bnns::impl::normalization {
namespace {

// Calls body(first group, end group) for grains of at least `elements` elements.
template <class Body>
void for_grains(const GroupPlan& plan, size_t threads, size_t elements, const Body& body) {
  const size_t grain = div_up(elements, plan.group_size());
  parallel_for(threads, div_up(plan.groups, grain),
               [&](size_t g, size_t) { body(g * grain, std::min(plan.groups, (g + 1) * grain)); });
}

// The same for several small groups at a time: the latency of the horizontal sums, divisions and
// roots of one group overlaps with the reading of another.
template <class Body>
void for_groups(const GroupPlan& plan, size_t threads, const Body& body) {
  constexpr size_t kTogether = 2048;
  const size_t most = std::max<size_t>(1, kTogether / plan.group_size());
  for_grains(plan, threads, kGrain, [&](size_t first, size_t end) {
    for (size_t group = first; group < end; group += most) body(group, std::min(end, group + most));
  });
}

// Calls body(group, piece) for all pieces of all groups.
template <class Body>
void for_pieces(const GroupPlan& plan, size_t threads, const Body& body) {
  const size_t pieces = plan.pieces(), all = plan.groups * pieces;
  const size_t grain = div_up(kGrain, std::min(plan.length, GroupPlan::kPiece));
  parallel_for(threads, div_up(all, grain), [&](size_t g, size_t) {
    const size_t end = std::min(all, (g + 1) * grain);
    for (size_t i = g * grain; i < end; ++i) body(i / pieces, i % pieces);
  });
}

Moments piece_moments(const ForwardPass& p, const GroupPlan& plan, size_t group, size_t piece) {
  const ptrdiff_t next = p.x.contiguous ? plan.next(group, piece) : 0;
  Moments moments;
  over(p.convert, p.x, plan.first(group, piece), plan.size(piece),
       [&](std::array<float*, 1> rows, size_t n, size_t) {
         moments.join(p.kernels.moments(rows[0], n, next));
       });
  return moments;
}

Moments group_moments(const ForwardPass& p, const GroupPlan& plan, size_t group) {
  Moments moments;
  for (size_t i = 0; i < plan.pieces(); ++i) moments.join(piece_moments(p, plan, group, i));
  return moments;
}

// The same for groups whose pieces are shared by threads; calls finish(group, moments).
template <class Finish>
void split_moments(const ForwardPass& p, const GroupPlan& plan, size_t threads,
                   const Finish& finish) {
  const size_t pieces = plan.pieces();
  for_pieces(plan, threads, [&](size_t group, size_t piece) {
    p.moments[group * pieces + piece] = piece_moments(p, plan, group, piece);
  });
  for (size_t group = 0; group < plan.groups; ++group) {
    Moments moments;
    for (size_t i = 0; i < pieces; ++i) moments.join(p.moments[group * pieces + i]);
    finish(group, moments);
  }
}

void finish_group(const ForwardPass& p, size_t group, const Moments& moments) {
  p.mean[group] = same_nan(moments.mean);
  p.variance[group] = same_nan(moments.squares / moments.count);
  p.inverse[group] = inverse_deviation(p.variance[group], p.problem.epsilon);
}

void normalize_piece(const ForwardPass& p, const GroupPlan& plan, size_t group, size_t piece) {
  const NormalizationProblem& problem = p.problem;
  const GroupCoefficients c(p.mean[group], p.inverse[group]);
  const size_t first = plan.first(group, piece);
  const bool each = by_element(problem);
  const ptrdiff_t next = p.xy.contiguous ? plan.next(group, piece) : 0;
  const size_t at = each ? first % problem.count() : first / problem.plane() % problem.channels;
  normalize_stretch(p, each ? kAffine : kNone, first, plan.size(piece),
                    [&](NormalizeRow& row, size_t offset) {
                      row.next = next;
                      row.mean = &c.mean;
                      row.inverse = &c.inverse;
                      row.low = &c.low;
                      row.gamma = p.gamma + at + (each ? offset : 0);
                      row.beta = p.beta + at + (each ? offset : 0);
                    });
}

// Groups that are rows of contiguous tensors take one kernel call for many.
void normalize_rows(const ForwardPass& p, const GroupPlan& plan, size_t group, size_t end) {
  const size_t first = group * plan.length;
  p.kernels.normalize_groups[p.rectifies()](
      {.x = static_cast<const float*>(p.xy.list[0].view.data) + first,
       .y = static_cast<float*>(p.xy.list[1].view.data) + first,
       .normalized = p.normalized == nullptr ? nullptr : p.normalized + first,
       .n = plan.length,
       .rows = end - group,
       .gamma = p.gamma,
       .beta = p.beta,
       .at = first % p.problem.count(),
       .count = p.problem.count(),
       .epsilon = p.problem.epsilon,
       .mean = p.mean + group,
       .variance = p.variance + group,
       .inverse = p.inverse + group});
}

// ---- Gradients with one gamma per stretch ----

// Whether the pass that sums stores g in dx, so that the map need not compute it from dy and y
// again.
bool stores_relu_g(const BackwardPass& p) {
  return p.rectifies() && p.wants_dx && !p.accumulate && p.dy_y_dx.contiguous;
}

void piece_sums(const BackwardPass& p, const GroupPlan& plan, size_t group, size_t piece) {
  double* sums = p.sums + 2 * (group * plan.pieces() + piece);
  sums[0] = sums[1] = 0;
  const ptrdiff_t next = p.dy_y.contiguous ? plan.next(group, piece) : 0;
  const auto kernel = p.kernels.sums[p.rectifies()];
  const auto add = [&](GradientRow row, float* g_out, size_t) {
    row.next = next;
    kernel(row, g_out, sums);
  };
  const size_t first = plan.first(group, piece), n = plan.size(piece);
  stores_relu_g(p) ? for_gradient<true>(p, first, n, add) : for_gradient<false>(p, first, n, add);
}

size_t channel_of(const BackwardPass& p, const GroupPlan& plan, size_t group, size_t piece) {
  return plan.first(group, piece) / p.problem.plane() % p.problem.channels;
}

void finish_sums(const BackwardPass& p, const GroupPlan& plan, size_t group) {
  double h = 0, hk = 0;
  for (size_t piece = 0; piece < plan.pieces(); ++piece) {
    const double* sums = p.sums + 2 * (group * plan.pieces() + piece);
    const double gamma = double{p.gamma[channel_of(p, plan, group, piece)]};
    h += gamma * sums[0];
    hk += gamma * sums[1];
  }
  p.mean_h[group] = same_nan(h / static_cast<double>(plan.group_size()));
  p.mean_hk[group] = same_nan(hk / static_cast<double>(plan.group_size()));
}

void map_piece(const BackwardPass& p, const GroupPlan& plan, size_t group, size_t piece) {
  const double r = p.inverse[group];
  const float factor = p.gamma[channel_of(p, plan, group, piece)];
  const auto scale = static_cast<float>(r);
  const float k_factor = same_nan(static_cast<float>(-r * p.mean_hk[group]));
  const float shift = same_nan(static_cast<float>(-r * p.mean_h[group]));
  const bool g_is_stored = stores_relu_g(p);
  const ptrdiff_t next = p.dy_y_dx.contiguous && !g_is_stored ? plan.next(group, piece) : 0;
  const auto kernel = p.kernels.map[kNone][p.rectifies() && !g_is_stored][p.accumulate];
  for_gradient<true>(
      p, plan.first(group, piece), plan.size(piece), [&](GradientRow row, float* dx, size_t) {
        row.next = next;
        if (g_is_stored) row.dy = dx;
        kernel(
            row,
            {.dx = dx, .scale = &scale, .factor = &factor, .k_factor = &k_factor, .shift = &shift});
      });
}

void join_channels(const BackwardPass& p, const GroupPlan& plan) {
  const size_t channels = p.problem.channels;
  std::fill_n(p.affine_sums, 2 * channels, 0.0);
  for (size_t group = 0; group < plan.groups; ++group) {
    for (size_t piece = 0; piece < plan.pieces(); ++piece) {
      const double* sums = p.sums + 2 * (group * plan.pieces() + piece);
      const size_t channel = channel_of(p, plan, group, piece);
      p.affine_sums[channel] += sums[0];
      p.affine_sums[channels + channel] += sums[1];
    }
  }
}

}  // namespace

GroupPlan plan_groups(const NormalizationProblem& p, size_t batch) {
  const size_t count = p.count(), plane = p.plane();
  if (p.kind == NormalizationKind::kBatch) {
    return {.groups = p.channels,
            .segments = batch,
            .length = plane,
            .group_step = plane,
            .segment_step = count};
  }
  const size_t length = by_element(p) ? p.row : plane;
  return {.groups = batch * (count / p.row),
          .segments = p.row / length,
          .length = length,
          .group_step = p.row,
          .segment_step = length};
}

void statistics_by_group(const ForwardPass& p, Moments* to) {
  const GroupPlan plan = plan_groups(p.problem, p.batch);
  const size_t threads = p.useful_threads(1);
  const auto store = [&](size_t group, const Moments& moments) { to[group] = moments; };
  if (splits(plan, threads)) return split_moments(p, plan, threads, store);
  for_groups(plan, threads, [&](size_t first, size_t end) {
    for (size_t group = first; group < end; ++group) store(group, group_moments(p, plan, group));
  });
}

void forward_by_group(const ForwardPass& p) {
  const GroupPlan plan = plan_groups(p.problem, p.batch);
  const size_t threads = p.useful_threads(2), pieces = plan.pieces();
  if (by_element(p.problem) && pieces == 1 && p.xy.contiguous && !p.known &&
      !p.has_other_activation()) {
    return for_grains(plan, threads, 4 * kGrain,
                      [&](size_t first, size_t end) { normalize_rows(p, plan, first, end); });
  }
  if (!splits(plan, threads)) {
    return for_groups(plan, threads, [&](size_t first, size_t end) {
      for (size_t group = first; group < end && !p.known; ++group) {
        finish_group(p, group, group_moments(p, plan, group));
      }
      for (size_t group = first; group < end; ++group) {
        for (size_t i = 0; i < pieces; ++i) normalize_piece(p, plan, group, i);
      }
    });
  }
  if (!p.known) {
    split_moments(p, plan, threads,
                  [&](size_t group, const Moments& moments) { finish_group(p, group, moments); });
  }
  for_pieces(plan, threads,
             [&](size_t group, size_t piece) { normalize_piece(p, plan, group, piece); });
}

void backward_by_group(const BackwardPass& p) {
  const GroupPlan plan = plan_groups(p.problem, p.batch);
  const size_t threads = p.useful_threads(2), pieces = plan.pieces();
  if (splits(plan, threads)) {
    for_pieces(plan, threads,
               [&](size_t group, size_t piece) { piece_sums(p, plan, group, piece); });
    for (size_t group = 0; group < plan.groups; ++group) finish_sums(p, plan, group);
    if (p.wants_dx) {
      for_pieces(plan, threads,
                 [&](size_t group, size_t piece) { map_piece(p, plan, group, piece); });
    }
  } else {
    for_groups(plan, threads, [&](size_t first, size_t end) {
      for (size_t group = first; group < end; ++group) {
        for (size_t i = 0; i < pieces; ++i) piece_sums(p, plan, group, i);
        finish_sums(p, plan, group);
      }
      for (size_t group = first; group < end && p.wants_dx; ++group) {
        for (size_t i = 0; i < pieces; ++i) map_piece(p, plan, group, i);
      }
    });
  }
  if (p.wants_affine) join_channels(p, plan);
}

}  // namespace bnns::impl::normalization
