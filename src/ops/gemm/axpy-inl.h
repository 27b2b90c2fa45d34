// Products of unpacked operands, with rows of B contiguous along N, see GemmDirect.
//   axpy: rows of B times single values of A; one pass over B for each pair of rows of C. It serves
//         products with few rows, or with a small K.
// Chains of kGemmShortChain products are joined pairwise, and so are up to eight passes; these
// groups of passes are joined with a compensated sum. The rows of B that a pass reads are not
// adjacent, see AxpyRows.

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

// K = 1: an outer product, one pass over C, row by row.
HWY_INLINE void OuterRow(const float* HWY_RESTRICT b, float factor, const GemmTarget& c, size_t m,
                         size_t n0, size_t n1) {
  const D d;
  const V left = hn::Set(d, factor);
  const bool plain = c.epilogue.stores_sums();
  float* to = c.data + m * c.row;
  size_t n = n0;
  if (plain) {
    // Four vectors at a time: the speed of a one-vector loop depends on its alignment in the code.
    const size_t lanes = hn::Lanes(d);
    for (; n + 4 * lanes <= n1; n += 4 * lanes) {
      HWY_UNROLL(4)
      for (size_t y = 0; y < 4; ++y)
        hn::StoreU(hn::Mul(left, hn::LoadU(d, b + n + y * lanes)), d, to + n + y * lanes);
    }
    for (; n + lanes <= n1; n += lanes) hn::StoreU(hn::Mul(left, hn::LoadU(d, b + n)), d, to + n);
  } else {
    for (; n + hn::Lanes(d) <= n1; n += hn::Lanes(d))
      PutVector(d, c, m, n, hn::Mul(left, hn::LoadU(d, b + n)));
  }
  for (; n < n1; ++n) PutOne(c, m, n, factor * b[n]);
}

// Columns of C that are summed together: enough to read long pieces of the rows of B, few enough
// that the partial sums most passes touch stay in the first-level cache.
constexpr size_t kAxpyColumns = 4096;

// Products per pass over B. More of them mean fewer passes over the partial sums, but more rows
// that are read at once.
constexpr size_t kAxpyTerms = 2 * kGemmShortChain;

// Sums products [k, k + steps) one after the other.
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

// Sums kSteps products as a tree of chains.
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

// Sums any number of products up to kAxpyTerms.
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

// Partial sums of earlier passes: of the last 1, 2 and 4 passes as in SumTree, and of all complete
// groups of eight passes as hi and lo.
constexpr size_t kAxpyLevels = 3;
template <size_t kM>
struct AxpySums {
  static constexpr size_t kSumColumns = kAxpyColumns / kM;
  // The padding avoids equal offsets in a page, where the rows would compete for the same sets of
  // the first-level cache.
  static constexpr size_t kRow = kSumColumns + 160;
  HWY_ALIGN float level[kAxpyLevels][kM][kRow];
  HWY_ALIGN float hi[kM][kRow];
  HWY_ALIGN float lo[kM][kRow];
};

// One pass: where its products begin and how many there are. For a pass, a_k and b_row of
// GemmDirect are the distances between its products, which are not adjacent.
struct AxpyStep {
  size_t m, n0;
  const float *a, *b;
  size_t steps;
  size_t pass;
  bool last;

  size_t leaves() const { return pass % (1 << kAxpyLevels); }
  bool first_group() const { return pass >> kAxpyLevels == 0; }
};

template <size_t kM, size_t kN, class Function>
HWY_INLINE void AxpyEach(Function f) {
  HWY_UNROLL(2)
  for (size_t x = 0; x < kM; ++x) {
    HWY_UNROLL(4)
    for (size_t y = 0; y < kN; ++y) f(x, y * hn::Lanes(D()), x * kN + y);
  }
}

