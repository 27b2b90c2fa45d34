// Products of unpacked operands, see GemmDirect; axpy-inl.h has their other form.
//   dot: rows of A times rows of B, both contiguous along K; each lane sums a chain of its own.
// Chains of kGemmShortChain products are joined pairwise.

#if defined(OPENBNNS_OPS_GEMM_DIRECT_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef OPENBNNS_OPS_GEMM_DIRECT_INL_H_
#undef OPENBNNS_OPS_GEMM_DIRECT_INL_H_
#else
#define OPENBNNS_OPS_GEMM_DIRECT_INL_H_
#endif

#include <hwy/highway.h>

#include <algorithm>

#include "ops/epilogue/epilogue-inl.h"
#include "ops/gemm/kernels.h"
#include "ops/gemm/tree-inl.h"

HWY_BEFORE_NAMESPACE();
namespace bnns::impl::HWY_NAMESPACE {
namespace gemm {

HWY_INLINE void PutOne(const GemmTarget& c, size_t m, size_t n, float sum) {
  epilogue::Put(c.epilogue, m, n, sum, c.data + m * c.row + n);
}

// `d` is the tag of the vector: a whole one, or the four sums of a dot tile.
template <class Tag, class Vector>
HWY_INLINE void PutVector(Tag d, const GemmTarget& c, size_t m, size_t n, Vector sum) {
  epilogue::Put(d, c.epilogue, m, n, sum, c.data + m * c.row + n);
}

#if HWY_TARGET != HWY_SCALAR
// Adds up the 128-bit blocks of a vector.
template <class Tag, class Vector>
HWY_INLINE hn::Vec<hn::Full128<float>> SumBlocks(Tag, Vector v) {
  if constexpr (hn::MaxLanes(Tag()) == 4) {
    return v;
  } else {
    const hn::Half<Tag> half;
    return SumBlocks(half, hn::Add(hn::LowerHalf(half, v), hn::UpperHalf(half, v)));
  }
}

// The horizontal sums of four vectors, with six shuffles instead of four times three.
HWY_INLINE hn::Vec<hn::Full128<float>> SumFour(V a, V b, V c, V e) {
  const D d;
  const hn::Repartition<double, D> pairs;
  const auto fold = [&](V x, V y) HWY_ATTR {
    return hn::BitCast(pairs, hn::Add(hn::InterleaveLower(d, x, y), hn::InterleaveUpper(d, x, y)));
  };
  const auto ab = fold(a, b), ce = fold(c, e);
  // In each 128-bit block the lanes are partial sums of a, b, c and e.
  const V blocks = hn::Add(hn::BitCast(d, hn::InterleaveLower(pairs, ab, ce)),
                           hn::BitCast(d, hn::InterleaveUpper(pairs, ab, ce)));
  return SumBlocks(d, blocks);
}
#endif

// Multiplies one vector of each of kM rows of A with one of each of kN rows of B. kFirst: the sums
// begin with these products.
template <size_t kM, size_t kN, bool kFirst = false>
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
    for (size_t y = 0; y < kN; ++y) {
      V& sum = sums[x * kN + y];
      sum = kFirst ? hn::Mul(left, column[y]) : hn::MulAdd(left, column[y], sum);
    }
  }
}

// A leaf of the tree: kU chains for each sum, side by side along K.
template <size_t kM, size_t kN, size_t kU>
HWY_INLINE void DotLeaf(const GemmDirect& p, const float* a, const float* b, size_t i,
                        V (&total)[kM * kN]) {
  const size_t lanes = hn::Lanes(D());
  V sums[kU][kM * kN];
  HWY_UNROLL(2)
  for (size_t u = 0; u < kU; ++u) DotStep<kM, kN, true>(p, a, b, i + u * lanes, sums[u]);
  HWY_UNROLL(4)
  for (size_t step = 1; step < kGemmShortChain; ++step) {
    HWY_UNROLL(2)
    for (size_t u = 0; u < kU; ++u) DotStep<kM, kN>(p, a, b, i + (step * kU + u) * lanes, sums[u]);
  }
  HWY_UNROLL(12)
  for (size_t t = 0; t < kM * kN; ++t) {
    total[t] = sums[0][t];
    for (size_t u = 1; u < kU; ++u) total[t] = hn::Add(total[t], sums[u][t]);
  }
}

