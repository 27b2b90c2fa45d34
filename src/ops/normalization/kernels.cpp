// Kernels of kernels.h. Sums run in four vectors over blocks of kSumBlock values; blocks are joined
// in double. The last, incomplete vector goes through a buffer on the stack.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/normalization/kernels.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

#include "ops/normalization/groups-inl.h"
#include "ops/normalization/kernels.h"

HWY_BEFORE_NAMESPACE();
namespace bnns::impl::HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;
using namespace groups;

constexpr size_t kSumBlock = 2048;
constexpr size_t kHead = 128;

// ---- Statistics ----

// Deviations are taken from the mean of the first values: it is off by at most sqrt(n / kHead)
// standard deviations, since those values are part of the block, so that little cancels below.
HWY_INLINE Moments BlockMoments(const float* x, size_t n, ptrdiff_t next) {
  const size_t head = HWY_MIN(kHead, n);
  // Divisions early, where nothing waits for them.
  const double count = static_cast<double>(n), share = 1 / count;
  const double head_share = 1 / static_cast<double>(head);
  Sum sum = NoSum(), squares = NoSum();
  ForGroups<4>(head, [&](auto extent, size_t i) HWY_ATTR {
    const auto value = Load(extent, x + i);
    for (size_t k = 0; k < extent.kVectors; ++k) sum[k] = hn::Add(sum[k], value[k]);
  });
  const float about = static_cast<float>(Total(sum) * head_share);
  const V from = hn::Set(D(), about);
  sum = NoSum();
  ForGroups<4>(n, [&](auto extent, size_t i) HWY_ATTR {
    if (next != 0) Fetch<0>(extent, x + i + next);
    const auto value = Load(extent, x + i, about);
    for (size_t k = 0; k < extent.kVectors; ++k) {
      const V apart = hn::Sub(value[k], from);
      sum[k] = hn::Add(sum[k], apart);
      squares[k] = hn::MulAdd(apart, apart, squares[k]);
    }
  });
  const double rest = Total(sum) * share;
  const double deviations = Total(squares) - rest * rest * count;
  return {.count = count, .mean = double{about} + rest, .squares = deviations < 0 ? 0 : deviations};
}

Moments StretchMoments(const float* x, size_t n, ptrdiff_t next) {
  Moments result;
  for (size_t i = 0; i < n; i += kSumBlock) {
    result.join(BlockMoments(x + i, HWY_MIN(kSumBlock, n - i), next));
  }
  return result;
}

// Sums by column stay in registers from row to row.
void AddRows(const float* x, size_t rows, size_t step, float* sum, size_t n) {
  ForGroups<4>(n, [&](auto extent, size_t i) HWY_ATTR {
    auto total = Load(extent, sum + i);
    for (size_t row = 0; row < rows; ++row) {
      const auto value = Load(extent, x + row * step + i);
      for (size_t k = 0; k < extent.kVectors; ++k) total[k] = hn::Add(total[k], value[k]);
    }
    Store(extent, total, sum + i);
  });
}

void Deviations(const float* x, size_t rows, size_t step, const float* from, float* sum,
                float* squares, size_t n) {
  ForGroups<4>(n, [&](auto extent, size_t i) HWY_ATTR {
    const auto about = Load(extent, from + i);
    auto total = Load(extent, sum + i), square = Load(extent, squares + i);
    for (size_t row = 0; row < rows; ++row) {
      const auto value = Load(extent, x + row * step + i);
      for (size_t k = 0; k < extent.kVectors; ++k) {
        const V apart = hn::Sub(value[k], about[k]);
        total[k] = hn::Add(total[k], apart);
        square[k] = hn::MulAdd(apart, apart, square[k]);
      }
    }
    Store(extent, total, sum + i);
    Store(extent, square, squares + i);
  });
}

void Flush(float* HWY_RESTRICT sum, double* HWY_RESTRICT to, size_t n) {
  for (size_t i = 0; i < n; ++i) {
    to[i] += double{sum[i]};
    sum[i] = 0;
  }
}

// ---- Maps ----

// A coefficient of a row.
template <bool kEach>
struct Coefficient {
  const float* data;
  V value;

