// Products for many output channels. For each block of depth, the columns of a tile are packed into
// a panel that stays in the first-level cache while the weights of all channels stream past; the
// first channels fill it. Where rows of outputs are contiguous, tiles run across row ends, so that
// no lane is wasted there.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/convolution/kernels_packed.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

#include <algorithm>
#include <type_traits>

#include "ops/convolution/columns-inl.h"
#include "ops/epilogue/epilogue-inl.h"
#include "simd/register_barrier-inl.h"
#include "ops/convolution/kernels.h"

HWY_BEFORE_NAMESPACE();
namespace bnns::impl::HWY_NAMESPACE {
namespace {
constexpr size_t kPrefetchDepth = 32;
// Unroll factor of the loop over the terms; unrolling saves updates of its counter and pointers.
// With few accumulators the loop is bound by the latency of the FMA anyway.
template <size_t kSums>
constexpr size_t kSteps = kSums < 8 ? 1 : 4;
// Channels whose partial sums are stored between two blocks of depth.
constexpr size_t kChannels = 256;

// Terms per block, the same for all blocks but the last.
size_t even_depth(size_t depth) {
  const size_t blocks = (depth + kDepthBlock - 1) / kDepthBlock;
  return (depth + blocks - 1) / blocks;
}

// A block of depth: terms [k0, k0 + depth). `totals` holds the sums of the blocks before, from
// channel `first` on.
struct Terms {
  size_t k0, depth, first;
  float* totals;
};

// Adds the products of term i. kFirst: the sums begin with them.
template <size_t kM, size_t kN, bool kFirst, class Source>
HWY_INLINE void Step(const Source& source, const float* HWY_RESTRICT weights, size_t i,
                     V (&sums)[kM * kN]) {
  const D d;
  V row[kN];
  source.load(i, row);
  HWY_UNROLL(4)
  for (size_t m = 0; m < kM; ++m) {
    const V factor = hn::Set(d, weights[i * kM + m]);
    HWY_UNROLL(3)
    for (size_t n = 0; n < kN; ++n) {
      V& sum = sums[m * kN + n];
      sum = kFirst ? hn::Mul(factor, row[n]) : hn::MulAdd(factor, row[n], sum);
    }
    KeepInRegister(factor);
  }
  HWY_UNROLL(3)
  for (size_t n = 0; n < kN; ++n) KeepInRegister(row[n]);
}

template <size_t kM, size_t kN, class Source, class Next>
HWY_INLINE void Multiply(Source source, const float* HWY_RESTRICT weights, size_t depth, Next& next,
                         V (&sums)[kM * kN]) {
  constexpr size_t kRound = kSteps<kM * kN>;
  Step<kM, kN, true>(source, weights, 0, sums);
  weights += kM;
  source.advance(1);
  for (size_t left = depth - 1; left > 0;) {
    const size_t n = next.template run<kN>(left);
    left -= n;
    for (size_t i = n / kRound; i > 0; --i, weights += kRound * kM, source.advance(kRound)) {
      HWY_UNROLL(4)
      for (size_t k = 0; k < kRound; ++k) Step<kM, kN, false>(source, weights, k, sums);
    }
    for (size_t i = n % kRound; i > 0; --i, weights += kM, source.advance(1))
      Step<kM, kN, false>(source, weights, 0, sums);
  }
}

// Stores whole vectors that are contiguous in memory.
template <size_t kM, size_t kN>
HWY_INLINE void StoreWhole(float* HWY_RESTRICT to, size_t plane, bool accumulate,
                           V (&sums)[kM * kN]) {
  const D d;
  const size_t lanes = hn::Lanes(d);
  if (accumulate) {
    HWY_UNROLL(12)
    for (size_t i = 0; i < kM * kN; ++i)
      sums[i] = hn::Add(hn::LoadU(d, to + i / kN * plane + i % kN * lanes), sums[i]);
  }
  HWY_UNROLL(12)
  for (size_t i = 0; i < kM * kN; ++i) hn::StoreU(sums[i], d, to + i / kN * plane + i % kN * lanes);
}

template <size_t kN>
bool stores_whole(const ConvolutionProducts& b, const TilePosition& position) {
  return b.out_step == 1 && position.end == kN * hn::Lanes(D()) &&
         (!b.epilogue.accumulate || position.skip == 0);
}

// Stores columns [skip, end) one by one, with any distance between them.
template <size_t kM, size_t kN>
HWY_NOINLINE void StoreApart(const ConvolutionProducts& b, const TilePosition& position, float* to,
                             const float* sums) {
  const size_t columns = kN * hn::Lanes(D());
  for (size_t m = 0; m < kM; ++m) {
    for (size_t i = position.skip; i < position.end; ++i) {
      float& value = to[m * b.out_plane + i * b.out_step];
      const float sum = sums[m * columns + i];
      value = b.epilogue.accumulate ? value + sum : sum;
    }
  }
}

template <size_t kM, size_t kN>
HWY_INLINE void Spill(const V (&sums)[kM * kN], float* to) {
  HWY_UNROLL(12)
  for (size_t i = 0; i < kM * kN; ++i) hn::Store(sums[i], D(), to + i * hn::Lanes(D()));
}

// Computes channels [channel, end), kM at a time. kPlain: all terms are one block, and whole
// vectors are stored. Without the checks, the nine terms of 3 x 3 taps on one channel take a tenth
// less time.
template <size_t kM, size_t kN, bool kPlain, class Source, class Next>
HWY_NOINLINE void Channels(const ConvolutionProducts& b, const Source& source, const Terms& terms,
                           size_t channel, size_t end, const TilePosition& position, Next& given) {
  const D d;
  const size_t lanes = hn::Lanes(d), plane = b.out_plane, all = b.depth, depth = terms.depth;
  const bool is_first = kPlain || terms.k0 == 0, is_last = kPlain || terms.k0 + depth == all;
  const bool accumulate = !kPlain && b.epilogue.accumulate;
  const bool whole = kPlain || stores_whole<kN>(b, position);
  // Prefetch the outputs: planes lie pages apart, and the stores would wait for their lines. A
  // short product ends before these arrive, so it does not prefetch.
  const bool prefetches = b.out_step == 1 && depth >= kPrefetchDepth && is_last;
  const float* weights = b.panels + channel * all + terms.k0 * kM;
  float* totals = terms.totals + (channel - terms.first) * kN * lanes;
  float* const out = b.out + position.line * b.out_row + position.column * b.out_step;
  const ChannelTerms added = is_last ? b.epilogue.row : ChannelTerms();
  const float* const least = is_last ? b.epilogue.least : nullptr;
  const Source columns = source;
  Next next = given;
  for (; channel < end; channel += kM, weights += kM * all, totals += kM * kN * lanes) {
    float* to = out + channel * plane;
    if (prefetches) {
      for (size_t m = 0; m < kM; ++m) PrefetchColumns<kN>(to + m * plane);
    }
    V sums[kM * kN];
    Multiply<kM, kN>(columns, weights, depth, next, sums);
    if (!is_first) {
      HWY_UNROLL(12)
      for (size_t i = 0; i < kM * kN; ++i)
        sums[i] = hn::Add(hn::Load(d, totals + i * lanes), sums[i]);
    }
    epilogue::ApplyRows<kM, kN>(d, added, channel, sums);
    epilogue::Rectify(d, least, sums);
    if (!is_last) {
      Spill<kM, kN>(sums, totals);
    } else if (HWY_LIKELY(whole)) {
      StoreWhole<kM, kN>(to, plane, accumulate, sums);
    } else {
      HWY_ALIGN float values[kM * kTileColumns];
      Spill<kM, kN>(sums, values);
      StoreApart<kM, kN>(b, position, to, values);
    }
  }
  given = next;
}

// Computes the first channels of a tile, which fill the panel.
template <size_t kN, bool kPlain, class Next>
void FirstChannels(const ConvolutionProducts& b, const SourceVectors<kN>& tile, const Terms& terms,
                   const TilePosition& position, Next& next, float* panel) {
  const auto run = [&]<bool kInPlace, bool kBreaks>() HWY_ATTR {
    const Packing<kN, kInPlace, kBreaks> source(b, tile, terms.k0, panel);
    Channels<kPanel, kN, kPlain>(b, source, terms, terms.first, terms.first + kPanel, position,
                                 next);
  };
  if constexpr (std::is_same_v<Next, NextTilePrefetch>)
    return run.template operator()<true, false>();
  if (tile.breaks) return run.template operator()<false, true>();
  run.template operator()<false, false>();
}

// Computes all channels of one tile.
template <size_t kN, bool kPlain, class Next>
void TileOf(const ConvolutionProducts& b, const TilePosition& position, Next next, float* panel,
            float* totals) {
  const size_t columns = kN * hn::Lanes(D());
  const size_t even = even_depth(b.depth);
  // Partial sums need memory only if there are several blocks.
  const size_t at_once = even < b.depth ? kChannels : b.channels;
  SourceVectors<kN> tile;
  const bool is_found = find_vectors(b, position, tile);
  for (size_t first = 0; first < b.channels; first += at_once) {
    const size_t end = std::min(b.channels, first + at_once);
    const size_t whole = first + (end - first) / kPanel * kPanel;
    for (size_t k0 = 0; k0 < b.depth; k0 += even) {
      const Terms terms = {
          .k0 = k0, .depth = std::min(b.depth - k0, even), .first = first, .totals = totals};
      size_t m = first;
      // Only channel 0 of a group takes this path: the first channel of a grain depends on the
      // number of threads, and the two paths need not agree in the bits of a NaN.
      if (is_found && b.leads && m == 0 && m < whole) {
        FirstChannels<kN, kPlain>(b, tile, terms, position, next, panel);
        m += kPanel;
      } else {
        Pack(b, copies_of(b, position), k0, terms.depth, panel, columns);
      }
      const Packed<kN> source = {.panel = panel};
      Channels<kPanel, kN, kPlain>(b, source, terms, m, whole, position, next);
      if (end - whole == 1) Channels<1, kN, false>(b, source, terms, whole, end, position, next);
      if (end - whole == 2) Channels<2, kN, false>(b, source, terms, whole, end, position, next);
      if (end - whole == 3) Channels<3, kN, false>(b, source, terms, whole, end, position, next);
    }
  }
}

template <size_t kN>
void TileOf(const ConvolutionProducts& b, const TilePosition& position, float* panel,
            float* totals) {
  const auto run = [&](auto next) HWY_ATTR {
    if constexpr (kN == kPackedVectors) {
      if (b.depth <= kDepthBlock && !b.epilogue.accumulate && stores_whole<kN>(b, position))
        return TileOf<kN, true>(b, position, next, panel, totals);
    }
    TileOf<kN, false>(b, position, next, panel, totals);
  };
  if (b.x_plane > 0) return run(prefetch_of(b, position, kN * hn::Lanes(D())));
  run(NoPrefetch());
}

// A line of outputs as a sequence of tiles.
class Line {
 public:
  Line(const ConvolutionProducts& b, size_t line, size_t length)
      : line_(line),
        length_(length),
        vectors_((length + lanes_ - 1) / lanes_),
        columns_(b.columns),
        row_(line) {}

