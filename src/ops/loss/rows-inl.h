// Per-sample losses on rows of n elements, with s = w t (t smoothed, w the weight of an element):
//   softmax CE      l = log(sum e^z) sum s - sum s z, z = x - max    dl/dx = p sum s - s
//   categorical CE  the same over the m labels that are not 0, / m   dl/dx = w (p - [t != 0] / m)
//   cosine          l = 1 - c, c = sum w t x                         dl/dx = w (c x - t)
// p = e^z / sum e^z. A softmax row is read three times: for the maximum; for exponentials and all
// sums; for the gradient. The second pass stores e^z in the gradient's row, unless the gradient
// accumulates. A label of 0 contributes nothing to the loss even where p is 0.

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

// Elements that are summed in float lanes before the sum is added to a double.
inline constexpr size_t kSumBlock = 256;

// Pointers into one row. Without weights per element all weights are 1.
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

// Calls f(i) for every whole vector before the tail, and flush() after each block of them.
template <class F, class Flush>
HWY_INLINE void ForBlocks(size_t main, const F& f, const Flush& flush) {
  const size_t lanes = hn::Lanes(Tail::D());
  for (size_t i = 0;;) {
    const size_t end = std::min(main, i + kSumBlock);
    for (; i < end; i += lanes) f(i);
    flush();
    if (i >= main) return;
  }
}

