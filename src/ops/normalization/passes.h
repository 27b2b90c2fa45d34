// The loops behind NormalizationOp. Three ways through a batch:
//   sets     stretches with one gamma each (planes), or whole rows of layer normalization
//   samples  gradients of layer normalization: gamma differs by element
//   columns  batch normalization of small planes: element j of all samples is a column
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>

#include "core/checked.h"
#include "core/parallel.h"
#include "ops/convert/blocks.h"
#include "ops/normalization/normalization.h"

namespace bnns::impl::normalization {

// Planes below this are done by columns in batch normalization, and elsewhere with a gamma per
// element: a call per plane would cost more than its work.
constexpr size_t kSmallPlane = 80, kSmallPlaneOfSample = 32;
// Samples up to this size have their gradients of gamma and beta summed sample by sample in the
// cache; larger ones column by column.
constexpr size_t kSmallSample = 4096;
// Float sums over samples are moved into double sums after so many.
constexpr size_t kFlush = 32;
// Elements of a grain at least.
constexpr size_t kGrain = 8192;
constexpr double kNanoseconds = 0.4;  // an element of one pass
// Columns of a block, and parts of the batch at most, in sums over columns.
constexpr size_t kColumns = 256;
constexpr size_t kMaxParts = 16;

inline bool by_column(const NormalizationProblem& p) {
  return p.kind == NormalizationKind::kBatch && p.plane() < kSmallPlane;
}
// Whether gamma and beta are kept as one number per element of a sample, not per channel.
inline bool by_element(const NormalizationProblem& p) {
  if (p.kind == NormalizationKind::kBatch) return by_column(p);
  return p.kind == NormalizationKind::kLayer || p.plane() < kSmallPlaneOfSample;
}

// Set s is `segments` stretches of `length` elements: the first at s * set_step, the others
// segment_step apart. Long stretches are cut into pieces.
struct SetPlan {
  static constexpr size_t kPiece = 32768;

  size_t sets, segments, length, set_step, segment_step;
  size_t cuts = div_up(length, kPiece);  // pieces of a stretch

  size_t pieces() const { return segments * cuts; }  // of one set
  size_t set_size() const { return segments * length; }
  size_t first(size_t set, size_t piece) const {
    // Divisions are a good part of the time of a short row.
    if (cuts == 1) return set * set_step + piece * segment_step;
    return set * set_step + piece / cuts * segment_step + piece % cuts * kPiece;
  }
  // From a piece to the one behind; 0 behind the last and where they are neighbours.
  ptrdiff_t next(size_t set, size_t piece) const {
    if (segments == 1 || segment_step == length) return 0;
    const bool last = piece + 1 == pieces();
    if (last && set + 1 == sets) return 0;
    return static_cast<ptrdiff_t>(last ? first(set + 1, 0) : first(set, piece + 1)) -
           static_cast<ptrdiff_t>(first(set, piece));
  }
  size_t size(size_t piece) const {
    return cuts == 1 ? length : std::min(kPiece, length - piece % cuts * kPiece);
  }
};
SetPlan plan_sets(const NormalizationProblem& problem, size_t batch);

// Whether threads share the pieces of a set: only where there are too few sets for all of them.
inline bool splits(const SetPlan& plan, size_t threads) {
  return threads > 1 && plan.sets < 2 * threads && plan.pieces() > 1;
}

// Pieces of all sets where they are split, for this batch or any smaller one.
inline size_t most_split_pieces(const SetPlan& plan, size_t threads) {
  const bool possible = threads > 1 && plan.pieces() > 1;
  return possible ? std::min(plan.sets, 2 * threads - 1) * plan.pieces() : 0;
}

// Parts of the batch in sums over columns.
struct PartPlan {
  size_t rows, parts;
};
inline PartPlan plan_parts(size_t batch) {
  const size_t rows = std::max(kColumns, div_up(batch, kMaxParts));
  return {.rows = rows, .parts = div_up(batch, rows)};
}

// Gradients of gamma and beta where samples are small: a float sum of each element over kFlush
// samples. Those of beta lie `apart` from those of gamma, the next ones `step` behind.
struct SamplePlan {
  size_t grain;  // samples
  size_t blocks, apart, step;
};
inline SamplePlan plan_samples(size_t batch, size_t count) {
  return {.grain = div_up(div_up(kGrain, count), kFlush) * kFlush,
          .blocks = div_up(batch, kFlush),
          .apart = count,
          .step = 2 * count};
}

struct Pass {
  const NormalizationProblem& problem;
  const NormalizationKernels& kernels;
  const ConvertKernels& convert;
  size_t threads, batch;
  const float *gamma, *beta;  // by element or channel
  double* inverse;            // r by set

  const FusedActivation& activation() const { return problem.activation; }
  bool rectifies() const { return activation().is_rectifier(); }
  // Activations other than identity and ReLU run as a separate pass.
  bool has_other_activation() const { return !rectifies() && !activation().is_identity(); }
  size_t useful_threads(size_t passes) const {
    const double each = kNanoseconds * static_cast<double>(passes) +
                        (has_other_activation() ? activation().nanoseconds() : 0);
    return impl::useful_threads(threads, each * static_cast<double>(batch * problem.count()));
  }
};

// Tensors that are walked through together.
template <size_t N>
struct Operands {
  std::array<Operand, N> list;
  bool lines = true;  // all contiguous Float32

