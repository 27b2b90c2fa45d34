// The forward kernels of kernels.h.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/pooling/kernels.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

#include "ops/pooling/kernels.h"
#include "ops/pooling/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace bnns::impl::HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;
using D = hn::ScalableTag<float>;
using DI = hn::RebindToSigned<D>;
using V = hn::Vec<D>;
using VI = hn::Vec<DI>;

constexpr float kLowest = -std::numeric_limits<float>::infinity();

// ---- Maximum ----

// Like TakeLater, for values in any order: of equal values the one with the smaller cell is taken.
template <bool kNan>
HWY_INLINE void TakeAny(V v, VI cell, V& best, VI& best_cell) {
  const D d;
  const DI di;
  auto larger = hn::Gt(v, best), equal = hn::Eq(v, best);
  if constexpr (kNan) {
    const auto v_nan = hn::IsNaN(v), best_nan = hn::IsNaN(best);
    larger = hn::Or(larger, hn::AndNot(best_nan, v_nan));
    equal = hn::Or(equal, hn::And(best_nan, v_nan));
  }
  const auto earlier = hn::RebindMask(d, hn::Lt(cell, best_cell));
  const auto take = hn::Or(larger, hn::And(equal, earlier));
  best = hn::IfThenElse(take, v, best);
  best_cell = hn::IfThenElse(hn::RebindMask(di, take), cell, best_cell);
}

// kRows is the number of rows, or 0 for any number.
template <bool kCells, size_t kRows>
bool MaxColumnsOf(const PoolingRows& rows, size_t n, int32_t first_cell, int32_t cell_step,
                  float* columns, int32_t* cells) {
  const D d;
  const DI di;
  const size_t count = kRows == 0 ? rows.count : kRows;
  const VI step = hn::Set(di, cell_step);
  auto nan = hn::IsNaN(hn::Zero(d));
  ForVectors(
      d, n, [&](size_t i, size_t m) HWY_ATTR __attribute__((always_inline)) {
        VI cell = hn::Iota(di, first_cell + static_cast<int32_t>(i));
        V best = LoadFirst(d, rows.data + i, m);
        VI best_cell = cell;
        for (size_t r = 1; r < count; ++r) {
          cell = hn::Add(cell, step);
          TakeLater<kCells>(LoadFirst(d, rows.data + r * rows.step + i, m), cell, best, best_cell);
        }
        StoreFirst(d, best, m, columns + i);
        if constexpr (kCells) StoreFirst(di, best_cell, m, cells + i);
        nan = hn::Or(nan, hn::IsNaN(best));
      });
  return !hn::AllFalse(d, nan);
}

template <bool kCells>
bool MaxColumnsBy(const PoolingRows& rows, size_t n, int32_t first_cell, int32_t cell_step,
                  float* columns, int32_t* cells) {
  const auto of = rows.count == 2   ? MaxColumnsOf<kCells, 2>
                  : rows.count == 3 ? MaxColumnsOf<kCells, 3>
                                    : MaxColumnsOf<kCells, 0>;
  return of(rows, n, first_cell, cell_step, columns, cells);
}

bool MaxColumns(const PoolingRows& rows, size_t n, int32_t first_cell, int32_t cell_step,
                float* columns, int32_t* cells) {
  return (cells != nullptr ? MaxColumnsBy<true> : MaxColumnsBy<false>)(rows, n, first_cell,
                                                                       cell_step, columns, cells);
}

template <int kStride, bool kNan>
void MaxWindowsWithCells(const float* columns, const int32_t* cells, const PoolingTaps& taps,
                         size_t n, float bias, float* y, int32_t* index) {
  const D d;
  const DI di;
  ForVectors(
      d, n, [&](size_t i, size_t m) HWY_ATTR __attribute__((always_inline)) {
        V best = hn::Set(d, kLowest);
        VI best_cell = hn::Set(di, kNoCell);
        for (size_t t = 0; t < taps.count; ++t) {
          const size_t at = i * taps.stride + t * taps.dilation;
          TakeAny<kNan>(LoadStrided<kStride>(d, columns + at, taps.stride),
                        LoadStrided<kStride>(di, cells + at, taps.stride), best, best_cell);
        }
        StoreFirst(d, hn::Add(best, hn::Set(d, bias)), m, y + i);
        StoreFirst(di, best_cell, m, index + i);
      });
}

template <int kStride>
void MaxWindowsBy(const float* columns, const int32_t* cells, const PoolingTaps& taps, size_t n,
                  bool nan, float bias, float* y, int32_t* index) {
  if (index != nullptr) {
    return (nan ? MaxWindowsWithCells<kStride, true>
                : MaxWindowsWithCells<kStride, false>)(columns, cells, taps, n, bias, y, index);
  }
  const D d;
  ForVectors(
      d, n, [&](size_t i, size_t m) HWY_ATTR __attribute__((always_inline)) {
        V best = LoadStrided<kStride>(d, columns + i * taps.stride, taps.stride);
        VI unused = hn::Zero(DI());
        for (size_t t = 1; t < taps.count; ++t) {
          const size_t at = i * taps.stride + t * taps.dilation;
          TakeLater<false>(LoadStrided<kStride>(d, columns + at, taps.stride), unused, best,
                           unused);
        }
        StoreFirst(d, hn::Add(best, hn::Set(d, bias)), m, y + i);
      });
}

