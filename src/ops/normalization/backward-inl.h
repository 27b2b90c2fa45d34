// Sums and maps of the gradient; see kernels.h.

#if defined(OPENBNNS_OPS_NORMALIZATION_BACKWARD_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef OPENBNNS_OPS_NORMALIZATION_BACKWARD_INL_H_
#undef OPENBNNS_OPS_NORMALIZATION_BACKWARD_INL_H_
#else
#define OPENBNNS_OPS_NORMALIZATION_BACKWARD_INL_H_
#endif

#include "hwy/highway.h"
#include "ops/normalization/vectors-inl.h"
#include "ops/normalization/kernels.h"

HWY_BEFORE_NAMESPACE();
namespace bnns::impl::HWY_NAMESPACE {
namespace norm {

// g of kernels.h.
template <bool kRectify, class Extent>
HWY_INLINE Vectors<Extent> Gradient(Extent extent, const GradientRow& r, size_t i) {
  auto g = Load(extent, r.dy + i);
  if constexpr (kRectify) {
    const auto y = Load(extent, r.y + i);
    for (size_t k = 0; k < extent.kVectors; ++k)
      g[k] = hn::IfThenElseZero(hn::Gt(y[k], hn::Zero(D())), g[k]);
  }
  return g;
}

template <bool kRectify, bool kWeighted, bool kStore>
HWY_INLINE void SumBlock(const GradientRow r, const float* gamma, float* g_out, double* sums) {
  Sum sum = NoSum(), products = NoSum();
  ForVectors<4>(r.n, [&](auto extent, size_t i) HWY_ATTR {
    if (!kWeighted && r.next != 0) {
      Prefetch<0>(extent, r.dy + i + r.next);
      Prefetch<0>(extent, r.normalized + i + r.next);
      if constexpr (kRectify) Prefetch<0>(extent, r.y + i + r.next);
      if constexpr (kStore) Prefetch<1>(extent, g_out + i + r.next);
    }
    auto g = Gradient<kRectify>(extent, r, i);
    for (size_t k = 0; k < extent.kVectors; ++k) {
      if constexpr (kWeighted) g[k] = hn::Mul(g[k], LoadOne(extent, gamma + i, k));
      sum[k] = hn::Add(sum[k], g[k]);
      products[k] = hn::MulAdd(g[k], LoadOne(extent, r.normalized + i, k), products[k]);
    }
    if constexpr (kStore) Store(extent, g, g_out + i);
  });
  sums[0] += Total(sum);
  sums[1] += Total(products);
}

template <bool kRectify, bool kWeighted, bool kStore>
HWY_INLINE void SumRow(const GradientRow& r, const float* gamma, float* g_out, double* sums) {
  for (size_t i = 0; i < r.n; i += kSumBlock) {
    // Only the start of the next row is prefetched, during the last block of this one: a whole long
    // row of up to four tensors would not stay in the first-level cache.
    const bool fetches = r.next != 0 && r.n - i <= kSumBlock;
    const GradientRow block = {.normalized = r.normalized + i,
                               .dy = r.dy + i,
                               .y = r.y + i,
                               .n = HWY_MIN(kSumBlock, r.n - i),
                               .next = fetches ? r.next - static_cast<ptrdiff_t>(i) : 0};
    SumBlock<kRectify, kWeighted, kStore>(block, kWeighted ? gamma + i : nullptr,
                                          kStore ? g_out + i : nullptr, sums);
  }
}

template <bool kRectify>
void Sums(const GradientRow& row, float* g_out, double* sums) {
  if (g_out != nullptr) {
    SumRow<kRectify, false, true>(row, nullptr, g_out, sums);
  } else {
    SumRow<kRectify, false, false>(row, nullptr, nullptr, sums);
  }
}

template <bool kRectify>
void WeightedSums(const GradientRow& row, const float* gamma, double* sums) {
  SumRow<kRectify, true, false>(row, gamma, nullptr, sums);
}

template <bool kRectify>
void Collect(const GradientRow& rows, float* beta, float* gamma) {
  const GradientRow r = rows;
  ForVectors<4>(r.n, [&](auto extent, size_t i) HWY_ATTR {
    auto sum = Load(extent, beta + i), products = Load(extent, gamma + i);
    for (size_t row = 0; row < r.rows; ++row) {
      const size_t at = row * r.step + i;
      const auto g = Gradient<kRectify>(extent, r, at),
                 normalized = Load(extent, r.normalized + at);
      for (size_t k = 0; k < extent.kVectors; ++k) {
        sum[k] = hn::Add(sum[k], g[k]);
        products[k] = hn::MulAdd(g[k], normalized[k], products[k]);
      }
    }
    Store(extent, sum, beta + i);
    Store(extent, products, gamma + i);
  });
}

template <Spread kSpread, bool kRectify, bool kAccumulate, bool kCollect, size_t kRows>
HWY_INLINE void MapRows(const GradientRow r, const GradientMap map, size_t first) {
  const Coefficient<kSpread != kNone> factor(map.factor);
  // With kAll a coefficient is an array over elements that all rows share, else one number per row.
  const size_t own = kSpread == kAll ? 0 : first, next = kSpread == kAll ? 0 : kRows - 1;
  const Coefficient<kSpread == kAll> k_factors[] = {
      Coefficient<kSpread == kAll>(map.k_factor + own),
      Coefficient<kSpread == kAll>(map.k_factor + own + next)};
  const Coefficient<kSpread == kAll> shifts[] = {
      Coefficient<kSpread == kAll>(map.shift + own),
      Coefficient<kSpread == kAll>(map.shift + own + next)};
  V scales[2];
  if constexpr (kSpread != kAll) {
    scales[0] = hn::Set(D(), map.scale[own]);
    scales[1] = hn::Set(D(), map.scale[own + next]);
  }
  ForVectors<kRows == 1 ? 4 : 2>(r.n, [&](auto extent, size_t i) HWY_ATTR {
    const auto f = factor.at(extent, i);
    Vectors<decltype(extent)> beta, gamma;
    if constexpr (kCollect) {
      beta = Load(extent, map.beta_sum + i);
      gamma = Load(extent, map.gamma_sum + i);
    }
    for (size_t row = 0; row < kRows; ++row) {
      const auto k_factor = k_factors[row].at(extent, i), shift = shifts[row].at(extent, i);
      const size_t at = (first + row) * r.step + i;
      if (kSpread == kNone && r.next != 0) Prefetch<1>(extent, map.dx + at + r.next);
      auto g = Gradient<kRectify>(extent, r, at);
      const auto normalized = Load(extent, r.normalized + at);
      for (size_t k = 0; k < extent.kVectors; ++k) {
        if constexpr (kCollect) {
          beta[k] = hn::Add(beta[k], g[k]);
          gamma[k] = hn::MulAdd(g[k], normalized[k], gamma[k]);
        }
        const V rest = hn::MulAdd(normalized[k], k_factor[k], shift[k]);
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

template <Spread kSpread, bool kRectify, bool kAccumulate>
void Map(const GradientRow& rows, const GradientMap& map) {
  size_t k = 0;
  if constexpr (kSpread == kAll) {
    for (; k + 2 <= rows.rows; k += 2)
      MapRows<kSpread, kRectify, kAccumulate, false, 2>(rows, map, k);
  }
  if constexpr (kSpread == kAffine) {
    if (map.beta_sum != nullptr)
      return MapRows<kSpread, kRectify, kAccumulate, true, 1>(rows, map, 0);
  }
  for (; k < rows.rows; ++k) MapRows<kSpread, kRectify, kAccumulate, false, 1>(rows, map, k);
}

// Rows are taken in pairs, which share the loads of gamma and the loads and stores of the sums.
template <bool kRectify, bool kAccumulate, bool kCollect>
HWY_INLINE void MapEach(const GradientGroups s) {
  const double share = 1 / static_cast<double>(s.n);
  for (size_t k = 0; k < s.rows; k += 2) {
    const size_t rows = HWY_MIN(s.rows - k, size_t{2}), first = k * s.step;
    float scale[2], k_factor[2], shift[2];
    for (size_t j = 0; j < rows; ++j) {
      const size_t at = first + j * s.step;
      double sums[2] = {};
      SumRow<kRectify, true, false>(
          {.normalized = s.normalized + at, .dy = s.dy + at, .y = s.y + at, .n = s.n}, s.gamma,
          nullptr, sums);
      const double r = s.inverse[(k + j) * s.inverse_step];
      scale[j] = static_cast<float>(r);
      k_factor[j] = static_cast<float>(-r * (sums[1] * share));
      shift[j] = static_cast<float>(-r * (sums[0] * share));
    }
    const GradientRow row = {.normalized = s.normalized + first,
                             .dy = s.dy + first,
                             .y = s.y + first,
                             .n = s.n,
                             .rows = rows,
                             .step = s.step};
    const GradientMap map = {.dx = s.dx + first,
                             .scale = scale,
                             .factor = s.gamma,
                             .k_factor = k_factor,
                             .shift = shift,
                             .beta_sum = s.beta_sum,
                             .gamma_sum = s.gamma_sum};
    if (rows == 2) {
      MapRows<kAffine, kRectify, kAccumulate, kCollect, 2>(row, map, 0);
    } else {
      MapRows<kAffine, kRectify, kAccumulate, kCollect, 1>(row, map, 0);
    }
  }
}

template <bool kRectify, bool kAccumulate>
void MapGroups(const GradientGroups& groups) {
  if (groups.beta_sum != nullptr) {
    MapEach<kRectify, kAccumulate, true>(groups);
  } else {
    MapEach<kRectify, kAccumulate, false>(groups);
  }
}

}  // namespace norm
}  // namespace bnns::impl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
