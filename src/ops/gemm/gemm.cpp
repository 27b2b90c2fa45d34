// Register tiles of the two product forms, see gemm.h. Rows of A are M, columns of C are N.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/gemm/gemm.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

#include <algorithm>
#include <cstring>

#include "ops/gemm/gemm.h"

HWY_BEFORE_NAMESPACE();
namespace bnns::impl::HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;
using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;

// Long sums are cut into blocks: each block starts from zero, which bounds the rounding error.
constexpr size_t kBlockK = 256;

HWY_INLINE void Put(const GemmTarget& c, size_t m, size_t n, float sum) {
  float& value = c.data[m * c.row + n];
  if (c.bias != nullptr) sum += c.bias[n];
  value = c.accumulate ? value + sum : sum;
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
  // Each block of four lanes now adds up to {a, b, c, e}.
  const V blocks = hn::Add(hn::BitCast(d, hn::InterleaveLower(pairs, ab, ce)),
                           hn::BitCast(d, hn::InterleaveUpper(pairs, ab, ce)));
  HWY_ALIGN float parts[hn::MaxLanes(D())];
  hn::Store(blocks, d, parts);
  const hn::Full128<float> four;
  auto sum = hn::Load(four, parts);
  for (size_t i = 4; i < hn::Lanes(d); i += 4) sum = hn::Add(sum, hn::Load(four, parts + i));
  return sum;
}

HWY_INLINE void PutFour(const GemmTarget& c, size_t m, size_t n, hn::Vec<hn::Full128<float>> sum) {
  const hn::Full128<float> four;
  float* to = c.data + m * c.row + n;
  if (c.bias != nullptr) sum = hn::Add(sum, hn::LoadU(four, c.bias + n));
  if (c.accumulate) sum = hn::Add(hn::LoadU(four, to), sum);
  hn::StoreU(sum, four, to);
}
#endif

// kM rows of A times kN rows of B, with kU independent sums each to hide the latency of the FMA.
template <size_t kM, size_t kN, size_t kU>
HWY_INLINE void DotTile(const GemmMatrix& a, const GemmMatrix& b, const GemmTarget& c, size_t k,
                        size_t m, size_t n) {
  const D d;
  const size_t lanes = hn::Lanes(d);
  V sums[kU][kM][kN];
  for (auto& u : sums)
    for (auto& row : u)
      for (V& sum : row) sum = hn::Zero(d);
  const float* a_row = a.data + m * a.row;
  const float* b_row = b.data + n * b.row;
  const auto step = [&](size_t i, V(&to)[kM][kN]) HWY_ATTR {
    V column[kN];
    for (size_t y = 0; y < kN; ++y) column[y] = hn::LoadU(d, b_row + y * b.row + i);
    for (size_t x = 0; x < kM; ++x) {
      const V left = hn::LoadU(d, a_row + x * a.row + i);
      for (size_t y = 0; y < kN; ++y) to[x][y] = hn::MulAdd(left, column[y], to[x][y]);
    }
  };
  size_t i = 0;
  for (; i + kU * lanes <= k; i += kU * lanes) {
    for (size_t u = 0; u < kU; ++u) step(i + u * lanes, sums[u]);
  }
  for (; i + lanes <= k; i += lanes) step(i, sums[0]);
  for (size_t x = 0; x < kM; ++x) {
    V row[kN];
    for (size_t y = 0; y < kN; ++y) {
      row[y] = sums[0][x][y];
      for (size_t u = 1; u < kU; ++u) row[y] = hn::Add(row[y], sums[u][x][y]);
    }
    const auto tail = [&](size_t y) {
      float sum = 0;
      for (size_t t = i; t < k; ++t) sum += a_row[x * a.row + t] * b_row[y * b.row + t];
      return sum;
    };
#if HWY_TARGET != HWY_SCALAR
    if constexpr (kN == 4) {
      auto sum = SumFour(row[0], row[1], row[2], row[3]);
      if (i < k) {
        const float rest[4] = {tail(0), tail(1), tail(2), tail(3)};
        sum = hn::Add(sum, hn::LoadU(hn::Full128<float>(), rest));
      }
      PutFour(c, m + x, n, sum);
      continue;
    }
#endif
    for (size_t y = 0; y < kN; ++y)
      Put(c, m + x, n + y, hn::GetLane(hn::SumOfLanes(d, row[y])) + tail(y));
  }
}

template <size_t kM, size_t kN, size_t kU>
HWY_INLINE void DotRows(const GemmMatrix& a, const GemmMatrix& b, const GemmTarget& c, size_t k,
                        size_t m, size_t n0, size_t n1) {
  size_t n = n0;
  for (; n + kN <= n1; n += kN) DotTile<kM, kN, kU>(a, b, c, k, m, n);
  for (; n < n1; ++n) DotTile<kM, 1, 2>(a, b, c, k, m, n);
}

void Dot(const GemmMatrix& a_given, const GemmMatrix& b_given, const GemmTarget& c_given, size_t k,
         const GemmTile& tile) {
  // Copies, which stores to C cannot change: their fields stay in registers.
  GemmMatrix a = a_given, b = b_given;
  GemmTarget c = c_given;
  // Every lane has its own sum, so that blocks may be longer than in the other form.
  const size_t block = 2 * kBlockK * hn::Lanes(D());
  for (size_t k0 = 0; k0 < k; k0 += block) {
    const size_t n = std::min(block, k - k0);
    size_t m = tile.m0;
    for (; m + 4 <= tile.m1; m += 4) DotRows<4, 3, 1>(a, b, c, n, m, tile.n0, tile.n1);
    for (; m < tile.m1; ++m) DotRows<1, 4, 2>(a, b, c, n, m, tile.n0, tile.n1);
    a.data += n;
    b.data += n;
    c.accumulate = true;
    c.bias = nullptr;
  }
}

