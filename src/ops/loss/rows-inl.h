// Per-sample losses on rows of n elements, with s = w t (t smoothed, w the weight of an element):
//   softmax CE      l = log(sum e^z) sum s - sum s z, z = x - max    dl/dx = p sum s - s
//   categorical CE  the same over the m labels that are not 0, / m   dl/dx = w (p - [t != 0] / m)
//   cosine          l = 1 - c, c = sum w t x                         dl/dx = w (c x - t)
// p = e^z / sum e^z. A softmax row is read three times: maximum; exponentials with all sums;
// gradient. The second pass leaves e^z in the gradient's row, unless that accumulates. A label of 0
// contributes nothing to the loss even where p is 0.

#if defined(OPENBNNS_OPS_LOSS_ROWS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef OPENBNNS_OPS_LOSS_ROWS_INL_H_
#undef OPENBNNS_OPS_LOSS_ROWS_INL_H_
#else
#define OPENBNNS_OPS_LOSS_ROWS_INL_H_
#endif

#include <algorithm>
#include <limits>

#include "hwy/highway.h"

#include "math/exp-inl.h"
#include "math/log-inl.h"
#include "ops/loss/loss.h"
#include "ops/loss/tail-inl.h"

HWY_BEFORE_NAMESPACE();
namespace bnns::impl::HWY_NAMESPACE {
namespace losses {

// Elements summed in one set of lanes before they join the row's: keeps long sums accurate.
inline constexpr size_t kSumBlock = 512;

// A row without weights per element is a row of weights 1.
struct RowPointers {
  const float *x, *t, *w;
  float* g;
  bool accumulate;

  HWY_INLINE Tail::V weights(size_t i) const {
    const Tail::D d;
    return w == nullptr ? hn::Set(d, 1.0f) : hn::LoadU(d, w + i);
  }
  HWY_INLINE Tail::V weights(const Tail& tail) const {
    return w == nullptr ? hn::Set(Tail::D(), 1.0f) : tail.load(w);
  }
};

HWY_INLINE RowPointers RowOf(const LossRows& rows, size_t r) {
  return {.x = rows.x + r * rows.x_stride,
          .t = rows.t + r * rows.t_stride,
          .w = rows.weights == nullptr ? nullptr : rows.weights + r * rows.weights_stride,
          .g = rows.gradient == nullptr ? nullptr : rows.gradient + r * rows.gradient_stride,
          .accumulate = rows.accumulate};
}

// Calls f(i) for every whole vector before the tail, and f.flush() after each block of them.
template <class F, class Flush>
HWY_INLINE void ForBlocks(size_t main, const F& f, const Flush& flush) {
  const size_t lanes = hn::Lanes(Tail::D());
  for (size_t i = 0; i < main;) {
    const size_t end = std::min(main, i + kSumBlock);
    for (; i < end; i += lanes) f(i);
    flush();
  }
}

HWY_INLINE float RowMax(const float* x, const Tail& tail, Tail::V x_tail) {
  const Tail::D d;
  using V = Tail::V;
  const size_t lanes = hn::Lanes(d), main = tail.main();
  V a = tail.counted_or(x_tail, hn::Set(d, -std::numeric_limits<float>::infinity()));
  V b = a;
  size_t i = 0;
  for (; i + 2 * lanes <= main; i += 2 * lanes) {
    a = hn::Max(hn::LoadU(d, x + i), a);
    b = hn::Max(hn::LoadU(d, x + i + lanes), b);
  }
  if (i < main) a = hn::Max(hn::LoadU(d, x + i), a);
  return hn::GetLane(hn::MaxOfLanes(d, hn::Max(a, b)));
}

// What the passes of softmax-type losses take from a label, and make of the sums.
template <bool kCategorical>
struct SoftmaxLabels {
  using D = Tail::D;
  using V = Tail::V;
  V keep, added;

  explicit HWY_INLINE SoftmaxLabels(const LossParameters& p)
      : keep(hn::Set(D(), p.keep)), added(hn::Set(D(), p.added)) {}