  HWY_INLINE explicit Coefficient(const float* p) : data(p), value(hn::Set(D(), *p)) {}
  template <class Extent>
  HWY_INLINE auto at(Extent extent, size_t i) const {
    if constexpr (kEach) {
      return Load(extent, data + i);
    } else {
      return Same{value};
    }
  }
};

template <Spread kSpread, bool kRectify, bool kKeep, size_t kRows>
HWY_INLINE void NormalizeRows(const NormalizeRow r, size_t first) {
  const Coefficient<kSpread == kAll> mean(r.mean), inverse(r.inverse), low(r.low);
  const Coefficient<kSpread != kNone> gamma(r.gamma), beta(r.beta);
  ForGroups<kRows == 1 ? 4 : 2>(r.n, [&](auto extent, size_t i) HWY_ATTR {
    const auto m = mean.at(extent, i), s = inverse.at(extent, i), l = low.at(extent, i);
    const auto c = gamma.at(extent, i), b = beta.at(extent, i);
    for (size_t row = 0; row < kRows; ++row) {
      const size_t at = (first + row) * r.step + i;
      if (kSpread == kNone && r.next != 0) {
        Fetch<1>(extent, r.y + at + r.next);
        if constexpr (kKeep) Fetch<1>(extent, r.kept + at + r.next);
      }
      auto kept = Load(extent, r.x + at);
      for (size_t k = 0; k < extent.kVectors; ++k)
        kept[k] = hn::MulSub(hn::Sub(kept[k], m[k]), s[k], l[k]);
      if constexpr (kKeep) Store(extent, kept, r.kept + at);
      for (size_t k = 0; k < extent.kVectors; ++k) {
        V y = hn::MulAdd(kept[k], c[k], b[k]);
        if constexpr (kRectify) y = hn::IfThenZeroElse(hn::Lt(y, hn::Zero(D())), y);
        kept[k] = y;
      }
      Store(extent, kept, r.y + at);
    }
  });
}

// Two rows at a time where coefficients would have to be read again for each.
template <Spread kSpread, bool kRectify>
void Normalize(const NormalizeRow& row) {
  size_t k = 0;
  if constexpr (kSpread == kAll) {
    for (; k + 2 <= row.rows; k += 2) {
      if (row.kept != nullptr) {
        NormalizeRows<kSpread, kRectify, true, 2>(row, k);
      } else {
        NormalizeRows<kSpread, kRectify, false, 2>(row, k);
      }
    }
  }
  for (; k < row.rows; ++k) {
    if (row.kept != nullptr) {
      NormalizeRows<kSpread, kRectify, true, 1>(row, k);
    } else {
      NormalizeRows<kSpread, kRectify, false, 1>(row, k);
    }
  }
}

// One call for all rows, and the statistics of a row before the map of the one in front, which
// hides their latency: together 13 % of the time of rows of 1024.
template <bool kRectify, bool kKeep>
HWY_INLINE void NormalizeEach(const NormalizeSets s) {
  const auto statistics = [&](size_t k) HWY_ATTR {
    const Moments moments = StretchMoments(s.x + k * s.n, s.n, 0);
    const double variance = moments.squares / moments.count;
    const double inverse = inverse_deviation(variance, s.epsilon);
    s.mean[k] = moments.mean;
    s.variance[k] = variance;
    s.inverse[k] = inverse;
    return SetCoefficients(moments.mean, inverse);
  };
  SetCoefficients next = statistics(0);
  for (size_t k = 0, at = s.at; k < s.rows; ++k, at = at + s.n == s.count ? 0 : at + s.n) {
    const SetCoefficients c = next;
    if (k + 1 < s.rows) next = statistics(k + 1);
    const size_t first = k * s.n;
    NormalizeRows<kAffine, kRectify, kKeep, 1>({.x = s.x + first,
                                                .y = s.y + first,
                                                .kept = kKeep ? s.kept + first : nullptr,
                                                .n = s.n,
                                                .mean = &c.mean,
                                                .inverse = &c.inverse,
                                                .low = &c.low,
                                                .gamma = s.gamma + at,
                                                .beta = s.beta + at},
                                               0);
  }
}

template <bool kRectify>
void NormalizeOwn(const NormalizeSets& sets) {
  sets.kept != nullptr ? NormalizeEach<kRectify, true>(sets) : NormalizeEach<kRectify, false>(sets);
}