// Joins the sums of this pass with those of earlier passes, or stores them for later ones. `leaves`
// is that of the step; where it is a constant, the compiler knows which levels are joined.
template <size_t kM, size_t kN>
HWY_INLINE void AxpyJoin(AxpySums<kM>& store, size_t at, const AxpyStep& s, size_t leaves,
                         V (&sums)[kM * kN]) {
  const D d;
  size_t level = 0;
  for (size_t rest = leaves; s.last ? rest != 0 : (rest & 1) != 0; rest >>= 1, ++level) {
    if ((rest & 1) == 0) continue;
    AxpyEach<kM, kN>([&](size_t x, size_t y, size_t i) HWY_ATTR {
      sums[i] = hn::Add(sums[i], hn::Load(d, store.level[level][x] + at + y));
    });
  }
  if (!s.last && level < kAxpyLevels) {
    return AxpyEach<kM, kN>([&](size_t x, size_t y, size_t i) HWY_ATTR {
      hn::Store(sums[i], d, store.level[level][x] + at + y);
    });
  }
  if (s.last && s.first_group()) return;
  AxpyEach<kM, kN>([&](size_t x, size_t y, size_t i) HWY_ATTR {
    float *hi_at = store.hi[x] + at + y, *lo_at = store.lo[x] + at + y;
    V hi = sums[i], lo = hn::Zero(d);
    if (!s.first_group()) {
      hi = hn::Load(d, hi_at);
      lo = hn::Load(d, lo_at);
      TwoSum(hi, lo, sums[i]);
    }
    sums[i] = Total(hi, lo);
    if (s.last) return;
    hn::Store(hi, d, hi_at);
    hn::Store(lo, d, lo_at);
  });
}

template <size_t kM, size_t kN>
HWY_INLINE void AxpyPut(const GemmTarget& c, const AxpyStep& s, size_t n, AxpySums<kM>& store,
                        V (&sums)[kM * kN]) {
  AxpyJoin<kM, kN>(store, n - s.n0, s, s.leaves(), sums);
  if (!s.last) return;
  AxpyEach<kM, kN>([&](size_t x, size_t y, size_t i)
                       HWY_ATTR { PutVector(D(), c, s.m + x, n + y, sums[i]); });
}

template <size_t kM, size_t kN>
HWY_INLINE void AxpyColumns(const GemmDirect& p, const GemmTarget& c, const AxpyStep& s, size_t n,
                            AxpySums<kM>& store) {
  V sums[kM * kN];
  AxpyChains<kM, kN>(p, s.a, s.b + n, p.b_row, s.steps, sums);
  AxpyPut<kM, kN>(c, s, n, store, sums);
}

// A whole pass for one row, with its factors in registers: only B is loaded, two cache lines of
// each row at a time. Returns the end of the columns that were done.
template <bool kLast, size_t kLeaves>
HWY_INLINE size_t AxpyPass(const GemmDirect& p, const GemmTarget& c, const AxpyStep& given,
                           size_t n1, AxpySums<1>& store) {
  const D d;
  const size_t lanes = hn::Lanes(d);
  constexpr size_t kN = 4;
  AxpyStep s = given;
  s.last = kLast;
  V factor[kAxpyTerms];
  HWY_UNROLL(8)
  for (size_t k = 0; k < kAxpyTerms; ++k) factor[k] = hn::Set(d, s.a[k * p.a_k]);
  size_t n = s.n0;
  for (; n + kN * lanes <= n1; n += kN * lanes) {
    const float* b = s.b + n;
    V sums[kN], right[kN];
    HWY_UNROLL(8)
    for (size_t k = 0; k < kAxpyTerms; ++k) {
      HWY_UNROLL(4)
      for (size_t y = 0; y < kN; ++y) {
        V& sum = k < kGemmShortChain ? sums[y] : right[y];
        const V row = hn::LoadU(d, b + k * p.b_row + y * lanes);
        sum = k % kGemmShortChain == 0 ? hn::Mul(factor[k], row) : hn::MulAdd(factor[k], row, sum);
      }
    }
    HWY_UNROLL(4)
    for (size_t y = 0; y < kN; ++y) sums[y] = hn::Add(sums[y], right[y]);
    if constexpr (kLast) {
      AxpyPut<1, kN>(c, s, n, store, sums);
    } else {
      AxpyJoin<1, kN>(store, n - s.n0, s, kLeaves, sums);
    }
  }
  return n;
}

