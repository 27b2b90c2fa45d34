// Products for many output channels. The columns of a tile are copied, block of depth by block of
// depth, into a panel that stays in the first-level cache while the weights of all channels pass
// by. Columns run on from row to row where the outputs do, so that no lane is wasted at row ends.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/convolution/kernels_packed.cpp"
#include "hwy/foreach_target.h"
#include "hwy/cache_control.h"
#include "hwy/highway.h"

#include <algorithm>

#include "ops/convolution/kernels.h"

HWY_BEFORE_NAMESPACE();
namespace bnns::impl::HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;
using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;

constexpr size_t kVectors = 3;
constexpr size_t kTileColumns = kVectors * hn::MaxLanes(D());
// Tiles packed at a time from a source that is no buffer; the columns of the next ones come to the
// second-level cache meanwhile.
constexpr size_t kTilesAtOnce = 4;
constexpr size_t kCacheLine = 16;
constexpr size_t kPrefetchDepth = 32;
// Channels whose sums wait in the first-level cache for the next block of depth.
constexpr size_t kChannels = 128;

// Terms of a block, the same for all blocks but the last.
size_t even_depth(size_t depth) {
  const size_t blocks = (depth + kDepthBlock - 1) / kDepthBlock;
  return (depth + blocks - 1) / blocks;
}

// Floats between tiles in the room, an odd number of cache lines.
size_t tile_room(const ConvolutionProducts& b) {
  return (b.depth * kVectors * hn::Lanes(D()) + 31) / 32 * 32 + kCacheLine;
}