  HWY_INLINE V weighted(V label, V w) const {
    if constexpr (kCategorical) return hn::Mul(label, w);
    return hn::Mul(hn::MulAdd(label, keep, added), w);
  }
  // factor * dl/dx from e^z; of_e is factor * (sum s or 1) / sum e^z.
  HWY_INLINE V gradient(V e, V label, V w, V of_e, V of_label) const {
    if constexpr (kCategorical) {
      const V there = hn::IfThenElseZero(hn::Ne(label, hn::Zero(D())), of_label);
      return hn::Mul(w, hn::MulSub(e, of_e, there));
    }
    return hn::MulSub(e, of_e, hn::Mul(weighted(label, w), of_label));
  }
};

struct SoftmaxSums {
  Tail::V e, s, sz, labels;
};

HWY_INLINE void AddTo(SoftmaxSums& to, SoftmaxSums& from) {
  const Tail::V zero = hn::Zero(Tail::D());
  to = {hn::Add(to.e, from.e), hn::Add(to.s, from.s), hn::Add(to.sz, from.sz),
        hn::Add(to.labels, from.labels)};
  from = {zero, zero, zero, zero};
}

template <bool kCategorical>
HWY_INLINE void AddTerm(SoftmaxSums& sums, Tail::V e, Tail::V s, Tail::V z, Tail::V label) {
  const Tail::D d;
  const Tail::V zero = hn::Zero(d);
  sums.e = hn::Add(sums.e, e);
  sums.s = hn::Add(sums.s, s);
  sums.sz = hn::MulAdd(s, hn::IfThenElseZero(hn::Ne(s, zero), z), sums.sz);
  if constexpr (kCategorical) {
    const Tail::V one = hn::Set(d, 1.0f);
    sums.labels = hn::Add(sums.labels, hn::IfThenElseZero(hn::Ne(label, zero), one));
  }
}

// Sums of a block of rows, one lane per row in the last step.
struct SoftmaxResults {
  alignas(HWY_ALIGNMENT) float e[kMaxLossRows];
  alignas(HWY_ALIGNMENT) float s[kMaxLossRows];
  alignas(HWY_ALIGNMENT) float sz[kMaxLossRows];
  alignas(HWY_ALIGNMENT) float factor[kMaxLossRows];
};

template <bool kCategorical>
HWY_INLINE void SoftmaxRow(const RowPointers& row, const Tail& tail,
                           const SoftmaxLabels<kCategorical>& labels, float weight, float scale,
                           SoftmaxResults& results, size_t r) {
  using V = Tail::V;
  const Tail::D d;
  const V zero = hn::Zero(d);
  const V x_tail = tail.load(row.x), t_tail = tail.load(row.t), w_tail = row.weights(tail);
  const V max = hn::Set(d, RowMax(row.x, tail, x_tail));

  SoftmaxSums sums = {zero, zero, zero, zero}, block = sums;
  const bool keep_e = row.g != nullptr && !row.accumulate;
  ForBlocks(
      tail.main(),
      [&](size_t i) HWY_ATTR {
        const V z = hn::Sub(hn::LoadU(d, row.x + i), max);
        const V e = ExpNonPositive(d, z), label = hn::LoadU(d, row.t + i);
        AddTerm<kCategorical>(block, e, labels.weighted(label, row.weights(i)), z, label);
        if (keep_e) hn::StoreU(e, d, row.g + i);
      },
      [&]() HWY_ATTR { AddTo(sums, block); });
  const V z_tail = hn::Sub(x_tail, max);
  const V e_tail = ExpNonPositive(d, z_tail);
  AddTerm<kCategorical>(sums, tail.counted(e_tail), tail.counted(labels.weighted(t_tail, w_tail)),
                        z_tail, tail.counted(t_tail));

  const float sum_e = hn::GetLane(hn::SumOfLanes(d, sums.e));
  const float sum_s = hn::GetLane(hn::SumOfLanes(d, sums.s));
  results.e[r] = sum_e;
  results.s[r] = sum_s;
  results.sz[r] = hn::GetLane(hn::SumOfLanes(d, sums.sz));
  float of_e = sum_s, of_label = weight * scale;
  results.factor[r] = weight;
  if constexpr (kCategorical) {
    const float m = hn::GetLane(hn::SumOfLanes(d, sums.labels));
    const float inverse = m > 0 ? 1 / m : 0;
    results.factor[r] = weight * inverse;
    of_e = m > 0 ? 1 : 0;
    if (row.g == nullptr) return;
    of_e *= of_label;
    of_label *= inverse;
  } else {
    if (row.g == nullptr) return;
    of_e *= of_label;
  }

  const V a = hn::Set(d, of_e / sum_e), b = hn::Set(d, of_label);
  V g_tail = labels.gradient(e_tail, t_tail, w_tail, a, b);
  if (row.accumulate) g_tail = hn::Add(tail.load(row.g), g_tail);
  const size_t lanes = hn::Lanes(d);
  if (row.accumulate) {
    for (size_t i = 0; i < tail.main(); i += lanes) {
      const V e = ExpNonPositive(d, hn::Sub(hn::LoadU(d, row.x + i), max));
      const V g = labels.gradient(e, hn::LoadU(d, row.t + i), row.weights(i), a, b);
      hn::StoreU(hn::Add(hn::LoadU(d, row.g + i), g), d, row.g + i);
    }
  } else {
    for (size_t i = 0; i < tail.main(); i += lanes) {
      const V e = hn::LoadU(d, row.g + i);
      hn::StoreU(labels.gradient(e, hn::LoadU(d, row.t + i), row.weights(i), a, b), d, row.g + i);
    }
  }
  tail.store(g_tail, row.g);
}

template <bool kCategorical>
void SoftmaxRows(const LossRows& rows, const LossParameters& p) {
  const Tail::D d;
  const SoftmaxLabels<kCategorical> labels(p);
  const Tail tail(rows.n);
  SoftmaxResults results;
  for (size_t r = 0; r < rows.count; ++r)
    SoftmaxRow<kCategorical>(RowOf(rows, r), tail, labels, rows.weight[r], rows.scale[r], results,
                             r);
  if (rows.losses == nullptr) return;
  // Whole vectors: what lies behind the last row is computed and thrown away.
  for (size_t r = 0; r < rows.count; r += hn::Lanes(d)) {
    const auto log = Log(d, hn::Load(d, results.e + r));
    const auto loss = hn::MulSub(log, hn::Load(d, results.s + r), hn::Load(d, results.sz + r));
    hn::Store(hn::Mul(loss, hn::Load(d, results.factor + r)), d, results.e + r);
  }
  std::copy_n(results.e, rows.count, rows.losses);
}

HWY_INLINE float CosineRow(const RowPointers& row, const Tail& tail, float weight, float scale) {
  using V = Tail::V;
  const Tail::D d;
  const V x_tail = tail.load(row.x), t_tail = tail.load(row.t), w_tail = row.weights(tail);
  V sum = tail.counted(hn::Mul(hn::Mul(w_tail, t_tail), x_tail));
  V block = hn::Zero(d);
  ForBlocks(
      tail.main(),
      [&](size_t i) HWY_ATTR {
        const V wt = hn::Mul(row.weights(i), hn::LoadU(d, row.t + i));
        block = hn::MulAdd(wt, hn::LoadU(d, row.x + i), block);
      },
      [&]() HWY_ATTR {
        sum = hn::Add(sum, block);
        block = hn::Zero(d);
      });
  const float cosine = weight * hn::GetLane(hn::SumOfLanes(d, sum));
  if (row.g == nullptr) return 1 - cosine;

  const V c = hn::Set(d, cosine), factor = hn::Set(d, weight * scale);
  const auto gradient = [&](V x, V t, V w) HWY_ATTR {
    return hn::Mul(hn::Mul(w, factor), hn::MulSub(c, x, t));
  };
  V g_tail = gradient(x_tail, t_tail, w_tail);
  if (row.accumulate) g_tail = hn::Add(tail.load(row.g), g_tail);
  for (size_t i = 0; i < tail.main(); i += hn::Lanes(d)) {
    V g = gradient(hn::LoadU(d, row.x + i), hn::LoadU(d, row.t + i), row.weights(i));
    if (row.accumulate) g = hn::Add(hn::LoadU(d, row.g + i), g);
    hn::StoreU(g, d, row.g + i);
  }
  tail.store(g_tail, row.g);
  return 1 - cosine;
}

inline void CosineRows(const LossRows& rows, const LossParameters&) {
  const Tail tail(rows.n);
  for (size_t r = 0; r < rows.count; ++r) {
    const float loss = CosineRow(RowOf(rows, r), tail, rows.weight[r], rows.scale[r]);
    if (rows.losses != nullptr) rows.losses[r] = loss;
  }
}

}  // namespace losses
}  // namespace bnns::impl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