// The last leaf, which ends with the last whole vector of K.
template <size_t kM, size_t kN, size_t kU>
HWY_INLINE size_t DotLastLeaf(const GemmDirect& p, const float* a, const float* b, size_t i,
                              V (&total)[kM * kN]) {
  const D d;
  const size_t lanes = hn::Lanes(d);
  V sums[kU][kM * kN];
  for (auto& u : sums)
    for (V& sum : u) sum = hn::Zero(d);
  for (; i + kU * lanes <= p.k; i += kU * lanes)
    for (size_t u = 0; u < kU; ++u) DotStep<kM, kN>(p, a, b, i + u * lanes, sums[u]);
  for (; i + lanes <= p.k; i += lanes) DotStep<kM, kN>(p, a, b, i, sums[0]);
  for (size_t t = 0; t < kM * kN; ++t) {
    total[t] = sums[0][t];
    for (size_t u = 1; u < kU; ++u) total[t] = hn::Add(total[t], sums[u][t]);
  }
  return i;
}

// Sums kLeaves leaves as a tree.
template <size_t kM, size_t kN, size_t kU, size_t kLeaves>
HWY_INLINE void DotTree(const GemmDirect& p, const float* a, const float* b, size_t i,
                        V (&total)[kM * kN]) {
  if constexpr (kLeaves == 1) {
    DotLeaf<kM, kN, kU>(p, a, b, i, total);
  } else {
    constexpr size_t kHalf = kLeaves / 2;
    V right[kM * kN];
    DotTree<kM, kN, kU, kHalf>(p, a, b, i, total);
    DotTree<kM, kN, kU, kHalf>(p, a, b, i + kHalf * kGemmShortChain * kU * hn::Lanes(D()), right);
    HWY_UNROLL(12)
    for (size_t t = 0; t < kM * kN; ++t) total[t] = hn::Add(total[t], right[t]);
  }
}

// Sums over the whole vectors of K and returns their end. kU chains for each sum hide the latency
// of the FMA. Where registers allow it, leaves are joined in groups first.
template <size_t kM, size_t kN, size_t kU>
HWY_INLINE size_t DotVectors(const GemmDirect& p, const float* a, const float* b,
                             V (&total)[kM * kN]) {
  constexpr size_t kGroup = kM == 1 ? 2 : 1;
  const size_t leaf = kGemmShortChain * kU * hn::Lanes(D());
  SumTree<kM * kN, 40> groups;
  SumTree<kM * kN, 3> leaves;
  size_t i = 0;
  for (; i + kGroup * leaf < p.k; i += kGroup * leaf) {
    DotTree<kM, kN, kU, kGroup>(p, a, b, i, total);
    groups.Push(total);
  }
  for (; i + leaf < p.k; i += leaf) {
    DotLeaf<kM, kN, kU>(p, a, b, i, total);
    leaves.Push(total);
  }
  i = DotLastLeaf<kM, kN, kU>(p, a, b, i, total);
  leaves.Finish(total);
  groups.Finish(total);
  return i;
}

// Sums the products behind the whole vectors of K, from i on.
HWY_INLINE float DotTail(const float* a, const float* b, size_t i, size_t k) {
  float sum = 0;
  for (; i < k; ++i) sum += a[i] * b[i];
  return sum;
}

