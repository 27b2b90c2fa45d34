// The offsets of special.h: the client's indices are checked and reduced to 16 bits in one pass.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/pooling/kernels_offsets.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

#include "ops/pooling/special.h"
#include "ops/pooling/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace bnns::impl::HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;
using D = hn::ScalableTag<float>;
using DI = hn::RebindToSigned<D>;
using V = hn::Vec<D>;
using VI = hn::Vec<DI>;

// The column of an offset from the first cell of the window. As an unsigned number, offset - row *
// width is smallest for the row that holds the cell, where it is the column; for earlier rows it is
// larger, and for later rows it wraps around to a very large number.
template <size_t kRows>
HWY_INLINE uint16_t ColumnOf(uint16_t offset, uint16_t width) {
  const auto second = static_cast<uint16_t>(offset - width);
  const auto third = static_cast<uint16_t>(second - width);
  const uint16_t column = HWY_MIN(offset, second);
  return kRows == 2 ? column : HWY_MIN(column, third);
}

template <size_t kColumns, size_t kRows, class T>
bool EncodeFew(const T* index, const PoolingOrigins& origins, size_t n, size_t width,
               uint16_t* offsets) {
  bool inside = true;
  for (size_t i = 0; i < n; ++i) {
    const uint32_t offset = static_cast<uint32_t>(index[i]) - origins.cell[i];
    offsets[i] = static_cast<uint16_t>(offset);
    uint16_t column = ColumnOf<kRows>(offsets[i], static_cast<uint16_t>(width));
    if (kColumns == 3) column = std::max(column, static_cast<uint16_t>(column - origins.column[i]));
    inside &= index[i] >> 31 == 0 && offset <= 3 * width && column < kColumns;
  }
  return inside;
}

#if HWY_TARGET == HWY_SCALAR

template <size_t kColumns, size_t kRows, class T>
bool EncodeBy(const T* index, const PoolingOrigins& origins, size_t n, size_t width,
              uint16_t* offsets) {
  return EncodeFew<kColumns, kRows>(index, origins, n, width, offsets);
}

#else

using D16 = hn::Repartition<uint16_t, D>;

// Loads the low 32 bits of a vector of indices and collects all their bits in `bits`.
HWY_INLINE VI LoadIndex(const uint64_t* from, hn::Vec<hn::Repartition<uint64_t, D> >& bits) {
  const hn::Repartition<uint64_t, D> wide;
  const DI di;
  const auto a = hn::LoadU(wide, from), b = hn::LoadU(wide, from + hn::Lanes(wide));
  bits = hn::Or(hn::Or(bits, a), b);
  return hn::ConcatEven(di, hn::BitCast(di, b), hn::BitCast(di, a));
}
HWY_INLINE VI LoadIndex(const uint32_t* from, hn::Vec<hn::RebindToUnsigned<D> >& bits) {
  const auto index = hn::LoadU(hn::RebindToUnsigned<D>(), from);
  bits = hn::Or(bits, index);
  return hn::BitCast(DI(), index);
}

// Narrows two int32 vectors to 16 bits, saturating. Targets narrow 128-bit blocks, one of each
// vector in turn; the table lookup restores the order.
HWY_INLINE hn::Vec<D16> Narrow(VI a, VI b) {
  const hn::Repartition<int16_t, D> d16;
  const hn::Repartition<uint64_t, D> pieces;
  constexpr int64_t kPieces = hn::MaxLanes(pieces);
  HWY_ALIGN int64_t from[kPieces];
  for (int64_t k = 0; k < kPieces; ++k) from[k] = 2 * k % kPieces + 2 * k / kPieces;
  const auto narrow = hn::BitCast(pieces, hn::ReorderDemote2To(d16, a, b));
  return hn::BitCast(D16(), hn::TableLookupLanes(narrow, hn::SetTableIndices(pieces, from)));
}

template <size_t kColumns, size_t kRows, class T>
bool EncodeBy(const T* index, const PoolingOrigins& origins, size_t n, size_t width,
              uint16_t* offsets) {
  const DI di;
  const D16 d16;
  const hn::Repartition<T, D> dt;
  const size_t lanes = hn::Lanes(di), step = 2 * lanes;
  if (n < step) return EncodeFew<kColumns, kRows>(index, origins, n, width, offsets);
  const auto rows = hn::Set(d16, static_cast<uint16_t>(width));
  const auto two_rows = hn::Add(rows, rows), last = hn::Set(d16, kColumns - 1);
  auto bits = hn::Zero(dt);
  auto largest = hn::Zero(d16);
  const auto* cells = reinterpret_cast<const int32_t*>(origins.cell);
  const uint16_t* columns = origins.column;
  const auto offset = [&](size_t i) HWY_ATTR __attribute__((always_inline)) {
    return hn::Sub(LoadIndex(index + i, bits), hn::LoadU(di, cells + i));
  };
  const auto at = [&](size_t i) HWY_ATTR __attribute__((always_inline)) {
    const VI first = offset(i);
    const auto from = Narrow(first, offset(i + lanes));
    hn::StoreU(from, d16, offsets + i);
    auto column = hn::Min(from, hn::Sub(from, rows));
    if constexpr (kRows == 3) column = hn::Min(column, hn::Sub(from, two_rows));
    largest = hn::Max(largest, column);
    if constexpr (kColumns == 3)
      largest = hn::Max(largest, hn::Sub(column, hn::LoadU(d16, columns + i)));
  };
  size_t i = 0;
  for (; i + 2 * step <= n; i += 2 * step) {
    at(i);
    at(i + step);
  }
  for (; i < n; i += step) at(HWY_MIN(i, n - step));
  const auto too_high = hn::And(bits, hn::Set(dt, ~T{0x7fffffff}));
  return hn::AllTrue(dt, hn::Eq(too_high, hn::Zero(dt))) &&
         hn::AllTrue(d16, hn::Eq(hn::Max(largest, last), last));
}

#endif

template <class T>
bool Encode(const T* index, const PoolingOrigins& origins, size_t n, const PoolingReach& reach,
            uint16_t* offsets) {
  const auto by = reach.columns == 2 ? EncodeBy<2, 2, T>
                  : reach.rows == 2  ? EncodeBy<3, 2, T>
                                     : EncodeBy<3, 3, T>;
  return by(index, origins, n, reach.width, offsets);
}

const PoolingOffsetKernels* PoolingOffsetTable() {
  static constexpr PoolingOffsetKernels kTable = {.encode_32 = Encode<uint32_t>,
                                                  .encode_64 = Encode<uint64_t>};
  return &kTable;
}

}  // namespace
}  // namespace bnns::impl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "core/target.h"

namespace bnns::impl {

HWY_EXPORT(PoolingOffsetTable);
const PoolingOffsetKernels* pooling_offset_kernels() {
  return pick(HWY_DISPATCH_TABLE(PoolingOffsetTable))();
}

}  // namespace bnns::impl
#endif
