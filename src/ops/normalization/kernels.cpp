// Kernels of kernels.h. Sums run in four vectors over blocks of kSumBlock values; blocks are joined
// in double. The last, incomplete vector goes through a buffer on the stack.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/normalization/kernels.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

#include <cstring>
#include <type_traits>

#include "ops/normalization/kernels.h"

HWY_BEFORE_NAMESPACE();
namespace bnns::impl::HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;
using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;
using Whole = std::true_type;
using Part = std::false_type;

constexpr size_t kSumBlock = 2048;
constexpr size_t kHead = 128;

// m values from p on; the rest of an incomplete vector is `fill`.
template <class Extent>
HWY_INLINE V Load(Extent, const float* p, size_t m, float fill = 0) {
  const D d;
  if constexpr (Extent::value) return hn::LoadU(d, p);
  HWY_ALIGN float tail[hn::MaxLanes(d)];
  hn::Store(hn::Set(d, fill), d, tail);
  std::memcpy(tail, p, m * sizeof(float));
  return hn::Load(d, tail);
}

template <class Extent>
HWY_INLINE void Store(Extent, V v, float* p, size_t m) {
  const D d;
  if constexpr (Extent::value) return hn::StoreU(v, d, p);
  HWY_ALIGN float tail[hn::MaxLanes(d)];
  hn::Store(v, d, tail);
  std::memcpy(p, tail, m * sizeof(float));
}

// step(extent, i, m) for vectors of m elements from i on. Rows are taken by value below: through a
// reference their pointers would be read again after every store.
template <class Step>
HWY_INLINE void ForVectors(size_t n, const Step& step) {
  const size_t lanes = hn::Lanes(D());
  size_t i = 0;
  for (; i + 2 * lanes <= n; i += 2 * lanes) {
    step(Whole(), i, lanes);
    step(Whole(), i + lanes, lanes);
  }
  for (; i + lanes <= n; i += lanes) step(Whole(), i, lanes);
  if (i < n) step(Part(), i, n - i);
}

// The same with the number of one of four sums, so that additions do not wait for each other.
template <class Step>
HWY_INLINE void ForSums(size_t n, const Step& step) {
  const size_t lanes = hn::Lanes(D());
  size_t i = 0;
  for (; i + 4 * lanes <= n; i += 4 * lanes) {
    for (size_t k = 0; k < 4; ++k) step(Whole(), k, i + k * lanes, lanes);
  }
  for (; i + lanes <= n; i += lanes) step(Whole(), 0, i, lanes);
  if (i < n) step(Part(), 1, i, n - i);
}

HWY_INLINE double Total(const V (&sums)[4]) {
  const V sum = hn::Add(hn::Add(sums[0], sums[1]), hn::Add(sums[2], sums[3]));
  return double{hn::GetLane(hn::SumOfLanes(D(), sum))};
}

HWY_INLINE void Clear(V (&sums)[4]) {
  for (V& sum : sums) sum = hn::Zero(D());
}

// ---- Statistics ----

// Deviations are taken from the mean of the first values: it is off by at most sqrt(n / kHead)
// standard deviations, since those values are part of the block, so that little cancels below.
HWY_INLINE Moments BlockMoments(const float* x, size_t n) {
  const size_t head = HWY_MIN(kHead, n);
  // Divisions early, where nothing waits for them.
  const double count = static_cast<double>(n), share = 1 / count;
  const double head_share = 1 / static_cast<double>(head);
  V sum[4], squares[4];
  Clear(sum);
  ForSums(head, [&](auto extent, size_t k, size_t i, size_t m)
                    HWY_ATTR { sum[k] = hn::Add(sum[k], Load(extent, x + i, m)); });
  const float about = static_cast<float>(Total(sum) * head_share);
  const V from = hn::Set(D(), about);
  Clear(sum);
  Clear(squares);
  ForSums(n, [&](auto extent, size_t k, size_t i, size_t m) HWY_ATTR {
    const V apart = hn::Sub(Load(extent, x + i, m, about), from);
    sum[k] = hn::Add(sum[k], apart);
    squares[k] = hn::MulAdd(apart, apart, squares[k]);
  });
  const double rest = Total(sum) * share;
  const double deviations = Total(squares) - rest * rest * count;
  return {.count = count, .mean = double{about} + rest, .squares = deviations < 0 ? 0 : deviations};
}

Moments StretchMoments(const float* x, size_t n) {
  Moments result;
  for (size_t i = 0; i < n; i += kSumBlock) {
    result.join(BlockMoments(x + i, HWY_MIN(kSumBlock, n - i)));
  }
  return result;
}

void AddRow(const float* x, float* sum, size_t n) {
  ForVectors(n, [&](auto extent, size_t i, size_t m) HWY_ATTR {
    Store(extent, hn::Add(Load(extent, sum + i, m), Load(extent, x + i, m)), sum + i, m);
  });
}

void Deviations(const float* x, const float* from, float* sum, float* squares, size_t n) {
  ForVectors(n, [&](auto extent, size_t i, size_t m) HWY_ATTR {
    const V apart = hn::Sub(Load(extent, x + i, m), Load(extent, from + i, m));
    Store(extent, hn::Add(Load(extent, sum + i, m), apart), sum + i, m);
    Store(extent, hn::MulAdd(apart, apart, Load(extent, squares + i, m)), squares + i, m);
  });
}

// ---- Maps ----

// A coefficient of a row.
template <bool kEach>
struct Coefficient {
  const float* data;
  V value;

