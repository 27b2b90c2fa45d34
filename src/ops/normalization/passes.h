// The loops behind NormalizationOp. There are three ways through a batch:
//   by group   contiguous stretches with one gamma each (planes), or whole rows with a gamma per
//              element; statistics and map group after group
//   by sample  gradients where gamma differs by element (layer normalization, small planes)
//   by column  batch normalization of small planes; element j of all samples is a column
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>

#include "core/checked.h"
#include "core/parallel.h"
#include "ops/convert/blocks.h"
#include "ops/normalization/column_moments.h"
#include "ops/normalization/normalization.h"

namespace bnns::impl::normalization {

// Batch normalization goes by column where planes are smaller than kSmallPlane; the others use a
// gamma per element where planes are smaller than kSmallPlaneOfSample. A kernel call per plane
// would cost more than its work.
constexpr size_t kSmallPlane = 80, kSmallPlaneOfSample = 32;
// Gradients of gamma and beta are summed sample by sample, in the cache, where a sample is at most
// this large, else column by column.
constexpr size_t kSmallSample = 4096;
// Smallest number of elements in a grain.
constexpr size_t kGrain = 8192;
constexpr double kNanoseconds = 0.4;  // estimated time per element and pass
// Sums over columns: samples of a part of the batch at least, and number of parts at most.
constexpr size_t kMinPart = 256, kMaxParts = 16;

inline bool by_column(const NormalizationProblem& p) {
  return p.kind == NormalizationKind::kBatch && p.plane() < kSmallPlane;
}
// Whether gamma and beta are stored as one number per element of a sample instead of per channel.
inline bool by_element(const NormalizationProblem& p) {
  if (p.kind == NormalizationKind::kBatch) return by_column(p);
  return p.kind == NormalizationKind::kLayer || p.plane() < kSmallPlaneOfSample;
}

// Group s consists of `segments` stretches of `length` elements; the first starts at s *
// group_step, the others follow segment_step apart. Long stretches are cut into pieces.
struct GroupPlan {
  static constexpr size_t kPiece = 32768;

  size_t groups, segments, length, group_step, segment_step;
  size_t cuts = div_up(length, kPiece);  // pieces of a stretch

  size_t pieces() const { return segments * cuts; }  // of one group
  size_t group_size() const { return segments * length; }
  size_t first(size_t group, size_t piece) const {
    // The divisions below would be a good part of the time of a short row.
    if (cuts == 1) return group * group_step + piece * segment_step;
    return group * group_step + piece / cuts * segment_step + piece % cuts * kPiece;
  }
  // Distance from a piece to the one processed next; 0 after the last piece, and where pieces are
  // contiguous, so that no prefetch is needed.
  ptrdiff_t next(size_t group, size_t piece) const {
    if (segments == 1 || segment_step == length) return 0;
    const bool last = piece + 1 == pieces();
    if (last && group + 1 == groups) return 0;
    return static_cast<ptrdiff_t>(last ? first(group + 1, 0) : first(group, piece + 1)) -
           static_cast<ptrdiff_t>(first(group, piece));
  }
  size_t size(size_t piece) const {
    return cuts == 1 ? length : std::min(kPiece, length - piece % cuts * kPiece);
  }
};
GroupPlan plan_groups(const NormalizationProblem& problem, size_t batch);

// Whether threads share the pieces of a group: only where there are too few groups to occupy them.
inline bool splits(const GroupPlan& plan, size_t threads) {
  return threads > 1 && plan.groups < 2 * threads && plan.pieces() > 1;
}

// Largest number of pieces of all groups that are split, for this batch size or any smaller one.
inline size_t most_split_pieces(const GroupPlan& plan, size_t threads) {
  const bool possible = threads > 1 && plan.pieces() > 1;
  return possible ? std::min(plan.groups, 2 * threads - 1) * plan.pieces() : 0;
}

// How sums over columns cut the batch into parts of `rows` samples.
struct PartPlan {
  size_t rows, parts;
};
inline PartPlan plan_parts(size_t batch) {
  const size_t rows = std::max(kMinPart, div_up(batch, kMaxParts));
  return {.rows = rows, .parts = div_up(batch, rows)};
}

// Gradients of gamma and beta where samples are small: every kFlush samples have a block of float
// sums per element. The sums of gamma lie `apart` behind those of beta, the next block `step`
// behind this one.
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
  double* inverse;            // r by group

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

// Tensors that a pass reads or writes together.
template <size_t N>
struct Operands {
  std::array<Operand, N> list;
  bool contiguous = true;  // all contiguous Float32

