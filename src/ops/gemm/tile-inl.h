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
constexpr size_t kLevels = 6;
static_assert(kGemmDepth / kGemmChain < 1 << kLevels);

// Products of depth k added.
template <size_t kM, size_t kN>
HWY_INLINE void Step(const float* HWY_RESTRICT a, const float* HWY_RESTRICT b, V (&sums)[kM * kN]) {
  const D d;
  V row[kN];
  HWY_UNROLL(2)
  for (size_t y = 0; y < kN; ++y) row[y] = hn::Load(d, b + y * hn::Lanes(d));
  HWY_UNROLL(16)
  for (size_t x = 0; x < kM; ++x) {
    const V factor = hn::Set(d, a[x]);
    HWY_UNROLL(2)
    for (size_t y = 0; y < kN; ++y) sums[x * kN + y] = hn::MulAdd(factor, row[y], sums[x * kN + y]);
  }
}

// `n` steps.
template <size_t kM, size_t kN>
HWY_INLINE void Steps(const float* HWY_RESTRICT a, const float* HWY_RESTRICT b, size_t n,
                      V (&sums)[kM * kN]) {
  for (; n >= 2; n -= 2, a += 2 * kRows, b += 2 * kColumns) {
    Step<kM, kN>(a, b, sums);
    Step<kM, kN>(a + kRows, b + kColumns, sums);
  }
  if (n != 0) Step<kM, kN>(a, b, sums);
}

// The sums of all chains. A row's chain ends one step after that of the row before it: stores that
// come in one burst would keep the multipliers waiting, twenty cycles of two hundred.
template <size_t kM, size_t kN>
HWY_INLINE void Product(const GemmTileJob& job, V (&sums)[kM * kN]) {
  const float* HWY_RESTRICT a = job.a;
  const float* HWY_RESTRICT b = job.b;
  SumTree<kM * kN, kLevels> tree;
  // What is left over comes first, and so little that the last row's chain is not too long.
  size_t n = (job.depth - 1) % kGemmChain + 1;
  if (n < job.depth && n > kGemmChain - (kM - 1)) n -= kM;
  HWY_UNROLL(24)
  for (size_t i = 0; i < kM * kN; ++i) sums[i] = hn::Zero(D());
  Steps<kM, kN>(a, b, n, sums);
  for (size_t k = n; k < job.depth; k += n) {
    a += n * kRows;
    b += n * kColumns;
    n = (job.depth - k - 1) % kGemmChain + 1;
    HWY_UNROLL(16)
    for (size_t x = 0; x < kM; ++x) {
      tree.template PushPart<kN>(x * kN, sums);
      HWY_UNROLL(2)
      for (size_t y = 0; y < kN; ++y) sums[x * kN + y] = hn::Zero(D());
      Step<kM, kN>(a + x * kRows, b + x * kColumns, sums);
    }
    tree.Next();
    Steps<kM, kN>(a + kM * kRows, b + kM * kColumns, n - kM, sums);
  }
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