  explicit Operands(const std::array<Operand, N>& operands) : list(operands) {
    for (const Operand& o : list)
      lines &= o.view.is_float() && o.view.rank == 1 && o.view.stride[0] == 1;
  }
};

struct ForwardPass : Pass {
  Operands<1> x;
  Operands<2> xy;
  float* kept;              // NULL outside training
  bool known;               // mean and variance are those of the client
  double *mean, *variance;  // by set
  Moments* moments;
  float* columns;
};

struct BackwardPass : Pass {
  Operands<2> slope;  // dy and y; y is dy for the identity
  Operands<3> map;    // dy, y and dx
  bool wants_dx, wants_affine, accumulate;
  const float* kept;
  double* sums;
  double* affine_sums;  // dbeta, then dgamma; by element or channel
  float* blocks;
  float* columns;
  double *mean_h, *mean_hk;  // by set

  // Whether the pass that sums leaves g of such an activation in dx, and the map reads it there.
  bool leaves_gradient() const {
    return has_other_activation() && wants_dx && !accumulate && map.lines;
  }
};

void forward_sets(const ForwardPass& pass);
void forward_columns(const ForwardPass& pass);
void backward_sets(const BackwardPass& pass);
void backward_samples(const BackwardPass& pass);
void backward_large_samples(const BackwardPass& pass);
void backward_columns(const BackwardPass& pass);

// ---- Stretches of a batch ----

// body(rows, n, offset) over elements [first, first + count): where they lie, or in small buffers.
template <size_t N, class Body>
void over(const ConvertKernels& convert, const Operands<N>& operands, size_t first, size_t count,
          const Body& body) {
  if (operands.lines) {
    std::array<float*, N> rows;
    for (size_t k = 0; k < N; ++k)
      rows[k] = static_cast<float*>(operands.list[k].view.data) + first;
    return body(rows, count, size_t{0});
  }
  size_t offset = 0;
  for_blocks(convert, operands.list, first, count, [&](std::array<float*, N> rows, size_t n) {
    body(rows, n, offset);
    offset += n;
  });
}

// y from elements [first, first + n) of x; set_row fills in the coefficients for an offset.
template <class SetRow>
void normalize_stretch(const ForwardPass& p, Spread spread, size_t first, size_t n,
                       const SetRow& set_row) {
  const auto kernel = p.kernels.normalize[spread][p.rectifies()];
  over(p.convert, p.xy, first, n, [&](std::array<float*, 2> rows, size_t m, size_t offset) {
    const size_t block = p.has_other_activation() ? kBlock : m;
    for (size_t i = 0; i < m; i += block) {
      NormalizeRow row = {};
      row.x = rows[0] + i;
      row.y = rows[1] + i;
      row.kept = p.kept == nullptr ? nullptr : p.kept + first + offset + i;
      row.n = std::min(block, m - i);
      set_row(row, offset + i);
      kernel(row);
      if (p.has_other_activation()) p.activation().forward(row.y, row.n);
    }
  });
}

// body(row, dx, offset) over elements [first, first + n) of a gradient; dx only if kMap. The sums
// (not kMap) of all elements of a set come before its map.
template <bool kMap, class Body>
void for_gradient(const BackwardPass& p, size_t first, size_t n, const Body& body) {
  const auto visit = [&](const float* dy, const float* y, float* dx, size_t m, size_t offset) {
    if (!p.has_other_activation()) {
      const GradientRow row = {.kept = p.kept + first + offset, .dy = dy, .y = y, .n = m};
      return body(row, dx, offset);
    }
    if (kMap && p.leaves_gradient()) {
      const GradientRow row = {.kept = p.kept + first + offset, .dy = dx, .y = dx, .n = m};
      return body(row, dx, offset);
    }
    alignas(64) float block[kBlock];
    auto* kept_gradient = static_cast<float*>(p.map.list[2].view.data);
    for (size_t i = 0; i < m; i += kBlock) {
      const size_t k = std::min(kBlock, m - i);
      float* g = !kMap && p.leaves_gradient() ? kept_gradient + first + offset + i : block;
      p.activation().multiply_by_slope(y + i, dy + i, g, k);
      const GradientRow row = {.kept = p.kept + first + offset + i, .dy = g, .y = g, .n = k};
      body(row, dx == nullptr ? nullptr : dx + i, offset + i);
    }
  };
  if constexpr (kMap) {
    over(p.convert, p.map, first, n, [&](std::array<float*, 3> rows, size_t m, size_t offset) {
      visit(rows[0], rows[1], rows[2], m, offset);
    });
  } else {
    over(p.convert, p.slope, first, n, [&](std::array<float*, 2> rows, size_t m, size_t offset) {
      visit(rows[0], rows[1], nullptr, m, offset);
    });
  }
}

}  // namespace bnns::impl::normalization
