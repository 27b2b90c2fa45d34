// A panel of A times a panel of B in registers: kM rows x kN vectors of C.
//   P[m][n] = sum over k of a[k * mr + m] b[k * nr + n],  C = alpha P + beta C + bias
// Chains of products are joined pairwise, blocks of depth with a compensated sum.

#if defined(OPENBNNS_OPS_GEMM_TILE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef OPENBNNS_OPS_GEMM_TILE_INL_H_
#undef OPENBNNS_OPS_GEMM_TILE_INL_H_
#else
#define OPENBNNS_OPS_GEMM_TILE_INL_H_
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <utility>

#include "ops/gemm/kernels.h"
#include "ops/gemm/tree-inl.h"

HWY_BEFORE_NAMESPACE();
namespace bnns::impl::HWY_NAMESPACE {
namespace gemm {

// As many sums as the registers hold beside two vectors of B and one value of A.
#if HWY_TARGET == HWY_SCALAR
constexpr size_t kRows = 4;
#elif HWY_TARGET <= HWY_AVX3 && HWY_ARCH_X86
constexpr size_t kRows = 12;
#elif HWY_ARCH_ARM_A64
constexpr size_t kRows = 8;
#else
constexpr size_t kRows = 6;
#endif
constexpr size_t kVectors = 2;
constexpr size_t kColumns = kVectors * hn::MaxLanes(D());
constexpr size_t kLevels = 5;
static_assert(kGemmDepth <= kGemmChain << kLevels);

// Products of depth k, set or added.
template <size_t kM, size_t kN, bool kSet>
HWY_INLINE void Step(const float* HWY_RESTRICT a, const float* HWY_RESTRICT b, V (&sums)[kM * kN]) {
  const D d;
  V row[kN];
  HWY_UNROLL(2)
  for (size_t y = 0; y < kN; ++y) row[y] = hn::Load(d, b + y * hn::Lanes(d));
  HWY_UNROLL(16)
  for (size_t x = 0; x < kM; ++x) {
    const V factor = hn::Set(d, a[x]);
    HWY_UNROLL(2)
    for (size_t y = 0; y < kN; ++y) {
      V& sum = sums[x * kN + y];
      sum = kSet ? hn::Mul(factor, row[y]) : hn::MulAdd(factor, row[y], sum);
    }
  }
}

// Eight products, the first of them set or added.
template <size_t kM, size_t kN, bool kSet>
HWY_INLINE void Eight(const float* HWY_RESTRICT a, const float* HWY_RESTRICT b,
                      V (&sums)[kM * kN]) {
  Step<kM, kN, kSet>(a, b, sums);
  HWY_UNROLL(8)
  for (size_t k = 1; k < 8; ++k) Step<kM, kN, false>(a + k * kRows, b + k * kColumns, sums);
}

// `n` products, at least one.
template <size_t kM, size_t kN>
HWY_INLINE void Chain(const float* HWY_RESTRICT a, const float* HWY_RESTRICT b, size_t n,
                      V (&sums)[kM * kN]) {
  size_t k = 1;
  if (HWY_LIKELY(n >= 8)) {
    Eight<kM, kN, true>(a, b, sums);
    for (k = 8; k + 8 <= n; k += 8) Eight<kM, kN, false>(a + k * kRows, b + k * kColumns, sums);
  } else {
    Step<kM, kN, true>(a, b, sums);
  }
  for (; k < n; ++k) Step<kM, kN, false>(a + k * kRows, b + k * kColumns, sums);
}

template <size_t kM, size_t kN>
HWY_INLINE void Product(const GemmTileJob& job, V (&sums)[kM * kN]) {
  const float* HWY_RESTRICT a = job.a;
  const float* HWY_RESTRICT b = job.b;
  size_t left = job.depth;
  SumTree<kM * kN, kLevels> tree;
  for (; left > kGemmChain; left -= kGemmChain) {
    Chain<kM, kN>(a, b, kGemmChain, sums);
    tree.Push(sums);
    a += kGemmChain * kRows;
    b += kGemmChain * kColumns;
  }
  Chain<kM, kN>(a, b, left, sums);
  tree.Finish(sums);
}

// Joins a tile with the blocks of depth before it: in `values`, or in sum_out if more follow.
HWY_NOINLINE void Join(const GemmTileJob& job, float* HWY_RESTRICT values) {
  const D d;
  constexpr size_t kLow = kRows * kColumns;
  for (size_t i = 0; i < job.rows * kColumns; i += hn::Lanes(d)) {
    V hi = hn::Load(d, values + i), lo = hn::Zero(d);
    if (job.sum_in != nullptr) {
      const V term = hi;
      hi = hn::Load(d, job.sum_in + i);
      lo = hn::Load(d, job.sum_in + kLow + i);
      TwoSum(hi, lo, term);
    }
    if (job.sum_out == nullptr) {
      hn::Store(Total(hi, lo), d, values + i);
    } else {
      hn::Store(hi, d, job.sum_out + i);
      hn::Store(lo, d, job.sum_out + kLow + i);
    }
  }
}

// The tile, kColumns apart, to C. Behind the last column C is not touched.
HWY_NOINLINE void Put(const GemmTileJob& job, const float* HWY_RESTRICT values) {
  const D d;
  const GemmTarget c = job.c;
  const V alpha = hn::Set(d, c.alpha), beta = hn::Set(d, c.beta);
  for (size_t x = 0; x < job.rows; ++x, values += kColumns) {
    float* HWY_RESTRICT to = c.data + x * c.row;
    const float row_bias = c.row_bias == nullptr ? 0 : c.row_bias[x];
    size_t n = 0;
    for (; n + hn::Lanes(d) <= job.columns; n += hn::Lanes(d)) {
      V value = hn::Mul(alpha, hn::Load(d, values + n));
      if (c.column_bias != nullptr) value = hn::Add(value, hn::LoadU(d, c.column_bias + n));
      if (c.row_bias != nullptr) value = hn::Add(value, hn::Set(d, row_bias));
      if (c.accumulate) value = hn::Add(hn::Mul(beta, hn::LoadU(d, to + n)), value);
      hn::StoreU(value, d, to + n);
    }
    for (; n < job.columns; ++n) {
      float value = c.alpha * values[n];
      if (c.column_bias != nullptr) value += c.column_bias[n];
      if (c.row_bias != nullptr) value += row_bias;
      to[n] = c.accumulate ? c.beta * to[n] + value : value;
    }
  }
}

template <size_t kM, size_t kN>
HWY_INLINE void StoreTile(const V (&sums)[kM * kN], float* to, size_t row) {
  const D d;
  HWY_UNROLL(16)
  for (size_t x = 0; x < kM; ++x) {
    HWY_UNROLL(2)
    for (size_t y = 0; y < kN; ++y)
      hn::StoreU(sums[x * kN + y], d, to + x * row + y * hn::Lanes(d));
  }
}

// A whole tile from registers to C.
template <size_t kM, size_t kN>
HWY_INLINE void PutTile(const GemmTarget& c, V (&sums)[kM * kN]) {
  const D d;
  const auto each = [&](auto change) HWY_ATTR {
    HWY_UNROLL(16)
    for (size_t x = 0; x < kM; ++x) {
      HWY_UNROLL(2)
      for (size_t y = 0; y < kN; ++y)
        sums[x * kN + y] = change(sums[x * kN + y], x, y * hn::Lanes(d));
    }
  };
  if (c.alpha != 1)
    each([&](V sum, size_t, size_t) HWY_ATTR { return hn::Mul(hn::Set(d, c.alpha), sum); });
  if (c.column_bias != nullptr) {
    each([&](V sum, size_t, size_t n)
             HWY_ATTR { return hn::Add(sum, hn::LoadU(d, c.column_bias + n)); });
  }
  if (c.row_bias != nullptr) {
    each([&](V sum, size_t m, size_t) HWY_ATTR { return hn::Add(sum, hn::Set(d, c.row_bias[m])); });
  }
  if (c.accumulate) {
    each([&](V sum, size_t m, size_t n) HWY_ATTR {
      return hn::Add(hn::Mul(hn::Set(d, c.beta), hn::LoadU(d, c.data + m * c.row + n)), sum);
    });
  }
  StoreTile<kM, kN>(sums, c.data, c.row);
}

template <size_t kM, size_t kN>
void TileOf(const GemmTileJob& job) {
  const GemmTarget& c = job.c;
  V sums[kM * kN];
  Product<kM, kN>(job, sums);
  const bool joined = job.sum_in != nullptr || job.sum_out != nullptr;
  if (!joined && job.columns == kN * hn::Lanes(D())) return PutTile<kM, kN>(c, sums);
  HWY_ALIGN float values[kRows * kColumns];
  StoreTile<kM, kN>(sums, values, kColumns);
  if (joined) Join(job, values);
  if (job.sum_out == nullptr) Put(job, values);
}

using TileFunction = void (*)(const GemmTileJob&);

template <size_t kN, size_t... kM>
constexpr TileFunction TileWith(std::index_sequence<kM...>, size_t rows) {
  constexpr TileFunction kTable[] = {TileOf<kM + 1, kN>...};
  return kTable[rows - 1];
}

// Tiles of few rows or one vector have code of their own: they do not compute the zeros.
HWY_INLINE void Tile(const GemmTileJob& job) {
  constexpr auto kAll = std::make_index_sequence<kRows>();
  const bool narrow = job.columns <= hn::Lanes(D());
  (narrow ? TileWith<1>(kAll, job.rows) : TileWith<kVectors>(kAll, job.rows))(job);
}

}  // namespace gemm
}  // namespace bnns::impl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // OPENBNNS_OPS_GEMM_TILE_INL_H_
