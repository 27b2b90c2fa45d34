// Passes over sets. A set is read for its statistics or sums, then, still in the cache if it is
// small, mapped. Pieces are joined in order either way, so that splitting a set between threads
// leaves the bits alone.
#include "ops/normalization/passes.h"

namespace bnns::impl::normalization {
namespace {

// body(set, end) for the sets of a grain of at least so many elements.
template <class Body>
void for_grains(const SetPlan& plan, size_t threads, size_t elements, const Body& body) {
  const size_t grain = div_up(elements, plan.set_size());
  parallel_for(threads, div_up(plan.sets, grain),
               [&](size_t g, size_t) { body(g * grain, std::min(plan.sets, (g + 1) * grain)); });
}

// The same for some small ones at a time: what the statistics of one wait for is done while another
// is read.
template <class Body>
void for_sets(const SetPlan& plan, size_t threads, const Body& body) {
  constexpr size_t kTogether = 2048;
  const size_t most = std::max<size_t>(1, kTogether / plan.set_size());
  for_grains(plan, threads, kGrain, [&](size_t first, size_t end) {
    for (size_t set = first; set < end; set += most) body(set, std::min(end, set + most));
  });
}

// body(set, piece) for all pieces of all sets.
template <class Body>
void for_pieces(const SetPlan& plan, size_t threads, const Body& body) {
  const size_t pieces = plan.pieces(), all = plan.sets * pieces;
  const size_t grain = div_up(kGrain, std::min(plan.length, SetPlan::kPiece));
  parallel_for(threads, div_up(all, grain), [&](size_t g, size_t) {
    const size_t end = std::min(all, (g + 1) * grain);
    for (size_t i = g * grain; i < end; ++i) body(i / pieces, i % pieces);
  });
}

Moments piece_moments(const ForwardPass& p, const SetPlan& plan, size_t set, size_t piece) {
  const ptrdiff_t next = p.x.lines ? plan.next(set, piece) : 0;
  Moments moments;
  over(p.convert, p.x, plan.first(set, piece), plan.size(piece),
       [&](std::array<float*, 1> rows, size_t n, size_t) {
         moments.join(p.kernels.moments(rows[0], n, next));
       });
  return moments;
}

void finish_set(const ForwardPass& p, size_t set, const Moments& moments) {
  p.mean[set] = moments.mean;
  p.variance[set] = moments.squares / moments.count;
  p.inverse[set] = inverse_deviation(p.variance[set], p.problem.epsilon);
}

void normalize_piece(const ForwardPass& p, const SetPlan& plan, size_t set, size_t piece) {
  const NormalizationProblem& problem = p.problem;
  const SetCoefficients c(p.mean[set], p.inverse[set]);
  const size_t first = plan.first(set, piece);
  const bool each = by_element(problem);
  const ptrdiff_t next = p.xy.lines ? plan.next(set, piece) : 0;
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

// Sets that are rows of contiguous tensors.
void normalize_rows(const ForwardPass& p, const SetPlan& plan, size_t set, size_t end) {
  const size_t first = set * plan.length;
  p.kernels.normalize_sets[p.rectifies()](
      {.x = static_cast<const float*>(p.xy.list[0].view.data) + first,
       .y = static_cast<float*>(p.xy.list[1].view.data) + first,
       .kept = p.kept == nullptr ? nullptr : p.kept + first,
       .n = plan.length,
       .rows = end - set,
       .gamma = p.gamma,
       .beta = p.beta,
       .at = first % p.problem.count(),
       .count = p.problem.count(),
       .epsilon = p.problem.epsilon,
       .mean = p.mean + set,
       .variance = p.variance + set,
       .inverse = p.inverse + set});
}

// ---- Gradients with one gamma per stretch ----

// Whether the sums leave g in dx, so that the map need not make it of dy and y again.
bool leaves_slope(const BackwardPass& p) {
  return p.rectifies() && p.wants_dx && !p.accumulate && p.map.lines;
}

void piece_sums(const BackwardPass& p, const SetPlan& plan, size_t set, size_t piece) {
  double* sums = p.sums + 2 * (set * plan.pieces() + piece);
  sums[0] = sums[1] = 0;
  const ptrdiff_t next = p.slope.lines ? plan.next(set, piece) : 0;
  const auto kernel = p.kernels.sums[p.rectifies()];
  const auto add = [&](GradientRow row, float* slope, size_t) {
    row.next = next;
    kernel(row, slope, sums);
  };
  const size_t first = plan.first(set, piece), n = plan.size(piece);
  leaves_slope(p) ? for_gradient<true>(p, first, n, add) : for_gradient<false>(p, first, n, add);
}

size_t channel_of(const BackwardPass& p, const SetPlan& plan, size_t set, size_t piece) {
  return plan.first(set, piece) / p.problem.plane() % p.problem.channels;
}

void finish_sums(const BackwardPass& p, const SetPlan& plan, size_t set) {
  double h = 0, hk = 0;
  for (size_t piece = 0; piece < plan.pieces(); ++piece) {
    const double* sums = p.sums + 2 * (set * plan.pieces() + piece);
    const double gamma = double{p.gamma[channel_of(p, plan, set, piece)]};
    h += gamma * sums[0];
    hk += gamma * sums[1];
  }
  p.mean_h[set] = h / static_cast<double>(plan.set_size());
  p.mean_hk[set] = hk / static_cast<double>(plan.set_size());
}

void map_piece(const BackwardPass& p, const SetPlan& plan, size_t set, size_t piece) {
  const double r = p.inverse[set];
  const float factor = p.gamma[channel_of(p, plan, set, piece)];
  const auto scale = static_cast<float>(r), slope = static_cast<float>(-r * p.mean_hk[set]);
  const auto shift = static_cast<float>(-r * p.mean_h[set]);
  const bool has_slope = leaves_slope(p);
  const ptrdiff_t next = p.map.lines && !has_slope ? plan.next(set, piece) : 0;
  const auto kernel = p.kernels.map[kNone][p.rectifies() && !has_slope][p.accumulate];
  for_gradient<true>(
      p, plan.first(set, piece), plan.size(piece), [&](GradientRow row, float* dx, size_t) {
        row.next = next;
        if (has_slope) row.dy = dx;
        kernel(row,
               {.dx = dx, .scale = &scale, .factor = &factor, .slope = &slope, .shift = &shift});
      });
}

void join_channels(const BackwardPass& p, const SetPlan& plan) {
  const size_t channels = p.problem.channels;
  std::fill_n(p.affine_sums, 2 * channels, 0.0);
  for (size_t set = 0; set < plan.sets; ++set) {
    for (size_t piece = 0; piece < plan.pieces(); ++piece) {
      const double* sums = p.sums + 2 * (set * plan.pieces() + piece);
      const size_t channel = channel_of(p, plan, set, piece);
      p.affine_sums[channel] += sums[0];
      p.affine_sums[channels + channel] += sums[1];
    }
  }
}

}  // namespace

SetPlan plan_sets(const NormalizationProblem& p, size_t batch) {
  const size_t count = p.count(), plane = p.plane();
  if (p.kind == NormalizationKind::kBatch) {
    return {.sets = p.channels,
            .segments = batch,
            .length = plane,
            .set_step = plane,
            .segment_step = count};
  }
  const size_t length = by_element(p) ? p.row : plane;
  return {.sets = batch * (count / p.row),
          .segments = p.row / length,
          .length = length,
          .set_step = p.row,
          .segment_step = length};
}

void forward_sets(const ForwardPass& p) {
  const SetPlan plan = plan_sets(p.problem, p.batch);
  const size_t threads = p.useful_threads(2), pieces = plan.pieces();
  if (by_element(p.problem) && pieces == 1 && p.xy.lines && !p.known && !p.has_other_activation()) {
    return for_grains(plan, threads, 4 * kGrain,
                      [&](size_t first, size_t end) { normalize_rows(p, plan, first, end); });
  }
  if (!splits(plan, threads)) {
    return for_sets(plan, threads, [&](size_t first, size_t end) {
      for (size_t set = first; set < end && !p.known; ++set) {
        Moments moments;
        for (size_t i = 0; i < pieces; ++i) moments.join(piece_moments(p, plan, set, i));
        finish_set(p, set, moments);
      }
      for (size_t set = first; set < end; ++set) {
        for (size_t i = 0; i < pieces; ++i) normalize_piece(p, plan, set, i);
      }
    });
  }
  if (!p.known) {
    for_pieces(plan, threads, [&](size_t set, size_t piece) {
      p.moments[set * pieces + piece] = piece_moments(p, plan, set, piece);
    });
    for (size_t set = 0; set < plan.sets; ++set) {
      Moments moments;
      for (size_t i = 0; i < pieces; ++i) moments.join(p.moments[set * pieces + i]);
      finish_set(p, set, moments);
    }
  }
  for_pieces(plan, threads,
             [&](size_t set, size_t piece) { normalize_piece(p, plan, set, piece); });
}

void backward_sets(const BackwardPass& p) {
  const SetPlan plan = plan_sets(p.problem, p.batch);
  const size_t threads = p.useful_threads(2), pieces = plan.pieces();
  if (splits(plan, threads)) {
    for_pieces(plan, threads, [&](size_t set, size_t piece) { piece_sums(p, plan, set, piece); });
    for (size_t set = 0; set < plan.sets; ++set) finish_sums(p, plan, set);
    if (p.wants_dx) {
      for_pieces(plan, threads, [&](size_t set, size_t piece) { map_piece(p, plan, set, piece); });
    }
  } else {
    for_sets(plan, threads, [&](size_t first, size_t end) {
      for (size_t set = first; set < end; ++set) {
        for (size_t i = 0; i < pieces; ++i) piece_sums(p, plan, set, i);
        finish_sums(p, plan, set);
      }
      for (size_t set = first; set < end && p.wants_dx; ++set) {
        for (size_t i = 0; i < pieces; ++i) map_piece(p, plan, set, i);
      }
    });
  }
  if (p.wants_affine) join_channels(p, plan);
}

}  // namespace bnns::impl::normalization
