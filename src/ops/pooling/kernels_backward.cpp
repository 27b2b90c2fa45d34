// The backward kernels of kernels.h. The loops over indices are plain C++; the compiler vectorizes
// them for each target.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/pooling/kernels_backward.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

#include "ops/pooling/kernels.h"
#include "ops/pooling/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace bnns::impl::HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;
using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;

// ---- Sums ----

void Divide(const float* g, const float* divisor, float factor, size_t n, float* q) {
  const D d;
  const V zero = hn::Zero(d), factors = hn::Set(d, factor);
  ForVectors(
      d, n, [&](size_t i, size_t m) HWY_ATTR __attribute__((always_inline)) {
        const V by = hn::Mul(LoadFirst(d, divisor + i, m), factors);
        const V part = hn::Div(LoadFirst(d, g + i, m), by);
        StoreFirst(d, hn::IfThenElse(hn::Eq(by, zero), zero, part), m, q + i);
      });
}

// A vector of sums over the taps t, t + step, ... of q(x - (t * dilation - pad) / stride).
template <int kStride>
HWY_INLINE V SumReaching(const float* q, size_t count, size_t dilation, size_t pad, size_t t,
                         size_t step) {
  const D d;
  V sum = hn::Zero(d);
  for (; t < count; t += step) {
    const ptrdiff_t shift = static_cast<ptrdiff_t>(t * dilation) - static_cast<ptrdiff_t>(pad);
    sum = hn::Add(sum, hn::LoadU(d, q - (kStride == 2 ? shift >> 1 : shift)));
  }
  return sum;
}

// At a stride of 2, taps whose distance from the padding is even reach even cells, the others odd
// cells. With an odd dilation these are alternate taps, with an even dilation all or none.
void SpreadBy2(const float* q, const PoolingTaps& taps, size_t pad, size_t n, float* row) {
  const D d;
  const size_t count = taps.count, dilation = taps.dilation, step = dilation % 2 != 0 ? 2 : 1;
  const size_t even = pad % 2 == 0 ? 0 : step == 2 ? 1 : count;
  const size_t odd = pad % 2 != 0 ? 0 : step == 2 ? 1 : count;
  for (size_t i = 0; 2 * i < n; i += hn::Lanes(d)) {
    hn::StoreInterleaved2(SumReaching<2>(q + i, count, dilation, pad, even, step),
                          SumReaching<2>(q + i, count, dilation, pad, odd, step), d, row + 2 * i);
  }
}

void SpreadRow(const float* padded, const PoolingTaps& taps, size_t pad, size_t n, float* row) {
  const D d;
  const float* q = padded + (taps.count - 1) * taps.dilation;
  if (taps.stride == 2) return SpreadBy2(q, taps, pad, n, row);
  for (size_t i = 0; i < n; i += hn::Lanes(d))
    hn::StoreU(SumReaching<1>(q + i, taps.count, taps.dilation, pad, 0, 1), d, row + i);
}

// The rows may be read up to a vector behind their end; factor and dx may not. kRows is the number
// of rows, or 0 for any number.
template <bool kFactor, bool kAccumulate, size_t kRows>
void AddRowsOf(const PoolingRows& rows, size_t n, const float* factor, float* dx) {
  const D d;
  const size_t count = kRows == 0 ? rows.count : kRows, lanes = hn::Lanes(d);
  const auto at = [&](size_t i, size_t m) HWY_ATTR __attribute__((always_inline)) {
    V sum = hn::Zero(d);
    for (size_t r = 0; r < count; ++r)
      sum = hn::Add(sum, hn::LoadU(d, rows.data + r * rows.step + i));
    if constexpr (kFactor) sum = hn::Mul(sum, LoadFirst(d, factor + i, m));
    if constexpr (kAccumulate) sum = hn::Add(LoadFirst(d, dx + i, m), sum);
    StoreFirst(d, sum, m, dx + i);
  };
  size_t i = 0;
  for (; i + lanes <= n; i += lanes) at(i, lanes);
  if (i < n) at(i, n - i);
}

template <bool kFactor, bool kAccumulate>
void AddRowsBy(const PoolingRows& rows, size_t n, const float* factor, float* dx) {
  const auto of = rows.count == 1   ? AddRowsOf<kFactor, kAccumulate, 1>
                  : rows.count == 2 ? AddRowsOf<kFactor, kAccumulate, 2>
                                    : AddRowsOf<kFactor, kAccumulate, 0>;
  of(rows, n, factor, dx);
}

void AddRows(const PoolingRows& rows, size_t n, const float* factor, bool accumulate, float* dx) {
  if (factor != nullptr)
    return (accumulate ? AddRowsBy<true, true> : AddRowsBy<true, false>)(rows, n, factor, dx);
  return (accumulate ? AddRowsBy<false, true> : AddRowsBy<false, false>)(rows, n, factor, dx);
}

// ---- Indices ----

// The top bit of `last` is clear, so v and last - v both have a clear top bit exactly if v <= last.
template <class T>
bool AllBelow(const T* index, size_t n, T limit) {
  const T last = limit - 1;
  T bits = 0;
  for (size_t i = 0; i < n; ++i) bits |= index[i] | (last - index[i]);
  return bits >> (8 * sizeof(T) - 1) == 0;
}

void Narrow(const uint64_t* index, size_t n, int32_t* to) {
  for (size_t i = 0; i < n; ++i) to[i] = static_cast<int32_t>(index[i]);
}

void Widen(const int32_t* index, size_t n, uint64_t* to) {
  for (size_t i = 0; i < n; ++i) to[i] = static_cast<uint32_t>(index[i]);
}

const PoolingBackwardKernels* PoolingBackwardTable() {
  static constexpr PoolingBackwardKernels kTable = {.divide = Divide,
                                                    .spread_row = SpreadRow,
                                                    .add_rows = AddRows,
                                                    .all_below_32 = AllBelow<uint32_t>,
                                                    .all_below_64 = AllBelow<uint64_t>,
                                                    .narrow = Narrow,
                                                    .widen = Widen};
  return &kTable;
}

}  // namespace
}  // namespace bnns::impl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "core/target.h"

namespace bnns::impl {

HWY_EXPORT(PoolingBackwardTable);
const PoolingBackwardKernels* pooling_backward_kernels() {
  return pick(HWY_DISPATCH_TABLE(PoolingBackwardTable))();
}

}  // namespace bnns::impl
#endif