HWY_INLINE double TotalOf(Tail::V v) {
  return double{hn::GetLane(hn::SumOfLanes(Tail::D(), v))};
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

// How the softmax losses use a label: its weighted value s, and the gradient that it gives.
template <bool kCategorical>
struct SoftmaxLabels {
  using D = Tail::D;
  using V = Tail::V;
  V keep, added;

  explicit HWY_INLINE SoftmaxLabels(const LossCoefficients& p)
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

// The float sums of a block, one per lane.
struct SoftmaxLanes {
  Tail::V e, s, sz, labels;
};

struct SoftmaxSums {
  double e = 0, s = 0, sz = 0, labels = 0;

  HWY_INLINE void take(SoftmaxLanes& lanes) {
    const Tail::V zero = hn::Zero(Tail::D());
    e += TotalOf(lanes.e);
    s += TotalOf(lanes.s);
    sz += TotalOf(lanes.sz);
    labels += TotalOf(lanes.labels);
    lanes = {zero, zero, zero, zero};
  }
};

template <bool kCategorical>
HWY_INLINE void AddTerm(SoftmaxLanes& sums, Tail::V e, Tail::V s, Tail::V z, Tail::V label) {
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

// The sums of up to kMaxLossRows rows, so that one logarithm serves a vector of rows.
struct SoftmaxResults {
  HWY_ALIGN float e[kMaxLossRows];
  HWY_ALIGN float s[kMaxLossRows];
  HWY_ALIGN float sz[kMaxLossRows];
  HWY_ALIGN float factor[kMaxLossRows];
};

template <bool kCategorical>
struct SoftmaxRow {
  using V = Tail::V;
  RowPointers row;
  const Tail& tail;
  const SoftmaxLabels<kCategorical>& labels;
  Tail::D d = {};
  V x_tail = tail.load(row.x), t_tail = tail.load(row.t), w_tail = row.weights(tail);
  V max = hn::Set(d, RowMax(row.x, tail, x_tail));
  V e_tail = ExpNonPositive(d, hn::Sub(x_tail, max));

  HWY_INLINE SoftmaxSums sums() const {
    const V zero = hn::Zero(d);
    SoftmaxLanes block = {zero, zero, zero, zero};
    AddTerm<kCategorical>(block, tail.counted(e_tail),
                          tail.counted(labels.weighted(t_tail, w_tail)), hn::Sub(x_tail, max),
                          tail.counted(t_tail));
    SoftmaxSums all;
    const bool stores_e = row.g != nullptr && !row.accumulate;
    ForBlocks(
        tail.main(),
        [&](size_t i) HWY_ATTR {
          const V z = hn::Sub(hn::LoadU(d, row.x + i), max);
          const V e = ExpNonPositive(d, z), label = hn::LoadU(d, row.t + i);
          AddTerm<kCategorical>(block, e, labels.weighted(label, row.weights(i)), z, label);
          if (stores_e) hn::StoreU(e, d, row.g + i);
        },
        [&]() HWY_ATTR { all.take(block); });
    return all;
  }

  HWY_INLINE void write_gradient(float of_e, float of_label) const {
    const V a = hn::Set(d, of_e), b = hn::Set(d, of_label);
    const auto gradient = [&](V e, size_t i) HWY_ATTR {
      return labels.gradient(e, hn::LoadU(d, row.t + i), row.weights(i), a, b);
    };
    V g_tail = labels.gradient(e_tail, t_tail, w_tail, a, b);
    const size_t lanes = hn::Lanes(d);
    if (row.accumulate) {
      g_tail = hn::Add(tail.load(row.g), g_tail);
      for (size_t i = 0; i < tail.main(); i += lanes) {
        const V g = gradient(ExpNonPositive(d, hn::Sub(hn::LoadU(d, row.x + i), max)), i);
        hn::StoreU(hn::Add(hn::LoadU(d, row.g + i), g), d, row.g + i);
      }
    } else {
      for (size_t i = 0; i < tail.main(); i += lanes)
        hn::StoreU(gradient(hn::LoadU(d, row.g + i), i), d, row.g + i);
    }
    tail.store(g_tail, row.g);
  }
};

template <bool kCategorical>
HWY_INLINE void RunSoftmaxRow(const SoftmaxRow<kCategorical>& row, float weight, float scale,
                              SoftmaxResults& results, size_t r) {
  const SoftmaxSums sums = row.sums();
  results.e[r] = static_cast<float>(sums.e);
  results.s[r] = static_cast<float>(sums.s);
  results.sz[r] = static_cast<float>(sums.sz);
  results.factor[r] = weight;
  const float factor = weight * scale;
  float of_e = factor * results.s[r], of_label = factor;
  if constexpr (kCategorical) {
    // A row whose labels are all 0 has no loss and no gradient.
    const float m = static_cast<float>(sums.labels), inverse = m > 0 ? 1 / m : 0;
    results.factor[r] = weight * inverse;
    of_e = m > 0 ? factor : 0;
    of_label = factor * inverse;
  }
  if (row.row.g != nullptr) row.write_gradient(of_e / results.e[r], of_label);
}

template <bool kCategorical>
void SoftmaxRows(const LossRows& rows, const LossCoefficients& p) {
  const Tail::D d;
  const size_t lanes = hn::Lanes(d);
  const SoftmaxLabels<kCategorical> labels(p);
  const Tail tail(rows.n);
  SoftmaxResults results;
  for (size_t r = 0; r < rows.count; ++r) {
    const SoftmaxRow<kCategorical> row = {.row = RowOf(rows, r), .tail = tail, .labels = labels};
    RunSoftmaxRow(row, rows.weight[r], rows.scale[r], results, r);
  }
  if (rows.losses == nullptr) return;
  for (size_t r = rows.count; r % lanes != 0; ++r)
    results.e[r] = results.s[r] = results.sz[r] = results.factor[r] = 1;
  for (size_t r = 0; r < rows.count; r += lanes) {
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
  V block = tail.counted(hn::Mul(hn::Mul(w_tail, t_tail), x_tail));
  double sum = 0;
  ForBlocks(
      tail.main(),
      [&](size_t i) HWY_ATTR {
        const V wt = hn::Mul(row.weights(i), hn::LoadU(d, row.t + i));
        block = hn::MulAdd(wt, hn::LoadU(d, row.x + i), block);
      },
      [&]() HWY_ATTR {
        sum += TotalOf(block);
        block = hn::Zero(d);
      });
  const float cosine = static_cast<float>(weight * sum);
  if (row.g == nullptr) return 1 - cosine;

  const V c = hn::Set(d, cosine), factor = hn::Set(d, weight * scale);
  const auto gradient = [&](V x, V t, V w)
                            HWY_ATTR { return hn::Mul(hn::Mul(w, factor), hn::MulSub(c, x, t)); };
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

inline void CosineRows(const LossRows& rows, const LossCoefficients&) {
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