// The trailing ones of `leaves` determine which levels are joined.
HWY_INLINE size_t AxpyFullPass(const GemmDirect& p, const GemmTarget& c, const AxpyStep& s,
                               size_t n1, AxpySums<1>& store) {
  const size_t leaves = s.leaves();
  if (s.last) return AxpyPass<true, 0>(p, c, s, n1, store);
  if ((leaves & 1) == 0) return AxpyPass<false, 0>(p, c, s, n1, store);
  if ((leaves & 2) == 0) return AxpyPass<false, 1>(p, c, s, n1, store);
  if ((leaves & 4) == 0) return AxpyPass<false, 3>(p, c, s, n1, store);
  return AxpyPass<false, 7>(p, c, s, n1, store);
}

// Fewer columns than a vector has lanes: B is copied to a buffer padded with zeros, and the results
// reach C through the same buffer.
template <size_t kM>
HWY_INLINE void AxpyTail(const GemmDirect& p, const GemmTarget& c, const AxpyStep& s, size_t n,
                         size_t columns, AxpySums<kM>& store) {
  const D d;
  const size_t lanes = hn::Lanes(d);
  HWY_ALIGN float padded[kAxpyTerms * hn::MaxLanes(D())] = {};
  for (size_t k = 0; k < s.steps; ++k)
    std::memcpy(padded + k * lanes, s.b + k * p.b_row + n, columns * sizeof(float));
  V sums[kM];
  AxpyChains<kM, 1>(p, s.a, padded, lanes, s.steps, sums);
  AxpyJoin<kM, 1>(store, n - s.n0, s, s.leaves(), sums);
  for (size_t x = 0; s.last && x < kM; ++x) {
    hn::Store(sums[x], d, padded);
    for (size_t y = 0; y < columns; ++y) PutOne(c, s.m + x, n + y, padded[y]);
  }
}

// Processes all columns of a pass.
template <size_t kM>
HWY_INLINE void AxpyColumnsOf(const GemmDirect& p, const GemmTarget& c, const AxpyStep& s,
                              size_t n1, AxpySums<kM>& store) {
  const size_t lanes = hn::Lanes(D());
  size_t n = s.n0;
  if constexpr (kM == 1) {
    if (s.steps == kAxpyTerms) n = AxpyFullPass(p, c, s, n1, store);
  }
  for (; n + 2 * lanes <= n1; n += 2 * lanes) AxpyColumns<kM, 2>(p, c, s, n, store);
  for (; n + lanes <= n1; n += lanes) AxpyColumns<kM, 1>(p, c, s, n, store);
  if (n < n1) AxpyTail<kM>(p, c, s, n, n1 - n, store);
}

// B is read in blocks of rows. A pass takes kAxpyTerms rows at equal distances from the block, the
// next pass the rows behind each of them. So every one of these read streams continues where it
// ended, which is up to a tenth faster than reading adjacent rows.
constexpr size_t kAxpyApart = 16;
template <size_t kM>
HWY_INLINE void AxpyRows(const GemmDirect& p, const GemmTarget& c, size_t m, size_t n0, size_t n1) {
  AxpySums<kM> store;
  size_t pass = 0;
  for (size_t k0 = 0; k0 < p.k;) {
    const size_t rest = p.k - k0, apart = std::min(kAxpyApart, rest / kAxpyTerms);
    const size_t steps = apart == 0 ? rest : kAxpyTerms, passes = std::max<size_t>(1, apart);
    GemmDirect far = p;
    far.a_k *= passes;
    far.b_row *= passes;
    for (size_t k = k0; k < k0 + passes; ++k, ++pass) {
      const AxpyStep s = {.m = m,
                          .n0 = n0,
                          .a = p.a + m * p.a_row + k * p.a_k,
                          .b = p.b + k * p.b_row,
                          .steps = steps,
                          .pass = pass,
                          .last = k0 + steps * passes == p.k && k + 1 == k0 + passes};
      AxpyColumnsOf<kM>(far, c, s, n1, store);
    }
    k0 += steps * passes;
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
  size_t m = m0;
  const auto rows = [&]<size_t kM>() HWY_ATTR {
    for (; m + kM <= m1; m += kM) {
      for (size_t n = n0; n < n1; n += AxpySums<kM>::kSumColumns)
        AxpyRows<kM>(p, c, m, n, std::min(n1, n + AxpySums<kM>::kSumColumns));
    }
  };
  rows.template operator()<2>();
  rows.template operator()<1>();
}

}  // namespace gemm
}  // namespace bnns::impl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // OPENBNNS_OPS_GEMM_AXPY_INL_H_