  // Vectors of the next tile; 0 at the end.
  size_t width() const {
    const size_t left = vectors_ - vector_, width = std::min(left, kPackedVectors);
    // A single vector left over would not hide the latency of the FMA.
    return left == width + 1 ? width - 1 : width;
  }
  TilePosition next() {
    const size_t columns = width() * lanes_, column = vector_ * lanes_;
    TilePosition position = {
        .line = line_, .column = column, .row = row_, .x = x_, .skip = 0, .end = columns};
    if (column + columns > length_) {
      position.end = std::min(columns, length_);
      if (length_ >= columns) {  // the tile is moved back to end with the line
        position.skip = column + columns - length_;
        position.column -= position.skip;
        position.row = line_ + position.column / columns_;
        position.x = position.column % columns_;
      }
    }
    vector_ += width();
    for (x_ += columns; x_ >= columns_; x_ -= columns_) ++row_;
    return position;
  }

 private:
  size_t lanes_ = hn::Lanes(D());
  size_t line_, length_, vectors_, columns_;
  size_t vector_ = 0, row_, x_ = 0;  // of the next tile
};

void PackedProducts(const ConvolutionProducts& b) {
  // The slack takes the overrun of the last store into the panel.
  HWY_ALIGN float panel[kDepthBlock * kTileColumns + hn::MaxLanes(D())];
  HWY_ALIGN float totals[kChannels * kTileColumns];
  const bool runs_on = b.out_row == b.columns * b.out_step;
  const size_t lines = runs_on ? 1 : b.rows;
  for (size_t i = 0; i < lines; ++i) {
    Line line(b, i, runs_on ? b.rows * b.columns : b.columns);
    while (const size_t width = line.width()) {
      const TilePosition position = line.next();
      if (width == 3) TileOf<3>(b, position, panel, totals);
      if (width == 2) TileOf<2>(b, position, panel, totals);
      if (width == 1) TileOf<1>(b, position, panel, totals);
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
