// The transposition of a block of values: to[i + k * to_row] = from[i * from_row + k].
//   Squares of as many rows as a vector of 128 bits has values are turned in registers: n stages,
//   each of which interleaves row i with row i + half, turn 2^n rows.
//   Two to four rows that lie side by side in one of the tensors are interleaved or taken apart.
//   What is left over is moved value by value.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/movement/kernels.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

#include <algorithm>

#include "core/target.h"
#include "ops/movement/move.h"

HWY_BEFORE_NAMESPACE();
namespace bnns::impl::HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;

template <class T>
HWY_INLINE void TurnValues(const T* from, size_t from_row, T* to, size_t to_row, size_t width,
                           size_t height) {
  for (size_t k = 0; k < height; ++k)
    for (size_t i = 0; i < width; ++i) to[i + k * to_row] = from[i * from_row + k];
}

#if HWY_TARGET != HWY_SCALAR

// The compiler knows all indices once the loops are unrolled, and keeps the rows in registers.
template <class T, size_t kRows = 16 / sizeof(T)>
HWY_INLINE void TurnSquare(const T* from, size_t from_row, T* to, size_t to_row) {
  const hn::Full128<T> d;
  hn::Vec<decltype(d)> row[kRows], next[kRows];
  HWY_UNROLL(16)
  for (size_t i = 0; i < kRows; ++i) row[i] = hn::LoadU(d, from + i * from_row);
  HWY_UNROLL(4)
  for (size_t stage = 1; stage < kRows; stage *= 2) {
    HWY_UNROLL(16)
    for (size_t i = 0; i < kRows / 2; ++i) {
      next[2 * i] = hn::InterleaveLower(d, row[i], row[i + kRows / 2]);
      next[2 * i + 1] = hn::InterleaveUpper(d, row[i], row[i + kRows / 2]);
    }
    HWY_UNROLL(16)
    for (size_t i = 0; i < kRows; ++i) row[i] = next[i];
  }
  HWY_UNROLL(16)
  for (size_t i = 0; i < kRows; ++i) hn::StoreU(row[i], d, to + i * to_row);
}

// Rows that are side by side in the target. Returns how many values of each were moved.
template <size_t kRows, class T>
HWY_INLINE size_t Interleave(const T* from, size_t from_row, T* to, size_t height) {
  const hn::ScalableTag<T> d;
  const size_t lanes = hn::Lanes(d);
  size_t k = 0;
  for (; k + lanes <= height; k += lanes) {
    const auto a = hn::LoadU(d, from + k), b = hn::LoadU(d, from + from_row + k);
    if constexpr (kRows == 2) {
      hn::StoreInterleaved2(a, b, d, to + k * kRows);
    } else {
      const auto c = hn::LoadU(d, from + 2 * from_row + k);
      if constexpr (kRows == 3) {
        hn::StoreInterleaved3(a, b, c, d, to + k * kRows);
      } else {
        hn::StoreInterleaved4(a, b, c, hn::LoadU(d, from + 3 * from_row + k), d, to + k * kRows);
      }
    }
  }
  return k;
}

// Rows that are side by side in the source.
template <size_t kRows, class T>
HWY_INLINE size_t TakeApart(const T* from, T* to, size_t to_row, size_t width) {
  const hn::ScalableTag<T> d;
  const size_t lanes = hn::Lanes(d);
  hn::Vec<decltype(d)> a, b, c, e;
  size_t i = 0;
  for (; i + lanes <= width; i += lanes) {
    if constexpr (kRows == 2) {
      hn::LoadInterleaved2(d, from + i * kRows, a, b);
    } else if constexpr (kRows == 3) {
      hn::LoadInterleaved3(d, from + i * kRows, a, b, c);
      hn::StoreU(c, d, to + 2 * to_row + i);
    } else {
      hn::LoadInterleaved4(d, from + i * kRows, a, b, c, e);
      hn::StoreU(c, d, to + 2 * to_row + i);
      hn::StoreU(e, d, to + 3 * to_row + i);
    }
    hn::StoreU(a, d, to + i);
    hn::StoreU(b, d, to + to_row + i);
  }
  return i;
}

// A cache line of the target at a time, so that it is written once.
template <class T>
void TurnRows(const T* from, size_t from_row, T* to, size_t to_row, size_t width, size_t height) {
  constexpr size_t kSquare = 16 / sizeof(T), kLine = 64 / sizeof(T);
  size_t i = 0;
  while (i + kSquare <= width) {
    const size_t end = i + std::min(kLine, (width - i) / kSquare * kSquare);
    size_t k = 0;
    for (; k + kSquare <= height; k += kSquare)
      for (size_t column = i; column < end; column += kSquare)
        TurnSquare(from + column * from_row + k, from_row, to + column + k * to_row, to_row);
    TurnValues(from + i * from_row + k, from_row, to + i + k * to_row, to_row, end - i, height - k);
    i = end;
  }
  TurnValues(from + i * from_row, from_row, to + i, to_row, width - i, height);
}

#endif

template <class T>
void Turn(const void* from_bytes, size_t from_row, void* to_bytes, size_t to_row, size_t width,
          size_t height) {
  const T* from = static_cast<const T*>(from_bytes);
  T* to = static_cast<T*>(to_bytes);
#if HWY_TARGET == HWY_SCALAR
  TurnValues(from, from_row, to, to_row, width, height);
#else
  size_t i = 0, k = 0;
  if (to_row == width && width <= 4) {
    if (width == 2) k = Interleave<2>(from, from_row, to, height);
    if (width == 3) k = Interleave<3>(from, from_row, to, height);
    if (width == 4) k = Interleave<4>(from, from_row, to, height);
    return TurnValues(from + k, from_row, to + k * to_row, to_row, width, height - k);
  }
  if (from_row == height && height <= 4) {
    if (height == 2) i = TakeApart<2>(from, to, to_row, width);
    if (height == 3) i = TakeApart<3>(from, to, to_row, width);
    if (height == 4) i = TakeApart<4>(from, to, to_row, width);
    return TurnValues(from + i * from_row, from_row, to + i, to_row, width - i, height);
  }
  TurnRows(from, from_row, to, to_row, width, height);
#endif
}

const MoveKernels* MoveTable() {
  static constexpr MoveKernels kTable = {
      {Turn<uint8_t>, Turn<uint16_t>, Turn<uint32_t>, Turn<uint64_t>}};
  return &kTable;
}

}  // namespace
}  // namespace bnns::impl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace bnns::impl {

HWY_EXPORT(MoveTable);

const MoveKernels* move_kernels() {
  return pick(HWY_DISPATCH_TABLE(MoveTable))();
}

}  // namespace bnns::impl
#endif