// Columns [column, column + kN vectors) of a line; [skip, end) of them are stored.
struct Place {
  size_t line, column, skip, end;
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
  for (size_t at = 0; at < place.end;) {
    const size_t column = place.column + at, x = column % b.columns;
    const size_t n = std::min(b.columns - x, place.end - at);
    const size_t from = (place.line + column / b.columns) * b.x_row + x;
    for (size_t i = 0; i < n; i += lanes) {
      moves.from[moves.count] = from + i;
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
  constexpr decltype(&PackBy<0>) kByCount[kFewMoves + 1] = {
      PackBy<0>, PackBy<1>, PackBy<2>, PackBy<3>, PackBy<4>, PackBy<5>, PackBy<6>};
  kByCount[moves.count <= kFewMoves ? moves.count : 0](b, moves, k0, depth, panel, pitch);
}

template <size_t kM, size_t kN>
HWY_INLINE void Multiply(const float* HWY_RESTRICT panel, const float* HWY_RESTRICT weights,
                         size_t depth, V (&sums)[kM * kN]) {
  const D d;
  const size_t lanes = hn::Lanes(d);
  HWY_UNROLL(12)
  for (size_t i = 0; i < kM * kN; ++i) sums[i] = hn::Zero(d);
  for (size_t k = 0; k < depth; ++k, panel += kN * lanes, weights += kM) {
    V row[kN];
    HWY_UNROLL(3)
    for (size_t n = 0; n < kN; ++n) row[n] = hn::Load(d, panel + n * lanes);
    HWY_UNROLL(4)
    for (size_t m = 0; m < kM; ++m) {
      const V factor = hn::Set(d, weights[m]);
      HWY_UNROLL(3)
      for (size_t n = 0; n < kN; ++n)
        sums[m * kN + n] = hn::MulAdd(factor, row[n], sums[m * kN + n]);
    }
  }
}

// Whole vectors, next to each other.
template <size_t kM, size_t kN, bool kAccumulate>
HWY_INLINE void StoreWhole(float* HWY_RESTRICT to, size_t plane, const float* HWY_RESTRICT bias,
                           V (&sums)[kM * kN]) {
  const D d;
  const size_t lanes = hn::Lanes(d);
  HWY_UNROLL(4)
  for (size_t m = 0; m < kM; ++m) {
    HWY_UNROLL(3)
    for (size_t n = 0; n < kN; ++n) {
      V v = sums[m * kN + n];
      if (bias != nullptr) v = hn::Add(v, hn::Set(d, bias[m]));
      float* at = to + m * plane + n * lanes;
      if (kAccumulate) v = hn::Add(hn::LoadU(d, at), v);
      hn::StoreU(v, d, at);
    }
  }
}

// Columns [skip, end), any distance apart.
template <size_t kM, size_t kN>
HWY_NOINLINE void StoreApart(const ConvolutionProducts& b, size_t channel, const Place& place,
                             float* to, const float* sums) {
  const size_t columns = kN * hn::Lanes(D());
  for (size_t m = 0; m < kM; ++m) {
    const float bias = b.bias == nullptr ? 0 : b.bias[channel + m];
    for (size_t i = place.skip; i < place.end; ++i) {
      float& value = to[m * b.out_plane + i * b.out_step];
      const float sum = b.bias == nullptr ? sums[m * columns + i] : sums[m * columns + i] + bias;
      value = b.accumulate ? value + sum : sum;
    }
  }
}

template <size_t kM, size_t kN>
HWY_INLINE void Store(const ConvolutionProducts& b, size_t channel, const Place& place,
                      V (&sums)[kM * kN]) {
  const D d;
  const size_t lanes = hn::Lanes(d);
  float* to = b.out + channel * b.out_plane + place.line * b.out_row + place.column * b.out_step;
  const float* bias = b.bias == nullptr ? nullptr : b.bias + channel;
  if (b.out_step == 1 && place.end == kN * lanes) {
    if (!b.accumulate) return StoreWhole<kM, kN, false>(to, b.out_plane, bias, sums);
    if (place.skip == 0) return StoreWhole<kM, kN, true>(to, b.out_plane, bias, sums);
  }
  HWY_ALIGN float values[kM * kTileColumns];
  HWY_UNROLL(12)
  for (size_t i = 0; i < kM * kN; ++i) hn::Store(sums[i], d, values + i * lanes);
  StoreApart<kM, kN>(b, channel, place, to, values);
}

// A block of depth for kM channels; `total` holds the sums of the blocks before.
template <size_t kM, size_t kN>
HWY_NOINLINE void Channels(const ConvolutionProducts& b, const float* panel, size_t k0,
                           size_t depth, size_t channel, const Place& place, float* total) {
  const D d;
  const size_t lanes = hn::Lanes(d);
  // Outputs lie pages apart; a short product is over before they have come.
  if (b.out_step == 1 && depth >= kPrefetchDepth && k0 + depth == b.depth) {
    const float* to = b.out + channel * b.out_plane + place.line * b.out_row + place.column;
    for (size_t m = 0; m < kM; ++m)
      for (size_t n = 0; n < kN; ++n) hwy::Prefetch(to + m * b.out_plane + n * lanes);
  }
  V sums[kM * kN];
  Multiply<kM, kN>(panel, b.panels + channel * b.depth + k0 * kM, depth, sums);
  if (k0 > 0) {
    HWY_UNROLL(12)
    for (size_t i = 0; i < kM * kN; ++i) sums[i] = hn::Add(hn::Load(d, total + i * lanes), sums[i]);
  }
  if (k0 + depth == b.depth) return Store<kM, kN>(b, channel, place, sums);
  HWY_UNROLL(12)
  for (size_t i = 0; i < kM * kN; ++i) hn::Store(sums[i], d, total + i * lanes);
}

// Asks for the columns of the next tiles while these are multiplied.
struct Ahead {
  const float* x = nullptr;
  size_t plane = 0, lines = 0;  // cache lines of a term
  size_t at = 0, end = 0, share = 0;

  void step() {
    for (const size_t stop = std::min(end, at + share); at < stop; ++at)
      hwy::Prefetch(x + at / lines * plane + at % lines * kCacheLine);
  }
};

// `tiles` tiles from vector v of a line on.
Ahead ahead_of(const ConvolutionProducts& b, size_t line, size_t v, size_t tiles) {
  const size_t lanes = hn::Lanes(D());
  const size_t lines = (tiles * kVectors * lanes + kCacheLine - 1) / kCacheLine;
  return {.x = b.x + line * b.x_row + v * lanes,
          .plane = b.x_plane,
          .lines = lines,
          .at = 0,
          .end = lines * b.depth,
          .share = lines * b.depth * kPanel / (tiles * b.channels) + 1};
}

// All channels for one tile. `packed` holds its columns for the whole depth; if NULL they are
// packed here.
template <size_t kN>
void TileOf(const ConvolutionProducts& b, const Place& place, const float* packed, Ahead& ahead,
            float* panel, float* totals) {
  const size_t columns = kN * hn::Lanes(D());
  const Moves moves = moves_of(b, place);
  const size_t even = even_depth(b.depth);
  for (size_t first = 0; first < b.channels; first += kChannels) {
    const size_t end = std::min(b.channels, first + kChannels);
    const size_t whole = first + (end - first) / kPanel * kPanel;
    for (size_t k0 = 0; k0 < b.depth; k0 += even) {
      const size_t depth = std::min(b.depth - k0, even);
      if (packed == nullptr) Pack(b, moves, k0, depth, panel, columns);
      const float* x = packed == nullptr ? panel : packed + k0 * columns;
      for (size_t m = first; m < whole; m += kPanel) {
        ahead.step();
        Channels<kPanel, kN>(b, x, k0, depth, m, place, totals + (m - first) * columns);
      }
      float* rest = totals + (whole - first) * columns;
      if (end - whole == 1) Channels<1, kN>(b, x, k0, depth, whole, place, rest);
      if (end - whole == 2) Channels<2, kN>(b, x, k0, depth, whole, place, rest);
      if (end - whole == 3) Channels<3, kN>(b, x, k0, depth, whole, place, rest);
    }
  }
}

// A line of outputs as a sequence of tiles.
class Line {
 public:
  Line(size_t line, size_t length)
      : line_(line), length_(length), vectors_((length + lanes_ - 1) / lanes_) {}

  size_t vectors() const { return vectors_; }
  // Vectors of the tile that begins with vector v.
  size_t width(size_t v) const {
    const size_t width = std::min(vectors_ - v, kVectors);
    return vectors_ - v == width + 1 ? width - 1 : width;  // a single one would wait for its sums
  }
  Place place(size_t v) const {
    const size_t columns = width(v) * lanes_;
    Place place = {.line = line_, .column = v * lanes_, .skip = 0, .end = columns};
    if (v * lanes_ + columns > length_ && length_ >= columns) {  // move back to end with the line
      place.skip = v * lanes_ + columns - length_;
      place.column -= place.skip;
    }
    place.end = std::min(columns, length_);
    return place;
  }

 private:
  size_t lanes_ = hn::Lanes(D());
  size_t line_, length_, vectors_;
};

// Columns of `tiles` tiles of kN vectors, from a source that is no buffer: its terms lie pages
// apart, so that each is read for many tiles at a time.
template <size_t kN>
HWY_NOINLINE void PackTiles(const ConvolutionProducts& b, const float* x, size_t tiles,
                            float* room) {
  const D d;
  const size_t lanes = hn::Lanes(d), pitch = tile_room(b);
  for (size_t k = 0; k < b.depth; ++k) {
    const float* from = x + k * b.x_plane;
    float* to = room + k * kN * lanes;
    for (size_t t = 0; t < tiles; ++t, from += kN * lanes, to += pitch)
      for (size_t n = 0; n < kN; ++n) hn::Store(hn::LoadU(d, from + n * lanes), d, to + n * lanes);
  }
}

// Up to `tiles` tiles from vector v on.
void PackWide(const ConvolutionProducts& b, const Line& line, size_t v, size_t tiles) {
  float* room = b.room;
  while (tiles > 0 && v < line.vectors()) {
    const size_t width = line.width(v);
    const Place place = line.place(v);
    const float* x = b.x + place.line * b.x_row + place.column;
    // Tiles that end before the line do; the last ones may be narrower, or moved back.
    const size_t before = (line.vectors() - v - 1) / kVectors;
    const size_t alike = width == 3 && before > 2 ? std::min(tiles, before - 1) : 1;
    if (width == 3) PackTiles<3>(b, x, alike, room);
    if (width == 2) PackTiles<2>(b, x, alike, room);
    if (width == 1) PackTiles<1>(b, x, alike, room);
    room += alike * tile_room(b);
    v += alike * width;
    tiles -= alike;
  }
}

void PackedProducts(const ConvolutionProducts& b) {
  // The slack takes what the last vector of the last stretch writes too much.
  HWY_ALIGN float panel[kDepthBlock * kTileColumns + hn::MaxLanes(D())];
  HWY_ALIGN float totals[kChannels * kTileColumns];
  const bool runs_on = b.out_row == b.columns * b.out_step;
  const size_t lines = runs_on ? 1 : b.rows;
  const size_t at_once = b.x_plane > 0 ? std::min(kTilesAtOnce, b.room_floats / tile_room(b)) : 0;
  Ahead ahead;
  for (size_t i = 0; i < lines; ++i) {
    const Line line(i, runs_on ? b.rows * b.columns : b.columns);
    size_t index = 0, width = 0;
    for (size_t v = 0; v < line.vectors(); v += width, ++index) {
      width = line.width(v);
      const float* packed = nullptr;
      if (at_once > 0) {
        if (index % at_once == 0) {
          PackWide(b, line, v, at_once);
          ahead = ahead_of(b, i, v + at_once * kVectors, at_once);
        }
        packed = b.room + index % at_once * tile_room(b);
      }
      const Place place = line.place(v);
      if (width == 3) TileOf<3>(b, place, packed, ahead, panel, totals);
      if (width == 2) TileOf<2>(b, place, packed, ahead, panel, totals);
      if (width == 1) TileOf<1>(b, place, packed, ahead, panel, totals);
    }
  }
}

}  // namespace

ProductsKernel ConvolutionPackedKernel() {
  return PackedProducts;
}

}  // namespace bnns::impl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "core/target.h"

namespace bnns::impl {

HWY_EXPORT(ConvolutionPackedKernel);
ProductsKernel convolution_packed_products() {
  return pick(HWY_DISPATCH_TABLE(ConvolutionPackedKernel))();
}

}  // namespace bnns::impl
#endif
