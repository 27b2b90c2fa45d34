// Products that are not packed, see GemmDirect.
//   dot:  rows of A times rows of B, both contiguous along K; a lane of each vector is a chain.
//   axpy: rows of B, contiguous along N, times single values of A; one pass over B for each pair of
//         rows of C, for few rows, or for few products a sum (K).
// Chains of kGemmShortChain products are joined pairwise (dot) or with a compensated sum (axpy).

#if defined(OPENBNNS_OPS_GEMM_DIRECT_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef OPENBNNS_OPS_GEMM_DIRECT_INL_H_
#undef OPENBNNS_OPS_GEMM_DIRECT_INL_H_
#else
#define OPENBNNS_OPS_GEMM_DIRECT_INL_H_
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <cstring>

#include "ops/gemm/kernels.h"
#include "ops/gemm/tree-inl.h"

HWY_BEFORE_NAMESPACE();
namespace bnns::impl::HWY_NAMESPACE {
namespace gemm {

HWY_INLINE void PutOne(const GemmTarget& c, size_t m, size_t n, float sum) {
  float& value = c.data[m * c.row + n];
  if (c.alpha != 1) sum *= c.alpha;
  if (c.column_bias != nullptr) sum += c.column_bias[n];
  if (c.row_bias != nullptr) sum += c.row_bias[m];
  value = c.accumulate ? c.beta * value + sum : sum;
}

// `d` is the tag of the vector: whole ones, or the four sums of a dot tile.
template <class Tag, class Vector>
HWY_INLINE void PutVector(Tag d, const GemmTarget& c, size_t m, size_t n, Vector sum) {
  float* to = c.data + m * c.row + n;
  if (c.alpha != 1) sum = hn::Mul(hn::Set(d, c.alpha), sum);
  if (c.column_bias != nullptr) sum = hn::Add(sum, hn::LoadU(d, c.column_bias + n));
  if (c.row_bias != nullptr) sum = hn::Add(sum, hn::Set(d, c.row_bias[m]));
  if (c.accumulate) {
    auto old = hn::LoadU(d, to);
    if (c.beta != 1) old = hn::Mul(hn::Set(d, c.beta), old);
    sum = hn::Add(old, sum);
  }
  hn::StoreU(sum, d, to);
}

#if HWY_TARGET != HWY_SCALAR
// The four sums of lanes, with six shuffles instead of four times three.
HWY_INLINE hn::Vec<hn::Full128<float>> SumFour(V a, V b, V c, V e) {
  const D d;
  const hn::Repartition<double, D> pairs;
  const auto fold = [&](V x, V y) HWY_ATTR {
    return hn::BitCast(pairs, hn::Add(hn::InterleaveLower(d, x, y), hn::InterleaveUpper(d, x, y)));
  };
  const auto ab = fold(a, b), ce = fold(c, e);
  // Each block of four lanes adds up to {a, b, c, e}.
  const V blocks = hn::Add(hn::BitCast(d, hn::InterleaveLower(pairs, ab, ce)),
                           hn::BitCast(d, hn::InterleaveUpper(pairs, ab, ce)));
  const hn::Full128<float> four;
  HWY_ALIGN float parts[hn::MaxLanes(D())];
  hn::Store(blocks, d, parts);
  auto sum = hn::Load(four, parts);
  for (size_t i = 4; i < hn::Lanes(d); i += 4) sum = hn::Add(sum, hn::Load(four, parts + i));
  return sum;
}
#endif

// One vector of each of kM rows of A and kN rows of B.
template <size_t kM, size_t kN>
HWY_INLINE void DotStep(const GemmDirect& p, const float* a, const float* b, size_t i,
                        V (&sums)[kM * kN]) {
  const D d;
  V column[kN];
  HWY_UNROLL(4)
  for (size_t y = 0; y < kN; ++y) column[y] = hn::LoadU(d, b + y * p.b_row + i);
  HWY_UNROLL(4)
  for (size_t x = 0; x < kM; ++x) {
    const V left = hn::LoadU(d, a + x * p.a_row + i);
    HWY_UNROLL(4)
    for (size_t y = 0; y < kN; ++y)
      sums[x * kN + y] = hn::MulAdd(left, column[y], sums[x * kN + y]);
  }
}

// The whole vectors of K; kU chains for each sum hide the latency of the FMA. Returns their end.
template <size_t kM, size_t kN, size_t kU>
HWY_INLINE size_t DotVectors(const GemmDirect& p, const float* a, const float* b,
                             V (&total)[kM * kN]) {
  const D d;
  const size_t lanes = hn::Lanes(d), leaf = kGemmShortChain * kU * lanes;
  SumTree<kM * kN, 40> tree;
  V sums[kU][kM * kN];
  size_t i = 0;
  for (bool more = true; more;) {
    for (auto& u : sums)
      for (V& sum : u) sum = hn::Zero(d);
    more = i + leaf < p.k;
    const size_t end = more ? i + leaf : p.k;
    for (; i + kU * lanes <= end; i += kU * lanes)
      for (size_t u = 0; u < kU; ++u) DotStep<kM, kN>(p, a, b, i + u * lanes, sums[u]);
    for (; i + lanes <= end; i += lanes) DotStep<kM, kN>(p, a, b, i, sums[0]);
    for (size_t t = 0; t < kM * kN; ++t) {
      total[t] = sums[0][t];
      for (size_t u = 1; u < kU; ++u) total[t] = hn::Add(total[t], sums[u][t]);
    }
    if (more) tree.Push(total);
  }
  tree.Finish(total);
  return i;
}

template <size_t kM, size_t kN, size_t kU>
HWY_INLINE void DotTile(const GemmDirect& p, const GemmTarget& c, size_t m, size_t n) {
  const float *a = p.a + m * p.a_row, *b = p.b + n * p.b_row;
  V total[kM * kN];
  const size_t i = DotVectors<kM, kN, kU>(p, a, b, total);
  for (size_t x = 0; x < kM; ++x) {
    const auto tail = [&](size_t y) {
      float sum = 0;
      for (size_t t = i; t < p.k; ++t) sum += a[x * p.a_row + t] * b[y * p.b_row + t];
      return sum;
    };
#if HWY_TARGET != HWY_SCALAR
    if constexpr (kN == 4) {
      const hn::Full128<float> four;
      auto sum = SumFour(total[x * 4], total[x * 4 + 1], total[x * 4 + 2], total[x * 4 + 3]);
      if (i < p.k) {
        const float rest[4] = {tail(0), tail(1), tail(2), tail(3)};
        sum = hn::Add(sum, hn::LoadU(four, rest));
      }
      PutVector(four, c, m + x, n, sum);
      continue;
    }
#endif
    for (size_t y = 0; y < kN; ++y)
      PutOne(c, m + x, n + y, hn::GetLane(hn::SumOfLanes(D(), total[x * kN + y])) + tail(y));
  }
}

template <size_t kM, size_t kN, size_t kU>
HWY_INLINE void DotRows(const GemmDirect& p, const GemmTarget& c, size_t m, size_t n0, size_t n1) {
  size_t n = n0;
  for (; n + kN <= n1; n += kN) DotTile<kM, kN, kU>(p, c, m, n);
  for (; n < n1; ++n) DotTile<kM, 1, 2>(p, c, m, n);
}

HWY_INLINE void Dot(const GemmDirect& given, const GemmTarget& target, size_t m0, size_t m1,
                    size_t n0, size_t n1) {
  // Copies, which stores to C cannot change: their fields stay in registers.
  const GemmDirect p = given;
  const GemmTarget c = target;
  size_t m = m0;
  for (; m + 3 <= m1; m += 3) DotRows<3, 4, 1>(p, c, m, n0, n1);
  for (; m < m1; ++m) DotRows<1, 4, 2>(p, c, m, n0, n1);
}

// K = 1: one pass over C, row by row.
HWY_INLINE void OuterRow(const float* HWY_RESTRICT b, float factor, const GemmTarget& c, size_t m,
                         size_t n0, size_t n1) {
  const D d;
  const V left = hn::Set(d, factor);
  const bool plain =
      !c.accumulate && c.alpha == 1 && c.column_bias == nullptr && c.row_bias == nullptr;
  float* to = c.data + m * c.row;
  size_t n = n0;
  if (plain) {
    for (; n + hn::Lanes(d) <= n1; n += hn::Lanes(d))
      hn::StoreU(hn::Mul(left, hn::LoadU(d, b + n)), d, to + n);
  } else {
    for (; n + hn::Lanes(d) <= n1; n += hn::Lanes(d))
      PutVector(d, c, m, n, hn::Mul(left, hn::LoadU(d, b + n)));
  }
  for (; n < n1; ++n) PutOne(c, m, n, factor * b[n]);
}

// Columns of C whose sums stay in the first-level cache between two passes.
constexpr size_t kAxpyColumns = 1024;

// Products of a pass over B. More cost fewer passes over the sums, but read more rows at once.
constexpr size_t kAxpyTerms = 2 * kGemmShortChain;

// Products [k, k + steps) one after the other.
template <size_t kM, size_t kN>
HWY_INLINE void AxpyChain(const GemmDirect& p, const float* a, const float* b, size_t b_row,
                          size_t k, size_t steps, V (&sums)[kM * kN]) {
  const D d;
  const size_t lanes = hn::Lanes(d);
  HWY_UNROLL(4)
  for (size_t i = 0; i < kM * kN; ++i) sums[i] = hn::Zero(d);
  HWY_UNROLL(4)
  for (size_t end = k + steps; k < end; ++k) {
    HWY_UNROLL(2)
    for (size_t x = 0; x < kM; ++x) {
      const V factor = hn::Set(d, a[x * p.a_row + k * p.a_k]);
      HWY_UNROLL(2)
      for (size_t y = 0; y < kN; ++y) {
        V& sum = sums[x * kN + y];
        sum = hn::MulAdd(factor, hn::LoadU(d, b + k * b_row + y * lanes), sum);
      }
    }
  }
}

// kSteps products as a tree over chains.
template <size_t kM, size_t kN, size_t kSteps>
HWY_INLINE void AxpyTree(const GemmDirect& p, const float* a, const float* b, size_t b_row,
                         size_t k, V (&sums)[kM * kN]) {
  if constexpr (kSteps == kGemmShortChain) {
    AxpyChain<kM, kN>(p, a, b, b_row, k, kSteps, sums);
  } else {
    V right[kM * kN];
    AxpyTree<kM, kN, kSteps / 2>(p, a, b, b_row, k, sums);
    AxpyTree<kM, kN, kSteps / 2>(p, a, b, b_row, k + kSteps / 2, right);
    HWY_UNROLL(4)
    for (size_t i = 0; i < kM * kN; ++i) sums[i] = hn::Add(sums[i], right[i]);
  }
}

// Any number of products up to kAxpyTerms.
template <size_t kM, size_t kN>
HWY_INLINE void AxpyPart(const GemmDirect& p, const float* a, const float* b, size_t b_row,
                         size_t steps, V (&sums)[kM * kN]) {
  AxpyChain<kM, kN>(p, a, b, b_row, 0, std::min(kGemmShortChain, steps), sums);
  for (size_t k = kGemmShortChain; k < steps; k += kGemmShortChain) {
    V next[kM * kN];
    AxpyChain<kM, kN>(p, a, b, b_row, k, std::min(kGemmShortChain, steps - k), next);
    HWY_UNROLL(4)
    for (size_t i = 0; i < kM * kN; ++i) sums[i] = hn::Add(sums[i], next[i]);
  }
}

template <size_t kM, size_t kN>
HWY_INLINE void AxpyChains(const GemmDirect& p, const float* a, const float* b, size_t b_row,
                           size_t steps, V (&sums)[kM * kN]) {
  if (steps == kAxpyTerms) {
    AxpyTree<kM, kN, kAxpyTerms>(p, a, b, b_row, 0, sums);
  } else {
    AxpyPart<kM, kN>(p, a, b, b_row, steps, sums);
  }
}

// Sums of the passes before, hi and lo.
template <size_t kM>
struct AxpySums {
  HWY_ALIGN float hi[kM][kAxpyColumns];
  HWY_ALIGN float lo[kM][kAxpyColumns];
};

template <size_t kM, size_t kN>
HWY_INLINE void AxpyJoin(AxpySums<kM>& store, size_t at, bool first, bool last,
                         V (&sums)[kM * kN]) {
  const D d;
  const size_t lanes = hn::Lanes(d);
  HWY_UNROLL(2)
  for (size_t x = 0; x < kM; ++x) {
    HWY_UNROLL(2)
    for (size_t y = 0; y < kN; ++y) {
      float *hi_at = store.hi[x] + at + y * lanes, *lo_at = store.lo[x] + at + y * lanes;
      V hi = sums[x * kN + y], lo = hn::Zero(d);
      if (!first) {
        hi = hn::Load(d, hi_at);
        lo = hn::Load(d, lo_at);
        TwoSum(hi, lo, sums[x * kN + y]);
      }
      if (last) {
        sums[x * kN + y] = Total(hi, lo);
      } else {
        hn::Store(hi, d, hi_at);
        hn::Store(lo, d, lo_at);
      }
    }
  }
}

// One pass over products k0 to k0 + steps.
struct AxpyStep {
  size_t m, n0;
  size_t k0, steps;
  bool first, last;
};

template <size_t kM, size_t kN>
HWY_INLINE void AxpyColumns(const GemmDirect& p, const GemmTarget& c, const AxpyStep& s, size_t n,
                            AxpySums<kM>& store) {
  V sums[kM * kN];
  AxpyChains<kM, kN>(p, p.a + s.m * p.a_row + s.k0 * p.a_k, p.b + s.k0 * p.b_row + n, p.b_row,
                     s.steps, sums);
  if (!s.first || !s.last) AxpyJoin<kM, kN>(store, n - s.n0, s.first, s.last, sums);
  if (!s.last) return;
  HWY_UNROLL(2)
  for (size_t x = 0; x < kM; ++x) HWY_UNROLL(2)
  for (size_t y = 0; y < kN; ++y)
    PutVector(D(), c, s.m + x, n + y * hn::Lanes(D()), sums[x * kN + y]);
}

// Fewer columns than a vector: those of B through a buffer filled up with zeros, those of C through
// another.
template <size_t kM>
HWY_INLINE void AxpyTail(const GemmDirect& p, const GemmTarget& c, const AxpyStep& s, size_t n,
                         size_t columns, AxpySums<kM>& store) {
  const D d;
  const size_t lanes = hn::Lanes(d);
  HWY_ALIGN float padded[kAxpyTerms * hn::MaxLanes(D())] = {};
  for (size_t k = 0; k < s.steps; ++k)
    std::memcpy(padded + k * lanes, p.b + (s.k0 + k) * p.b_row + n, columns * sizeof(float));
  V sums[kM];
  AxpyChains<kM, 1>(p, p.a + s.m * p.a_row + s.k0 * p.a_k, padded, lanes, s.steps, sums);
  if (!s.first || !s.last) AxpyJoin<kM, 1>(store, n - s.n0, s.first, s.last, sums);
  for (size_t x = 0; s.last && x < kM; ++x) {
    hn::Store(sums[x], d, padded);
    for (size_t y = 0; y < columns; ++y) PutOne(c, s.m + x, n + y, padded[y]);
  }
}

template <size_t kM>
HWY_INLINE void AxpyRows(const GemmDirect& p, const GemmTarget& c, size_t m, size_t n0, size_t n1) {
  const size_t lanes = hn::Lanes(D());
  AxpySums<kM> store;
  for (size_t k0 = 0; k0 < p.k; k0 += kAxpyTerms) {
    const size_t steps = std::min(kAxpyTerms, p.k - k0);
    const AxpyStep s = {
        .m = m, .n0 = n0, .k0 = k0, .steps = steps, .first = k0 == 0, .last = k0 + steps == p.k};
    size_t n = n0;
    for (; n + 2 * lanes <= n1; n += 2 * lanes) AxpyColumns<kM, 2>(p, c, s, n, store);
    for (; n + lanes <= n1; n += lanes) AxpyColumns<kM, 1>(p, c, s, n, store);
    if (n < n1) AxpyTail<kM>(p, c, s, n, n1 - n, store);
  }
}

HWY_INLINE void Axpy(const GemmDirect& given, const GemmTarget& target, size_t m0, size_t m1,
                     size_t n0, size_t n1) {
  const GemmDirect p = given;
  const GemmTarget c = target;
  if (p.k == 1) {
    for (size_t m = m0; m < m1; ++m) OuterRow(p.b, p.a[m * p.a_row], c, m, n0, n1);
    return;
  }
  for (size_t n = n0; n < n1; n += kAxpyColumns) {
    const size_t end = std::min(n1, n + kAxpyColumns);
    size_t m = m0;
    for (; m + 2 <= m1; m += 2) AxpyRows<2>(p, c, m, n, end);
    for (; m < m1; ++m) AxpyRows<1>(p, c, m, n, end);
  }
}

// Sums of the columns of one vector in double: there is nothing to gain from float here, the
// additions wait for memory.
HWY_INLINE V VectorOfSums(const float* a, size_t row, size_t m) {
  const D d;
#if HWY_TARGET == HWY_SCALAR
  double sum = 0;
  for (size_t x = 0; x < m; ++x) sum += double{a[x * row]};
  return hn::Set(d, static_cast<float>(sum));
#else
  const hn::Half<D> half;
  const hn::Repartition<double, D> wide;
  auto low = hn::Zero(wide), high = hn::Zero(wide);
  for (size_t x = 0; x < m; ++x) {
    const V v = hn::LoadU(d, a + x * row);
    low = hn::Add(low, hn::PromoteTo(wide, hn::LowerHalf(half, v)));
    high = hn::Add(high, hn::PromoteTo(wide, hn::UpperHalf(half, v)));
  }
  return hn::Combine(d, hn::DemoteTo(half, high), hn::DemoteTo(half, low));
#endif
}

HWY_INLINE void ColumnSums(const float* a, size_t row, size_t m, size_t n, float* sums,
                           bool accumulate) {
  const D d;
  const size_t lanes = hn::Lanes(d);
  size_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    V sum = VectorOfSums(a + i, row, m);
    if (accumulate) sum = hn::Add(hn::LoadU(d, sums + i), sum);
    hn::StoreU(sum, d, sums + i);
  }
  for (; i < n; ++i) {
    double sum = 0;
    for (size_t x = 0; x < m; ++x) sum += double{a[x * row + i]};
    sums[i] = (accumulate ? sums[i] : 0) + static_cast<float>(sum);
  }
}

}  // namespace gemm
}  // namespace bnns::impl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // OPENBNNS_OPS_GEMM_DIRECT_INL_H_