  explicit Operands(const std::array<Operand, N>& operands) : list(operands) {
    for (const Operand& o : list)
      contiguous &= o.view.is_float() && o.view.rank == 1 && o.view.stride[0] == 1;
  }
};

struct ForwardPass : Pass {
  Operands<1> x;
  Operands<2> xy;
  float* normalized;        // NULL outside training
  bool known;               // mean and variance are the client's moving statistics
  double *mean, *variance;  // by group
  Moments* moments;
  float* column_coefficients;
};

struct BackwardPass : Pass {
  Operands<2> dy_y;     // dy and y; y is dy for the identity
  Operands<3> dy_y_dx;  // dy, y and dx
  bool wants_dx, wants_affine, accumulate;
  const float* normalized;
  double* sums;
  double* affine_sums;  // dbeta, then dgamma; by element or channel
  float* block_sums;
  float* column_coefficients;
  double *mean_h, *mean_hk;  // by group

  // Whether the pass that sums stores g = dy act'(y) in dx, from where the map reads it. Used for
  // activations that run as a separate pass.
  bool stores_activation_g() const {
    return has_other_activation() && wants_dx && !accumulate && dy_y_dx.contiguous;
  }
};

// Statistics alone: of x, into `to` by group. Of the pass, only what belongs to x is used.
void statistics_by_group(const ForwardPass& pass, Moments* to);
void statistics_by_column(const ForwardPass& pass, Moments* to);
void forward_by_group(const ForwardPass& pass);
void forward_by_column(const ForwardPass& pass);
void backward_by_group(const BackwardPass& pass);
void backward_by_sample(const BackwardPass& pass);
void backward_by_large_sample(const BackwardPass& pass);
void backward_by_column(const BackwardPass& pass);

// ---- Stretches of a batch ----

// Calls body(rows, n, offset) for elements [first, first + count): once with pointers into the
// tensors where these are contiguous floats, else block by block with converted copies.
template <size_t N, class Body>
void over(const ConvertKernels& convert, const Operands<N>& operands, size_t first, size_t count,
          const Body& body) {
  if (operands.contiguous) {
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

// Computes elements [first, first + n) of y; fill_row(row, offset) sets the coefficients.
template <class FillRow>
void normalize_stretch(const ForwardPass& p, Spread spread, size_t first, size_t n,
                       const FillRow& fill_row) {
  const auto kernel = p.kernels.normalize[spread][p.rectifies()];
  over(p.convert, p.xy, first, n, [&](std::array<float*, 2> rows, size_t m, size_t offset) {
    const size_t block = p.has_other_activation() ? kBlock : m;
    for (size_t i = 0; i < m; i += block) {
      NormalizeRow row = {};
      row.x = rows[0] + i;
      row.y = rows[1] + i;
      row.normalized = p.normalized == nullptr ? nullptr : p.normalized + first + offset + i;
      row.n = std::min(block, m - i);
      fill_row(row, offset + i);
      kernel(row);
      if (p.has_other_activation()) p.activation().forward(row.y, row.n);
    }
  });
}

// Calls body(row, dx, offset) for elements [first, first + n) of a gradient; dx is NULL unless
// kMap. A pass that sums (not kMap) must visit all elements of a group before a pass that maps
// does.
template <bool kMap, class Body>
void for_gradient(const BackwardPass& p, size_t first, size_t n, const Body& body) {
  const auto visit = [&](const float* dy, const float* y, float* dx, size_t m, size_t offset) {
    if (!p.has_other_activation()) {
      const GradientRow row = {
          .normalized = p.normalized + first + offset, .dy = dy, .y = y, .n = m};
      return body(row, dx, offset);
    }
    if (kMap && p.stores_activation_g()) {
      const GradientRow row = {
          .normalized = p.normalized + first + offset, .dy = dx, .y = dx, .n = m};
      return body(row, dx, offset);
    }
    alignas(64) float block[kBlock];
    auto* stored_g = static_cast<float*>(p.dy_y_dx.list[2].view.data);
    for (size_t i = 0; i < m; i += kBlock) {
      const size_t k = std::min(kBlock, m - i);
      float* g = !kMap && p.stores_activation_g() ? stored_g + first + offset + i : block;
      p.activation().multiply_by_slope(y + i, dy + i, g, k);
      const GradientRow row = {
          .normalized = p.normalized + first + offset + i, .dy = g, .y = g, .n = k};
      body(row, dx == nullptr ? nullptr : dx + i, offset + i);
    }
  };
  if constexpr (kMap) {
    over(p.convert, p.dy_y_dx, first, n, [&](std::array<float*, 3> rows, size_t m, size_t offset) {
      visit(rows[0], rows[1], rows[2], m, offset);
    });
  } else {
    over(p.convert, p.dy_y, first, n, [&](std::array<float*, 2> rows, size_t m, size_t offset) {
      visit(rows[0], rows[1], nullptr, m, offset);
    });
  }
}

}  // namespace bnns::impl::normalization