template <bool kRectify, class Extent>
HWY_INLINE Group<Extent> Slope(Extent extent, const GradientRow& r, size_t i) {
  auto g = Load(extent, r.dy + i);
  if constexpr (kRectify) {
    const auto y = Load(extent, r.y + i);
    for (size_t k = 0; k < extent.kVectors; ++k)
      g[k] = hn::IfThenElseZero(hn::Gt(y[k], hn::Zero(D())), g[k]);
  }
  return g;
}

template <bool kRectify, bool kWeighted>
HWY_INLINE void SumBlock(const GradientRow r, const float* gamma, double* sums) {
  Sum sum = NoSum(), products = NoSum();
  ForGroups<4>(r.n, [&](auto extent, size_t i) HWY_ATTR {
    if (!kWeighted && r.next != 0) {
      Fetch<0>(extent, r.dy + i + r.next);
      Fetch<0>(extent, r.kept + i + r.next);
      if constexpr (kRectify) Fetch<0>(extent, r.y + i + r.next);
    }
    auto g = Slope<kRectify>(extent, r, i);
    if constexpr (kWeighted) {
      const auto weight = Load(extent, gamma + i);
      for (size_t k = 0; k < extent.kVectors; ++k) g[k] = hn::Mul(g[k], weight[k]);
    }
    const auto kept = Load(extent, r.kept + i);
    for (size_t k = 0; k < extent.kVectors; ++k) {
      sum[k] = hn::Add(sum[k], g[k]);
      products[k] = hn::MulAdd(g[k], kept[k], products[k]);
    }
  });
  sums[0] += Total(sum);
  sums[1] += Total(products);
}

template <bool kRectify, bool kWeighted>
HWY_INLINE void SumRow(const GradientRow& r, const float* gamma, double* sums) {
  for (size_t i = 0; i < r.n; i += kSumBlock) {
    const GradientRow block = {.kept = r.kept + i,
                               .dy = r.dy + i,
                               .y = r.y + i,
                               .n = HWY_MIN(kSumBlock, r.n - i),
                               .next = r.next};
    SumBlock<kRectify, kWeighted>(block, kWeighted ? gamma + i : nullptr, sums);
  }
}

template <bool kRectify>
void Sums(const GradientRow& row, double* sums) {
  SumRow<kRectify, false>(row, nullptr, sums);
}

template <bool kRectify>
void WeightedSums(const GradientRow& row, const float* gamma, double* sums) {
  SumRow<kRectify, true>(row, gamma, sums);
}

template <bool kRectify>
void Collect(const GradientRow& rows, float* beta, float* gamma) {
  const GradientRow r = rows;
  ForGroups<4>(r.n, [&](auto extent, size_t i) HWY_ATTR {
    auto sum = Load(extent, beta + i), products = Load(extent, gamma + i);
    for (size_t row = 0; row < r.rows; ++row) {
      const size_t at = row * r.step + i;
      const auto g = Slope<kRectify>(extent, r, at), kept = Load(extent, r.kept + at);
      for (size_t k = 0; k < extent.kVectors; ++k) {
        sum[k] = hn::Add(sum[k], g[k]);
        products[k] = hn::MulAdd(g[k], kept[k], products[k]);
      }
    }
    Store(extent, sum, beta + i);
    Store(extent, products, gamma + i);
  });
}

