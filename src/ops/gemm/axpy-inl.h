// Products that are not packed, with rows of B contiguous along N, see GemmDirect.
//   axpy: rows of B times single values of A; one pass over B for each pair of rows of C, for few
//         rows, or for few products a sum (K).
// Chains of kGemmShortChain products are joined pairwise, passes with a compensated sum.

#if defined(OPENBNNS_OPS_GEMM_AXPY_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef OPENBNNS_OPS_GEMM_AXPY_INL_H_
#undef OPENBNNS_OPS_GEMM_AXPY_INL_H_
#else
#define OPENBNNS_OPS_GEMM_AXPY_INL_H_
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <cstring>

#include "ops/gemm/direct-inl.h"
#include "ops/gemm/kernels.h"

HWY_BEFORE_NAMESPACE();
namespace bnns::impl::HWY_NAMESPACE {
namespace gemm {

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
HWY_INLINE void AxpyPut(const GemmTarget& c, const AxpyStep& s, size_t n, AxpySums<kM>& store,
                        V (&sums)[kM * kN]) {
  if (!s.first || !s.last) AxpyJoin<kM, kN>(store, n - s.n0, s.first, s.last, sums);
  if (!s.last) return;
  HWY_UNROLL(2)
  for (size_t x = 0; x < kM; ++x) HWY_UNROLL(2)
  for (size_t y = 0; y < kN; ++y)
    PutVector(D(), c, s.m + x, n + y * hn::Lanes(D()), sums[x * kN + y]);
}

template <size_t kM, size_t kN>
HWY_INLINE void AxpyColumns(const GemmDirect& p, const GemmTarget& c, const AxpyStep& s, size_t n,
                            AxpySums<kM>& store) {
  V sums[kM * kN];
  AxpyChains<kM, kN>(p, p.a + s.m * p.a_row + s.k0 * p.a_k, p.b + s.k0 * p.b_row + n, p.b_row,
                     s.steps, sums);
  AxpyPut<kM, kN>(c, s, n, store, sums);
}

// A whole pass of one row with its factors in registers: B is all that is loaded. Returns the end
// of the columns done.
HWY_INLINE size_t AxpyPass(const GemmDirect& p, const GemmTarget& c, const AxpyStep& s, size_t n1,
                           AxpySums<1>& store) {
  const D d;
  const size_t lanes = hn::Lanes(d);
  const float* a = p.a + s.m * p.a_row + s.k0 * p.a_k;
  V factor[kAxpyTerms];
  HWY_UNROLL(8)
  for (size_t k = 0; k < kAxpyTerms; ++k) factor[k] = hn::Set(d, a[k * p.a_k]);
  size_t n = s.n0;
  for (; n + 2 * lanes <= n1; n += 2 * lanes) {
    const float* b = p.b + s.k0 * p.b_row + n;
    V sums[2], right[2];
    HWY_UNROLL(2)
    for (size_t y = 0; y < 2; ++y) {
      const float* at = b + y * lanes;
      sums[y] = hn::Mul(factor[0], hn::LoadU(d, at));
      right[y] = hn::Mul(factor[kGemmShortChain], hn::LoadU(d, at + kGemmShortChain * p.b_row));
      HWY_UNROLL(4)
      for (size_t k = 1; k < kGemmShortChain; ++k) {
        const size_t other = k + kGemmShortChain;
        sums[y] = hn::MulAdd(factor[k], hn::LoadU(d, at + k * p.b_row), sums[y]);
        right[y] = hn::MulAdd(factor[other], hn::LoadU(d, at + other * p.b_row), right[y]);
      }
      sums[y] = hn::Add(sums[y], right[y]);
    }
    AxpyPut<1, 2>(c, s, n, store, sums);
  }
  return n;
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
    if constexpr (kM == 1) {
      if (steps == kAxpyTerms) n = AxpyPass(p, c, s, n1, store);
    }
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

}  // namespace gemm
}  // namespace bnns::impl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // OPENBNNS_OPS_GEMM_AXPY_INL_H_