void MaxWindows(const float* columns, const int32_t* cells, const PoolingTaps& taps, size_t n,
                bool nan, float bias, float* y, int32_t* index) {
  const auto by = taps.stride == 1   ? MaxWindowsBy<1>
                  : taps.stride == 2 ? MaxWindowsBy<2>
                                     : MaxWindowsBy<0>;
  by(columns, cells, taps, n, nan, bias, y, index);
}

// ---- Sums ----

// kRows is the number of rows, or 0 for any number.
template <bool kSquares, size_t kRows>
void SumColumnsOf(const PoolingRows& rows, size_t n, float* columns) {
  const D d;
  const size_t count = kRows == 0 ? rows.count : kRows;
  ForVectors(
      d, n, [&](size_t i, size_t m) HWY_ATTR __attribute__((always_inline)) {
        V sum = hn::Zero(d);
        for (size_t r = 0; r < count; ++r) {
          const V x = LoadFirst(d, rows.data + r * rows.step + i, m);
          sum = kSquares ? hn::MulAdd(x, x, sum) : hn::Add(sum, x);
        }
        StoreFirst(d, sum, m, columns + i);
      });
}

template <bool kSquares>
void SumColumnsBy(const PoolingRows& rows, size_t n, float* columns) {
  const auto of = rows.count == 2   ? SumColumnsOf<kSquares, 2>
                  : rows.count == 3 ? SumColumnsOf<kSquares, 3>
                                    : SumColumnsOf<kSquares, 0>;
  of(rows, n, columns);
}

void SumColumns(const PoolingRows& rows, size_t n, bool squares, float* columns) {
  (squares ? SumColumnsBy<true> : SumColumnsBy<false>)(rows, n, columns);
}

// The sums over the taps of a vector of neighbouring windows. At a stride of 2, one deinterleaving
// load gives two adjacent taps.
template <int kStride, size_t kTaps>
HWY_INLINE V SumTaps(const float* from, const PoolingTaps& taps) {
  const D d;
  const size_t count = kTaps == 0 ? taps.count : kTaps;
  size_t t = 0;
  V sum = hn::Zero(d);
  if constexpr (kStride == 2) {
    for (; taps.dilation == 1 && t + 1 < count; t += 2) {
      V even, odd;
      hn::LoadInterleaved2(d, from + t, even, odd);
      sum = hn::Add(hn::Add(sum, even), odd);
    }
  }
  for (; t < count; ++t)
    sum = hn::Add(sum, LoadStrided<kStride>(d, from + t * taps.dilation, taps.stride));
  return sum;
}

template <int kStride, size_t kTaps>
void SumWindowsOf(const float* columns, const PoolingTaps& taps, size_t n, const float* divisor,
                  float factor, float bias, float* y) {
  const D d;
  const V zero = hn::Zero(d), factors = hn::Set(d, factor), added = hn::Set(d, bias);
  ForVectors(
      d, n, [&](size_t i, size_t m) HWY_ATTR __attribute__((always_inline)) {
        V sum = SumTaps<kStride, kTaps>(columns + i * taps.stride, taps);
        if (divisor != nullptr) {
          const V by = hn::Mul(LoadFirst(d, divisor + i, m), factors);
          sum = hn::IfThenElse(hn::Eq(by, zero), zero, hn::Div(sum, by));
        } else {
          sum = hn::Sqrt(sum);
        }
        StoreFirst(d, hn::Add(sum, added), m, y + i);
      });
}

template <int kStride>
void SumWindowsBy(const float* columns, const PoolingTaps& taps, size_t n, const float* divisor,
                  float factor, float bias, float* y) {
  const auto of = taps.count == 2   ? SumWindowsOf<kStride, 2>
                  : taps.count == 3 ? SumWindowsOf<kStride, 3>
                                    : SumWindowsOf<kStride, 0>;
  of(columns, taps, n, divisor, factor, bias, y);
}

void SumWindows(const float* columns, const PoolingTaps& taps, size_t n, const float* divisor,
                float factor, float bias, float* y) {
  const auto by = taps.stride == 1   ? SumWindowsBy<1>
                  : taps.stride == 2 ? SumWindowsBy<2>
                                     : SumWindowsBy<0>;
  by(columns, taps, n, divisor, factor, bias, y);
}

const PoolingKernels* PoolingTable() {
  static constexpr PoolingKernels kTable = {.max_columns = MaxColumns,
                                            .max_windows = MaxWindows,
                                            .sum_columns = SumColumns,
                                            .sum_windows = SumWindows};
  return &kTable;
}

}  // namespace
}  // namespace bnns::impl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "core/target.h"

namespace bnns::impl {

HWY_EXPORT(PoolingTable);
const PoolingKernels* pooling_kernels() {
  return pick(HWY_DISPATCH_TABLE(PoolingTable))();
}

}  // namespace bnns::impl
#endif
