// Products that are not packed, see GemmDirect; axpy-inl.h has the other form of them.
//   dot: rows of A times rows of B, both contiguous along K; a lane of each vector is a chain.
// Chains of kGemmShortChain products are joined pairwise.

#if defined(OPENBNNS_OPS_GEMM_DIRECT_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef OPENBNNS_OPS_GEMM_DIRECT_INL_H_
#undef OPENBNNS_OPS_GEMM_DIRECT_INL_H_
#else
#define OPENBNNS_OPS_GEMM_DIRECT_INL_H_
#endif

#include <hwy/highway.h>

#include <algorithm>

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
// The sum of the blocks of four lanes.
template <class Tag, class Vector>
HWY_INLINE hn::Vec<hn::Full128<float>> SumBlocks(Tag, Vector v) {
  if constexpr (hn::MaxLanes(Tag()) == 4) {
    return v;
  } else {
    const hn::Half<Tag> half;
    return SumBlocks(half, hn::Add(hn::LowerHalf(half, v), hn::UpperHalf(half, v)));
  }
}

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
  return SumBlocks(d, blocks);
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
