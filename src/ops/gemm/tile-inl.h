// Rows of A times a panel of B in registers: kM rows x kN vectors of C.
//   P[m][n] = sum over k of A(m, k) b[k * b_step + n], then the epilogue
// Chains of kGemmChain products are joined pairwise, blocks of depth with a compensated sum.

#if defined(OPENBNNS_OPS_GEMM_TILE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef OPENBNNS_OPS_GEMM_TILE_INL_H_
#undef OPENBNNS_OPS_GEMM_TILE_INL_H_
#else
#define OPENBNNS_OPS_GEMM_TILE_INL_H_
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <utility>

#include "ops/epilogue/epilogue-inl.h"
#include "ops/gemm/kernels.h"
#include "ops/gemm/tree-inl.h"
#include "simd/register_barrier-inl.h"

HWY_BEFORE_NAMESPACE();
namespace bnns::impl::HWY_NAMESPACE {
namespace gemm {

// The accumulators fill the registers that two vectors of B and one value of A leave free.
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

// How the operands of a tile are laid out: both in panels; A in a panel and B with any distance
// between steps of depth; rows of A, contiguous along depth, and B with any distance.
enum class OperandLayout { kPanels, kAnyB, kRowsAnyB };

// Addresses of the operands of one step of depth.
template <OperandLayout kLayout>
struct Source {
  const float* a;
  const float* b;
  size_t a_row, b_step;