  HWY_INLINE explicit Coefficient(const float* p) : data(p), value(hn::Set(D(), *p)) {}
  template <class Extent>
  HWY_INLINE V at(Extent extent, size_t i, size_t m) const {
    if constexpr (kEach) return Load(extent, data + i, m);
    return value;
  }
};

template <Spread kSpread, bool kRectify, bool kKeep>
HWY_INLINE void NormalizeLoop(const NormalizeRow r) {
  const Coefficient<kSpread == kAll> mean(r.mean), inverse(r.inverse), low(r.low);
  const Coefficient<kSpread != kNone> gamma(r.gamma), beta(r.beta);
  ForVectors(r.n, [&](auto extent, size_t i, size_t m) HWY_ATTR {
    const V apart = hn::Sub(Load(extent, r.x + i, m), mean.at(extent, i, m));
    const V kept = hn::MulSub(apart, inverse.at(extent, i, m), low.at(extent, i, m));
    if constexpr (kKeep) Store(extent, kept, r.kept + i, m);
    V y = hn::MulAdd(kept, gamma.at(extent, i, m), beta.at(extent, i, m));
    if constexpr (kRectify) y = hn::IfThenZeroElse(hn::Lt(y, hn::Zero(D())), y);
    Store(extent, y, r.y + i, m);
  });
}

template <Spread kSpread, bool kRectify>
void Normalize(const NormalizeRow& row) {
  if (row.kept != nullptr) {
    NormalizeLoop<kSpread, kRectify, true>(row);
  } else {
    NormalizeLoop<kSpread, kRectify, false>(row);
  }
}

template <bool kRectify, class Extent>
HWY_INLINE V Slope(Extent extent, const GradientRow& r, size_t i, size_t m) {
  const V dy = Load(extent, r.dy + i, m);
  if constexpr (!kRectify) return dy;
  return hn::IfThenElseZero(hn::Gt(Load(extent, r.y + i, m), hn::Zero(D())), dy);
}

template <bool kRectify, bool kWeighted>
HWY_INLINE void SumBlock(const GradientRow r, const float* gamma, double* sums) {
  V sum[4], products[4];
  Clear(sum);
  Clear(products);
  ForSums(r.n, [&](auto extent, size_t k, size_t i, size_t m) HWY_ATTR {
    V g = Slope<kRectify>(extent, r, i, m);
    if constexpr (kWeighted) g = hn::Mul(g, Load(extent, gamma + i, m));
    sum[k] = hn::Add(sum[k], g);
    products[k] = hn::MulAdd(g, Load(extent, r.kept + i, m), products[k]);
  });
  sums[0] += Total(sum);
  sums[1] += Total(products);
}

template <bool kRectify, bool kWeighted>
HWY_INLINE void SumRow(const GradientRow& r, const float* gamma, double* sums) {
  for (size_t i = 0; i < r.n; i += kSumBlock) {
    const GradientRow block = {
        .kept = r.kept + i, .dy = r.dy + i, .y = r.y + i, .n = HWY_MIN(kSumBlock, r.n - i)};
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
void Collect(const GradientRow& row, float* beta, float* gamma) {
  const GradientRow r = row;
  ForVectors(r.n, [&](auto extent, size_t i, size_t m) HWY_ATTR {
    const V g = Slope<kRectify>(extent, r, i, m);
    Store(extent, hn::Add(Load(extent, beta + i, m), g), beta + i, m);
    const V sum = hn::MulAdd(g, Load(extent, r.kept + i, m), Load(extent, gamma + i, m));
    Store(extent, sum, gamma + i, m);
  });
}

template <Spread kSpread, bool kRectify, bool kAccumulate, bool kCollect>
HWY_INLINE void MapLoop(const GradientRow r, const GradientMap map) {
  const Coefficient<kSpread == kAll> slope(map.slope), shift(map.shift);
  const Coefficient<kSpread != kNone> factor(map.factor);
  const V scale = hn::Set(D(), map.scale);
  ForVectors(r.n, [&](auto extent, size_t i, size_t m) HWY_ATTR {
    const V g = Slope<kRectify>(extent, r, i, m);
    const V kept = Load(extent, r.kept + i, m);
    const V rest = hn::MulAdd(kept, slope.at(extent, i, m), shift.at(extent, i, m));
    V dx = hn::MulAdd(g, hn::Mul(scale, factor.at(extent, i, m)), rest);
    if constexpr (kAccumulate) dx = hn::Add(Load(extent, map.dx + i, m), dx);
    Store(extent, dx, map.dx + i, m);
    if constexpr (kCollect) {
      Store(extent, hn::Add(Load(extent, map.beta_sum + i, m), g), map.beta_sum + i, m);
      const V sum = hn::MulAdd(g, kept, Load(extent, map.gamma_sum + i, m));
      Store(extent, sum, map.gamma_sum + i, m);
    }
  });
}

template <Spread kSpread, bool kRectify, bool kAccumulate>
void Map(const GradientRow& row, const GradientMap& map) {
  if constexpr (kSpread == kAffine) {
    if (map.beta_sum != nullptr) return MapLoop<kSpread, kRectify, kAccumulate, true>(row, map);
  }
  MapLoop<kSpread, kRectify, kAccumulate, false>(row, map);
}

const NormalizationKernels* NormalizationTable() {
  static constexpr NormalizationKernels kTable = {
      .moments = StretchMoments,
      .add = AddRow,
      .deviations = Deviations,
      .normalize = {{Normalize<kNone, false>, Normalize<kNone, true>},
                    {Normalize<kAffine, false>, Normalize<kAffine, true>},
                    {Normalize<kAll, false>, Normalize<kAll, true>}},
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
