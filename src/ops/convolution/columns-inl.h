// Where the packed kernel takes the columns of a tile from, term by term. Those of the first
// channels come from the source and are written to a panel on the way, hidden behind the products;
// the other channels read the panel.

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
// Steps between two requests for columns of the next tile: few, so that they cost little, and as
// many as the cache can have under way.
constexpr size_t kAskSteps = 64;

// Columns [column, column + kN vectors) of a line, which begin at x in a row of outputs; [skip,
// end) of them are stored.
struct Place {
  size_t line, column, row, x, skip, end;
};

constexpr size_t kFewMoves = 6;

// Vectors that bring the columns of a tile, which may lie in several rows, side by side. What a
// vector writes too much the next one, or the next line of the panel, puts right.
struct Moves {
  size_t count = 0;
  size_t from[std::max(kTileColumns, kFewMoves)], to[std::max(kTileColumns, kFewMoves)];
};

Moves moves_of(const ConvolutionProducts& b, const Place& place) {
  const size_t lanes = hn::Lanes(D());
  Moves moves;
  size_t row = place.row, x = place.x;
  for (size_t at = 0; at < place.end; ++row, x = 0) {
    const size_t n = std::min(b.columns - x, place.end - at);
    for (size_t i = 0; i < n; i += lanes) {
      moves.from[moves.count] = row * b.x_row + x + i;
      moves.to[moves.count++] = at + i;
    }
    at += n;
  }
  return moves;
}

// kCount: moves, or 0 for any number.
template <size_t kCount>
HWY_NOINLINE void PackBy(const ConvolutionProducts& b, const Moves& moves, size_t k0, size_t depth,
                         float* panel, size_t pitch) {
  const D d;
  const size_t count = kCount > 0 ? kCount : moves.count;
  for (size_t k = k0; k < k0 + depth; ++k, panel += pitch) {
    const float* from = b.x + (b.x_plane > 0 ? static_cast<ptrdiff_t>(k * b.x_plane) : b.offset[k]);
    HWY_UNROLL(8)
    for (size_t i = 0; i < count; ++i)
      hn::StoreU(hn::LoadU(d, from + moves.from[i]), d, panel + moves.to[i]);
  }
}

void Pack(const ConvolutionProducts& b, const Moves& moves, size_t k0, size_t depth, float* panel,
          size_t pitch) {
  static constexpr decltype(&PackBy<0>) kByCount[kFewMoves + 1] = {
      PackBy<0>, PackBy<1>, PackBy<2>, PackBy<3>, PackBy<4>, PackBy<5>, PackBy<6>};
  kByCount[moves.count <= kFewMoves ? moves.count : 0](b, moves, k0, depth, panel, pitch);
}

// Terms of a packed tile.
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

// Vectors of a tile where they lie. One that goes on in the next row of the source takes the lanes
// of its mask from `rest`.
template <size_t kN>
struct Vectors {
  size_t from[kN], rest[kN];
  HWY_ALIGN float mask[kN * hn::MaxLanes(D())];
  bool breaks = false;
};

// False if they do not lie so: rows shorter than a vector, or a line shorter than the tile.
template <size_t kN>
bool find_vectors(const ConvolutionProducts& b, const Place& place, Vectors<kN>& tile) {
  const size_t lanes = hn::Lanes(D());
  if (place.end < kN * lanes || b.columns < lanes) return false;
  size_t at = place.row * b.x_row + place.x, x = place.x, before[kN];
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

// Terms of a tile from where they lie, packed while they are multiplied for the first time.
// kInPlace: planes of the source, whose vectors do not break.
template <size_t kN, bool kInPlace, bool kBreaks>
struct Packing {
  const float* x[kN];
  const float* rest[kN];
  const float* mask;
  size_t plane;
  const int32_t* offset;
  float* panel;

  Packing(const ConvolutionProducts& b, const Vectors<kN>& tile, size_t k0, float* to)
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
        // Not a blend, for which compilers keep a zero in one of the 16 registers.
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

// Fetches the lines of a tile's columns, but not one that has come with the tile before: that would
// take the place of one that is needed now.
template <size_t kN>
HWY_INLINE void Fetch(const float* columns) {
  constexpr size_t kLast = kN * hn::MaxLanes(D()) - 1, kFirst = kLast % kCacheLine;
  for (size_t i = kLast; i > kFirst; i -= kCacheLine) hwy::Prefetch(columns + i);
  const size_t in_line = reinterpret_cast<uintptr_t>(columns + kFirst) / sizeof(float) % kCacheLine;
  if (in_line <= kFirst) hwy::Prefetch(columns + kFirst);
}

// Asks for the columns of the next tile, some terms at a time, while this one is multiplied.
struct Ahead {
  const float* x = nullptr;
  size_t plane = 0, terms = 0;
  size_t steps = 0, left = 0;  // of the product for these terms, and before the next

  // Steps until the next terms are asked for, at most n.
  template <size_t kN>
  HWY_INLINE size_t run(size_t n) {
    n = std::min(n, left);
    left -= n;
    if (left == 0) ask<kN>();
    return n;
  }

  template <size_t kN>
  HWY_INLINE void ask() {
    for (size_t k = 0; k < terms; ++k, x += plane) Fetch<kN>(x);
    left = steps;
  }
};

// Columns that come from a buffer, which is in the cache.
struct NotAhead {
  template <size_t kN>
  HWY_INLINE size_t run(size_t n) const {
    return n;
  }
};

Ahead ahead_of(const ConvolutionProducts& b, const Place& place, size_t columns) {
  const size_t steps = (b.channels + kPanel - 1) / kPanel, terms = (kAskSteps + steps - 1) / steps;
  return {.x = b.x + place.line * b.x_row + place.column + columns,
          .plane = b.x_plane,
          .terms = terms,
          .steps = terms * steps,
          .left = terms * steps};
}

}  // namespace
}  // namespace bnns::impl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
