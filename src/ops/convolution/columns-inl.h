// Sources of the columns of a tile for the packed kernel, term by term (a term is one tap of one
// source channel). For the first output channels they are loaded from the source and written to a
// panel, hidden behind the products; the other channels read the panel.

#if defined(OPENBNNS_OPS_CONVOLUTION_COLUMNS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef OPENBNNS_OPS_CONVOLUTION_COLUMNS_INL_H_
#undef OPENBNNS_OPS_CONVOLUTION_COLUMNS_INL_H_
#else
#define OPENBNNS_OPS_CONVOLUTION_COLUMNS_INL_H_
#endif

#include <algorithm>
#include <cstdint>

#include "hwy/cache_control.h"
#include "hwy/highway.h"
#include "ops/convolution/kernels.h"

HWY_BEFORE_NAMESPACE();
namespace bnns::impl::HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;
using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;

constexpr size_t kTileColumns = kPackedVectors * hn::MaxLanes(D());
constexpr size_t kCacheLine = 16;  // floats
// Steps between two rounds of prefetches for the next tile: a round is rare enough to cost little,
// and has no more lines than the cache can have outstanding.
constexpr size_t kPrefetchSteps = 64;

// The columns of a tile: kN vectors from `column` on in a line of outputs. They begin at column x
// of output row `row`; [skip, end) of them are stored.
struct TilePosition {
  size_t line, column, row, x, skip, end;
};

// Number of copies up to which Pack has an unrolled loop.
constexpr size_t kFewCopies = 6;

// The copies of vectors that bring the columns of a tile, which may span several rows, together in
// the panel. A store may overrun; the next store, or the next line of the panel, overwrites the
// excess.
struct Copies {
  size_t count = 0;
  size_t from[std::max(kTileColumns, kFewCopies)], to[std::max(kTileColumns, kFewCopies)];
};

Copies copies_of(const ConvolutionProducts& b, const TilePosition& position) {
  const size_t lanes = hn::Lanes(D());
  Copies copies;
  size_t row = position.row, x = position.x;
  for (size_t at = 0; at < position.end; ++row, x = 0) {
    const size_t n = std::min(b.columns - x, position.end - at);
    for (size_t i = 0; i < n; i += lanes) {
      copies.from[copies.count] = row * b.x_row + x + i;
      copies.to[copies.count++] = at + i;
    }
    at += n;
  }
  return copies;
}

// kCount is the number of copies, or 0 for any number.
template <size_t kCount>
HWY_NOINLINE void PackBy(const ConvolutionProducts& b, const Copies& copies, size_t k0,
                         size_t depth, float* panel, size_t pitch) {
  const D d;
  const size_t count = kCount > 0 ? kCount : copies.count;
  for (size_t k = k0; k < k0 + depth; ++k, panel += pitch) {
    const float* from = b.x + (b.x_plane > 0 ? static_cast<ptrdiff_t>(k * b.x_plane) : b.offset[k]);
    HWY_UNROLL(8)
    for (size_t i = 0; i < count; ++i)
      hn::StoreU(hn::LoadU(d, from + copies.from[i]), d, panel + copies.to[i]);
  }
}

void Pack(const ConvolutionProducts& b, const Copies& copies, size_t k0, size_t depth, float* panel,
          size_t pitch) {
  static constexpr decltype(&PackBy<0>) kByCount[kFewCopies + 1] = {
      PackBy<0>, PackBy<1>, PackBy<2>, PackBy<3>, PackBy<4>, PackBy<5>, PackBy<6>};
  kByCount[copies.count <= kFewCopies ? copies.count : 0](b, copies, k0, depth, panel, pitch);
}

// Loads terms from the panel.
template <size_t kN>
struct Packed {
  const float* panel;

  HWY_INLINE void load(size_t i, V (&row)[kN]) const {
    const D d;
    HWY_UNROLL(3)
    for (size_t n = 0; n < kN; ++n) row[n] = hn::Load(d, panel + (i * kN + n) * hn::Lanes(d));
  }
  HWY_INLINE void advance(size_t n) { panel += n * kN * hn::Lanes(D()); }
};

// Addresses of the vectors of a tile in the source. A vector that crosses the end of a source row
// takes the lanes of its mask from `rest`, in the next row.
template <size_t kN>
struct SourceVectors {
  size_t from[kN], rest[kN];
  HWY_ALIGN float mask[kN * hn::MaxLanes(D())];
  bool breaks = false;
};