#if HWY_TARGET != HWY_SCALAR
// The four results of a row of A, from the accumulators of its vectors.
HWY_INLINE hn::Vec<hn::Full128<float>> DotFour(const GemmDirect& p, const float* a, const float* b,
                                               size_t i, const V* total) {
  const auto sum = SumFour(total[0], total[1], total[2], total[3]);
  if (i == p.k) return sum;
  float rest[4];
  for (size_t y = 0; y < 4; ++y) rest[y] = DotTail(a, b + y * p.b_row, i, p.k);
  return hn::Add(sum, hn::LoadU(hn::Full128<float>(), rest));
}
#endif

template <size_t kM, size_t kN, size_t kU>
HWY_INLINE void DotTile(const GemmDirect& p, const GemmTarget& c, size_t m, size_t n) {
  const float *a = p.a + m * p.a_row, *b = p.b + n * p.b_row;
  V total[kM * kN];
  const size_t i = DotVectors<kM, kN, kU>(p, a, b, total);
  for (size_t x = 0; x < kM; ++x) {
    const float* row = a + x * p.a_row;
#if HWY_TARGET != HWY_SCALAR
    if constexpr (kN == 4) {
      PutVector(hn::Full128<float>(), c, m + x, n, DotFour(p, row, b, i, total + x * kN));
      continue;
    }
#endif
    for (size_t y = 0; y < kN; ++y) {
      const float sum = hn::GetLane(hn::SumOfLanes(D(), total[x * kN + y]));
      PutOne(c, m + x, n + y, sum + DotTail(row, b + y * p.b_row, i, p.k));
    }
  }
}

template <size_t kM, size_t kN, size_t kU>
HWY_INLINE void DotRows(const GemmDirect& p, const GemmTarget& c, size_t m, size_t n0, size_t n1) {
  size_t n = n0;
  for (; n + kN <= n1; n += kN) DotTile<kM, kN, kU>(p, c, m, n);
  for (; n < n1; ++n) DotTile<kM, 1, 2>(p, c, m, n);
}

#if HWY_TARGET != HWY_SCALAR
// One row of A times long rows of B, which is bound by reading B. The four rows of a tile are
// `apart` rows apart, so that each of the four read streams continues where it ended: 5 to 10 %
// faster than adjacent rows. Returns the end of the columns that were done.
HWY_INLINE size_t DotLongRows(const GemmDirect& p, const GemmTarget& c, size_t m, size_t n0,
                              size_t n1) {
  constexpr size_t kLong = 256, kApart = 16;
  if (p.k < kLong) return n0;
  const hn::Full128<float> four;
  const float* a = p.a + m * p.a_row;
  GemmDirect far = p;
  size_t n = n0;
  for (size_t apart; (apart = std::min(kApart, (n1 - n) / 4)) != 0; n += 4 * apart) {
    far.b_row = apart * p.b_row;
    float results[4 * kApart];
    for (size_t k = 0; k < apart; ++k) {
      const float* b = p.b + (n + k) * p.b_row;
      V total[4];
      const size_t i = DotVectors<1, 4, 2>(far, a, b, total);
      float each[4];
      hn::StoreU(DotFour(far, a, b, i, total), four, each);
      for (size_t y = 0; y < 4; ++y) results[y * apart + k] = each[y];
    }
    for (size_t k = 0; k < 4 * apart; k += 4)
      PutVector(four, c, m, n + k, hn::LoadU(four, results + k));
  }
  return n;
}
#endif

HWY_INLINE void Dot(const GemmDirect& given, const GemmTarget& target, size_t m0, size_t m1,
                    size_t n0, size_t n1) {
  // Local copies cannot be changed by stores to C, so that their fields stay in registers.
  const GemmDirect p = given;
  const GemmTarget c = target;
  size_t m = m0;
  for (; m + 3 <= m1; m += 3) DotRows<3, 4, 1>(p, c, m, n0, n1);
  for (; m < m1; ++m) {
    size_t n = n0;
#if HWY_TARGET != HWY_SCALAR
    n = DotLongRows(p, c, m, n0, n1);
#endif
    DotRows<1, 4, 2>(p, c, m, n, n1);
  }
}

// Column sums of one vector, in double: float would gain nothing, since the additions wait for
// memory.
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