  HWY_INLINE Source At(size_t k) const {
    return {.a = a + (kLayout == OperandLayout::kRowsAnyB ? k : k * kRows),
            .b = b + k * (kLayout == OperandLayout::kPanels ? kColumns : b_step),
            .a_row = a_row,
            .b_step = b_step};
  }
  HWY_INLINE float Left(size_t x) const {
    return a[kLayout == OperandLayout::kRowsAnyB ? x * a_row : x];
  }
};

template <size_t kCount>
HWY_INLINE void Zeros(V (&sums)[kCount]) {
  HWY_UNROLL(24)
  for (size_t i = 0; i < kCount; ++i) sums[i] = hn::Zero(D());
}

// Adds the products of one step to the sums. The register barriers keep the loads of the next step
// from being hoisted into this one, where they would spill accumulators. kBegin: the old sums are
// stored in `last`, and new ones begin with this step.
template <size_t kM, size_t kN, bool kBegin = false, OperandLayout kLayout>
HWY_INLINE void Step(const Source<kLayout>& at, V (&sums)[kM * kN], float* last = nullptr) {
  const D d;
  V row[kN];
  HWY_UNROLL(2)
  for (size_t y = 0; y < kN; ++y) row[y] = hn::LoadU(d, at.b + y * hn::Lanes(d));
  HWY_UNROLL(16)
  for (size_t x = 0; x < kM; ++x) {
    const V factor = hn::Set(d, at.Left(x));
    HWY_UNROLL(2)
    for (size_t y = 0; y < kN; ++y) {
      V& sum = sums[x * kN + y];
      if (kBegin) hn::Store(sum, d, last + (x * kN + y) * hn::Lanes(d));
      sum = kBegin ? hn::Mul(factor, row[y]) : hn::MulAdd(factor, row[y], sum);
    }
    KeepInRegister(factor);
  }
  HWY_UNROLL(2)
  for (size_t y = 0; y < kN; ++y) KeepInRegister(row[y]);
}

// Unroll factor of the loops over depth: where a second hardware thread shares the core, issue
// slots for anything but products are scarce. Small tiles at the edges are not unrolled.
template <size_t kM, size_t kN>
constexpr size_t kRound = kN == kVectors && 2 * kM > kRows ? 4 : 1;

// Performs the steps of one round from step kFirst on.
template <size_t kM, size_t kN, size_t kFirst, OperandLayout kLayout>
HWY_INLINE void Round(const Source<kLayout>& at, V (&sums)[kM * kN]) {
  HWY_UNROLL(4)
  for (size_t k = kFirst; k < kRound<kM, kN>; ++k) Step<kM, kN>(at.At(k), sums);
}

template <size_t kM, size_t kN, OperandLayout kLayout>
HWY_INLINE void Steps(Source<kLayout> at, size_t n, V (&sums)[kM * kN]) {
  for (; n >= kRound<kM, kN>; n -= kRound<kM, kN>, at = at.At(kRound<kM, kN>))
    Round<kM, kN, 0>(at, sums);
  for (; n != 0; --n, at = at.At(1)) Step<kM, kN>(at, sums);
}

// Computes the sums over the whole depth, chain by chain.
template <size_t kM, size_t kN, OperandLayout kLayout>
HWY_INLINE void Product(Source<kLayout> at, size_t depth, V (&sums)[kM * kN]) {
  SumTree<kM * kN, kLevels> tree;
  // The first chain takes the remainder, so that all others have kGemmChain steps.
  size_t n = (depth - 1) % kGemmChain + 1;
  Zeros(sums);
  Steps<kM, kN>(at, n, sums);
  for (size_t k = n; k < depth; k += kGemmChain) {
    at = at.At(n);
    n = kGemmChain;
    // A chain is made of whole rounds: after single steps the compiler would hold the accumulators
    // in other registers and insert moves.
    Step<kM, kN, true>(at, sums, tree.Carry(sums));
    Round<kM, kN, 1>(at, sums);
    Steps<kM, kN>(at.At(kRound<kM, kN>), kGemmChain - kRound<kM, kN>, sums);
  }
  tree.Finish(sums);
}

// Adds a tile to the sums of the blocks of depth before it. The result goes to `values`, or to
// sum_out if more blocks follow.
HWY_NOINLINE void Join(size_t rows, const float* sum_in, float* sum_out,
                       float* HWY_RESTRICT values) {
  const D d;
  constexpr size_t kLow = kRows * kColumns;
  for (size_t i = 0; i < rows * kColumns; i += hn::Lanes(d)) {
    V hi = hn::Load(d, values + i), lo = hn::Zero(d);
    if (sum_in != nullptr) {
      const V term = hi;
      hi = hn::Load(d, sum_in + i);
      lo = hn::Load(d, sum_in + kLow + i);
      TwoSum(hi, lo, term);
    }
    if (sum_out == nullptr) {
      hn::Store(Total(hi, lo), d, values + i);
    } else {
      hn::Store(hi, d, sum_out + i);
      hn::Store(lo, d, sum_out + kLow + i);
    }
  }
}

// Stores a tile, whose rows are kColumns apart, to C. Nothing behind the last column is written.
// The epilogue is a local copy, which stores to C cannot change.
HWY_INLINE void PutRows(const GemmTarget& c, const Epilogue e, size_t rows, size_t columns,
                        const float* HWY_RESTRICT values) {
  const D d;
  for (size_t x = 0; x < rows; ++x, values += kColumns) {
    float* HWY_RESTRICT to = c.data + x * c.row;
    size_t n = 0;
    for (; n + hn::Lanes(d) <= columns; n += hn::Lanes(d))
      epilogue::Put(d, e, x, n, hn::Load(d, values + n), to + n);
    for (; n < columns; ++n) epilogue::Put(e, x, n, values[n], to + n);
  }
}

HWY_NOINLINE void PutValues(const GemmTarget& c, size_t rows, size_t columns,
                            const float* HWY_RESTRICT values) {
  const Epilogue& e = c.epilogue;
  if (!e.only_adds()) return PutRows(c, e, rows, columns, values);
  // The compiler sees that the other steps are absent and drops their branches: about 5 % of the
  // time of a product of 64 x 64 matrices.
  PutRows(c, {.row = {.bias = e.row.bias}, .column = {.bias = e.column.bias}}, rows, columns,
          values);
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

// Stores the tiles of a job. Fields that the loop over depth does not need stay in memory;
// otherwise the compiler would keep alpha and beta in registers that the accumulators need.
template <size_t kM, size_t kN>
class Tiles {
 public:
  explicit Tiles(const GemmTileJob& job)
      : job_(job),
        c_(job.c),
        joined_(job.sum_in != nullptr || job.sum_out != nullptr),
        direct_(!joined_ && job.columns == kN * hn::Lanes(D()) && job.c.epilogue.stores_sums()) {}

  // Prefetches the lines of C that the tile will write: stores that miss the cache would delay the
  // stores of the next tile, too.
  HWY_INLINE void Prefetch() const {
    if (job_.sum_out != nullptr) return;
    for (size_t x = 0; x < kM; ++x) __builtin_prefetch(c_.data + x * c_.row, 1);
  }

  HWY_INLINE void Put(const V (&sums)[kM * kN]) {
    if (HWY_LIKELY(direct_)) {
      StoreTile<kM, kN>(sums, c_.data, c_.row);
    } else {
      HWY_ALIGN float values[kRows * kColumns];
      StoreTile<kM, kN>(sums, values, kColumns);
      Finish(values);
    }
  }

  // Moves on to the next tile, which is below this one.
  HWY_INLINE void GoDown() {
    c_.data += kM * c_.row;
    ++tile_;
  }

 private:
  HWY_NOINLINE void Finish(float* values) {
    constexpr size_t kSum = 2 * kRows * kColumns;
    if (joined_) {
      Join(kM, job_.sum_in == nullptr ? nullptr : job_.sum_in + tile_ * kSum,
           job_.sum_out == nullptr ? nullptr : job_.sum_out + tile_ * kSum, values);
    }
    if (job_.sum_out != nullptr) return;
    GemmTarget c = c_;
    c.epilogue.row = c.epilogue.row.from(tile_ * kM);
    PutValues(c, kM, job_.columns, values);
  }

  const GemmTileJob& job_;
  GemmTarget c_;
  size_t tile_ = 0;
  const bool joined_, direct_;
};

template <size_t kM, size_t kN, OperandLayout kLayout>
void TilesOf(const GemmTileJob& job) {
  Tiles<kM, kN> tiles(job);
  Source<kLayout> at = {.a = job.a, .b = job.b, .a_row = job.a_row, .b_step = job.b_step};
  V sums[kM * kN];
  for (size_t i = 0; i < job.panels; ++i) {
    tiles.Prefetch();
    Product<kM, kN>(at, job.depth, sums);
    tiles.Put(sums);
    at.a += job.a_next;
    tiles.GoDown();
  }
}

using TileFunction = void (*)(const GemmTileJob&);

// Tiles with fewer rows or one vector have their own instances, which do not compute the padding.
template <OperandLayout kLayout, size_t... kM>
void TilesWith(std::index_sequence<kM...>, const GemmTileJob& job) {
  static constexpr TileFunction kTable[2][kRows] = {{TilesOf<kM + 1, kVectors, kLayout>...},
                                                    {TilesOf<kM + 1, 1, kLayout>...}};
  kTable[job.columns <= hn::Lanes(D())][job.rows - 1](job);
}

HWY_INLINE void Tile(const GemmTileJob& job) {
  constexpr auto kAll = std::make_index_sequence<kRows>();
  if (job.a_row != 0) return TilesWith<OperandLayout::kRowsAnyB>(kAll, job);
  if (job.b_step != kColumns) return TilesWith<OperandLayout::kAnyB>(kAll, job);
  TilesWith<OperandLayout::kPanels>(kAll, job);
}

}  // namespace gemm
}  // namespace bnns::impl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // OPENBNNS_OPS_GEMM_TILE_INL_H_