template <Spread kSpread, bool kRectify, bool kAccumulate, bool kCollect, size_t kRows>
HWY_INLINE void MapRows(const GradientRow r, const GradientMap map, size_t first) {
  const Coefficient<kSpread != kNone> factor(map.factor);
  // By row, unless they differ by element.
  const size_t own = kSpread == kAll ? 0 : first, next = kSpread == kAll ? 0 : kRows - 1;
  const Coefficient<kSpread == kAll> slopes[] = {
      Coefficient<kSpread == kAll>(map.slope + own),
      Coefficient<kSpread == kAll>(map.slope + own + next)};
  const Coefficient<kSpread == kAll> shifts[] = {
      Coefficient<kSpread == kAll>(map.shift + own),
      Coefficient<kSpread == kAll>(map.shift + own + next)};
  V scales[2];
  if constexpr (kSpread != kAll) {
    scales[0] = hn::Set(D(), map.scale[own]);
    scales[1] = hn::Set(D(), map.scale[own + next]);
  }
  ForGroups<kRows == 1 ? 4 : 2>(r.n, [&](auto extent, size_t i) HWY_ATTR {
    const auto f = factor.at(extent, i);
    Group<decltype(extent)> beta, gamma;
    if constexpr (kCollect) {
      beta = Load(extent, map.beta_sum + i);
      gamma = Load(extent, map.gamma_sum + i);
    }
    for (size_t row = 0; row < kRows; ++row) {
      const auto slope = slopes[row].at(extent, i), shift = shifts[row].at(extent, i);
      const size_t at = (first + row) * r.step + i;
      if (kSpread == kNone && r.next != 0) Fetch<1>(extent, map.dx + at + r.next);
      auto g = Slope<kRectify>(extent, r, at);
      const auto kept = Load(extent, r.kept + at);
      for (size_t k = 0; k < extent.kVectors; ++k) {
        if constexpr (kCollect) {
          beta[k] = hn::Add(beta[k], g[k]);
          gamma[k] = hn::MulAdd(g[k], kept[k], gamma[k]);
        }
        const V rest = hn::MulAdd(kept[k], slope[k], shift[k]);
        V by = f[k];
        if constexpr (kSpread != kAll) by = hn::Mul(scales[row], by);
        g[k] = hn::MulAdd(g[k], by, rest);
      }
      if constexpr (kAccumulate) {
        const auto old = Load(extent, map.dx + at);
        for (size_t k = 0; k < extent.kVectors; ++k) g[k] = hn::Add(old[k], g[k]);
      }
      Store(extent, g, map.dx + at);
    }
    if constexpr (kCollect) {
      Store(extent, beta, map.beta_sum + i);
      Store(extent, gamma, map.gamma_sum + i);
    }
  });
}

template <Spread kSpread, bool kRectify, bool kAccumulate, bool kCollect>
HWY_INLINE void MapAll(const GradientRow& rows, const GradientMap& map) {
  size_t k = 0;
  if constexpr (kSpread != kNone) {
    for (; k + 2 <= rows.rows; k += 2)
      MapRows<kSpread, kRectify, kAccumulate, kCollect, 2>(rows, map, k);
  }
  for (; k < rows.rows; ++k) MapRows<kSpread, kRectify, kAccumulate, kCollect, 1>(rows, map, k);
}

template <Spread kSpread, bool kRectify, bool kAccumulate>
void Map(const GradientRow& rows, const GradientMap& map) {
  if constexpr (kSpread == kAffine) {
    if (map.beta_sum != nullptr) return MapAll<kSpread, kRectify, kAccumulate, true>(rows, map);
  }
  MapAll<kSpread, kRectify, kAccumulate, false>(rows, map);
}

const NormalizationKernels* NormalizationTable() {
  static constexpr NormalizationKernels kTable = {
      .moments = StretchMoments,
      .add = AddRows,
      .deviations = Deviations,
      .flush = Flush,
      .normalize = {{Normalize<kNone, false>, Normalize<kNone, true>},
                    {Normalize<kAffine, false>, Normalize<kAffine, true>},
                    {Normalize<kAll, false>, Normalize<kAll, true>}},
      .normalize_sets = {NormalizeOwn<false>, NormalizeOwn<true>},
      .sums = {Sums<false>, Sums<true>},
      .weighted_sums = {WeightedSums<false>, WeightedSums<true>},
      .collect = {Collect<false>, Collect<true>},
      .map = {{{Map<kNone, false, false>, Map<kNone, false, true>},
               {Map<kNone, true, false>, Map<kNone, true, true>}},
              {{Map<kAffine, false, false>, Map<kAffine, false, true>},
               {Map<kAffine, true, false>, Map<kAffine, true, true>}},
              {{Map<kAll, false, false>, Map<kAll, false, true>},
               {Map<kAll, true, false>, Map<kAll, true, true>}}}};
  return &kTable;
}

}  // namespace
}  // namespace bnns::impl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "core/target.h"

namespace bnns::impl {

HWY_EXPORT(NormalizationTable);
const NormalizationKernels* normalization_kernels() {
  return pick(HWY_DISPATCH_TABLE(NormalizationTable))();
}

}  // namespace bnns::impl
#endif