// kM rows of C, kN vectors wide, from k0 to k1. `b` points to column 0 of the tile.
template <size_t kM, size_t kN>
HWY_INLINE void AxpyTile(const GemmMatrix& a, const float* b, size_t b_row, size_t k0, size_t k1,
                         size_t m, V (&sums)[kM][kN]) {
  const D d;
  const size_t lanes = hn::Lanes(d);
  for (auto& row : sums)
    for (V& sum : row) sum = hn::Zero(d);
  const float* left = a.data + m * a.row;
  for (size_t k = k0; k < k1; ++k) {
    V row[kN];
    for (size_t y = 0; y < kN; ++y) row[y] = hn::LoadU(d, b + k * b_row + y * lanes);
    for (size_t x = 0; x < kM; ++x) {
      const V factor = hn::Set(d, left[x * a.row + k * a.k]);
      for (size_t y = 0; y < kN; ++y) sums[x][y] = hn::MulAdd(factor, row[y], sums[x][y]);
    }
  }
}

template <size_t kM, size_t kN>
HWY_INLINE void AxpyWhole(const GemmMatrix& a, const GemmMatrix& b, const GemmTarget& c, size_t k0,
                          size_t k1, size_t m, size_t n) {
  const D d;
  const size_t lanes = hn::Lanes(d);
  V sums[kM][kN];
  AxpyTile<kM, kN>(a, b.data + n, b.row, k0, k1, m, sums);
  for (size_t x = 0; x < kM; ++x) {
    for (size_t y = 0; y < kN; ++y) {
      float* to = c.data + (m + x) * c.row + n + y * lanes;
      V sum = sums[x][y];
      if (k0 == 0 && c.bias != nullptr) sum = hn::Add(sum, hn::LoadU(d, c.bias + n + y * lanes));
      if (k0 > 0 || c.accumulate) sum = hn::Add(hn::LoadU(d, to), sum);
      hn::StoreU(sum, d, to);
    }
  }
}

// The last columns, fewer than a vector: B goes through a buffer filled up with zeros.
template <size_t kM>
HWY_INLINE void AxpyTail(const GemmMatrix& a, const GemmMatrix& b, const GemmTarget& c, size_t k0,
                         size_t k1, size_t m, size_t n, size_t columns) {
  const D d;
  const size_t lanes = hn::Lanes(d);
  HWY_ALIGN float padded[kBlockK * hn::MaxLanes(D())];
  for (size_t k = k0; k < k1; ++k) {
    float* row = padded + (k - k0) * lanes;
    std::memcpy(row, b.data + k * b.row + n, columns * sizeof(float));
    std::memset(row + columns, 0, (lanes - columns) * sizeof(float));
  }
  V sums[kM][1];
  const GemmMatrix shifted = {.data = a.data + k0 * a.k, .row = a.row, .k = a.k};
  AxpyTile<kM, 1>(shifted, padded, lanes, 0, k1 - k0, m, sums);
  HWY_ALIGN float out[hn::MaxLanes(D())];
  for (size_t x = 0; x < kM; ++x) {
    hn::Store(sums[x][0], d, out);
    const GemmTarget target = {.data = c.data,
                               .row = c.row,
                               .accumulate = k0 > 0 || c.accumulate,
                               .bias = k0 == 0 ? c.bias : nullptr};
    for (size_t y = 0; y < columns; ++y) Put(target, m + x, n + y, out[y]);
  }
}

template <size_t kM, size_t kN>
HWY_INLINE void AxpyRows(const GemmMatrix& a, const GemmMatrix& b, const GemmTarget& c, size_t k0,
                         size_t k1, size_t m, size_t n0, size_t n1) {
  const size_t lanes = hn::Lanes(D());
  size_t n = n0;
  for (; n + kN * lanes <= n1; n += kN * lanes) AxpyWhole<kM, kN>(a, b, c, k0, k1, m, n);
  if constexpr (kN > 2) {
    for (; n + 2 * lanes <= n1; n += 2 * lanes) AxpyWhole<kM, 2>(a, b, c, k0, k1, m, n);
  }
  for (; n + lanes <= n1; n += lanes) AxpyWhole<kM, 1>(a, b, c, k0, k1, m, n);
  if (n < n1) AxpyTail<kM>(a, b, c, k0, k1, m, n, n1 - n);
}

void Axpy(const GemmMatrix& a, const GemmMatrix& b, const GemmTarget& c, size_t k,
          const GemmTile& tile) {
  for (size_t k0 = 0; k0 < k; k0 += kBlockK) {
    const size_t k1 = std::min(k, k0 + kBlockK);
    size_t m = tile.m0;
    for (; m + 4 <= tile.m1; m += 4) AxpyRows<4, 2>(a, b, c, k0, k1, m, tile.n0, tile.n1);
    for (; m < tile.m1; ++m) AxpyRows<1, 8>(a, b, c, k0, k1, m, tile.n0, tile.n1);
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

void ColumnSums(const float* a, size_t row, size_t m, size_t n, float* sums, bool accumulate) {
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

const GemmKernels* GemmTable() {
  static constexpr GemmKernels kTable = {.dot = Dot, .axpy = Axpy, .column_sums = ColumnSums};
  return &kTable;
}

}  // namespace
}  // namespace bnns::impl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "core/target.h"

namespace bnns::impl {

HWY_EXPORT(GemmTable);
const GemmKernels* gemm_kernels() {
  return pick(HWY_DISPATCH_TABLE(GemmTable))();
}

}  // namespace bnns::impl
#endif