// Returns false if the vectors cannot be described so: rows shorter than a vector, or a line
// shorter than the tile.
template <size_t kN>
bool find_vectors(const ConvolutionProducts& b, const TilePosition& position,
                  SourceVectors<kN>& tile) {
  const size_t lanes = hn::Lanes(D());
  if (position.end < kN * lanes || b.columns < lanes) return false;
  size_t at = position.row * b.x_row + position.x, x = position.x, before[kN];
  for (size_t n = 0; n < kN; ++n) {
    const bool ends = x + lanes >= b.columns;
    const size_t gap = ends ? b.x_row - b.columns : 0;
    before[n] = ends ? b.columns - x : lanes;
    tile.breaks = tile.breaks || before[n] < lanes;
    tile.from[n] = at;
    tile.rest[n] = before[n] < lanes ? at + gap : at;
    at += lanes + gap;
    x = ends ? x + lanes - b.columns : x + lanes;
  }
  for (size_t n = 0; n < kN && tile.breaks; ++n)
    hn::Store(hn::VecFromMask(D(), hn::Not(hn::FirstN(D(), before[n]))), D(),
              tile.mask + n * lanes);
  return true;
}

// Loads terms from the source and packs them on the way. kInPlace: terms are planes of the source,
// whose vectors never cross the end of a row.
template <size_t kN, bool kInPlace, bool kBreaks>
struct Packing {
  const float* x[kN];
  const float* rest[kN];
  const float* mask;
  size_t plane;
  const int32_t* offset;
  float* panel;

  Packing(const ConvolutionProducts& b, const SourceVectors<kN>& tile, size_t k0, float* to)
      : mask(tile.mask), plane(b.x_plane), offset(kInPlace ? nullptr : b.offset + k0), panel(to) {
    for (size_t n = 0; n < kN; ++n) {
      x[n] = b.x + (kInPlace ? k0 * plane : 0) + tile.from[n];
      rest[n] = b.x + tile.rest[n];
    }
  }

  HWY_INLINE void load(size_t i, V (&row)[kN]) const {
    const D d;
    const size_t lanes = hn::Lanes(d);
    const ptrdiff_t at = kInPlace ? static_cast<ptrdiff_t>(i * plane) : offset[i];
    HWY_UNROLL(3)
    for (size_t n = 0; n < kN; ++n) {
      row[n] = hn::LoadU(d, x[n] + at);
      if (kBreaks) {
        // Bit operations instead of a blend, for which compilers keep a zero in one of the 16
        // registers.
        const V from_rest = hn::Load(d, mask + n * lanes);
        row[n] =
            hn::Or(hn::AndNot(from_rest, row[n]), hn::And(from_rest, hn::LoadU(d, rest[n] + at)));
      }
      hn::Store(row[n], d, panel + (i * kN + n) * lanes);
    }
  }
  HWY_INLINE void advance(size_t count) {
    panel += count * kN * hn::Lanes(D());
    if (!kInPlace) offset += count;
    for (size_t n = 0; n < kN && kInPlace; ++n) x[n] += count * plane;
  }
};

// Prefetches the cache lines that begin in the columns of a tile. A line that begins before them
// came with the previous tile; prefetching it again could evict a line that is needed now.
template <size_t kN>
HWY_INLINE void PrefetchColumns(const float* columns) {
  constexpr size_t kLast = kN * hn::MaxLanes(D()) - 1, kFirst = kLast % kCacheLine;
  for (size_t i = kLast; i > kFirst; i -= kCacheLine) hwy::Prefetch(columns + i);
  const size_t in_line = reinterpret_cast<uintptr_t>(columns + kFirst) / sizeof(float) % kCacheLine;
  if (in_line <= kFirst) hwy::Prefetch(columns + kFirst);
}

// Prefetches the columns of the next tile, some terms at a time, while this tile is multiplied.
struct NextTilePrefetch {
  const float* x = nullptr;
  size_t plane = 0, terms = 0;
  size_t steps = 0, left = 0;  // steps per round of prefetches; steps left until the next round

  // Returns the number of steps until the next round of prefetches, at most n.
  template <size_t kN>
  HWY_INLINE size_t run(size_t n) {
    n = std::min(n, left);
    left -= n;
    if (left == 0) prefetch<kN>();
    return n;
  }

  template <size_t kN>
  HWY_INLINE void prefetch() {
    for (size_t k = 0; k < terms; ++k, x += plane) PrefetchColumns<kN>(x);
    left = steps;
  }
};

// For columns in a buffer, which are in the cache already.
struct NoPrefetch {
  template <size_t kN>
  HWY_INLINE size_t run(size_t n) const {
    return n;
  }
};

NextTilePrefetch prefetch_of(const ConvolutionProducts& b, const TilePosition& position,
                             size_t columns) {
  const size_t steps = (b.channels + kPanel - 1) / kPanel,
               terms = (kPrefetchSteps + steps - 1) / steps;
  return {.x = b.x + position.line * b.x_row + position.column + columns,
          .plane = b.x_plane,
          .terms = terms,
          .steps = terms * steps,
          .left = terms * steps};
}

}  // namespace
}  // namespace bnns::impl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
