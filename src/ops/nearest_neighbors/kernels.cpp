// Distances in tiles of several samples of a group and several vectors of a block: squared ones in
// float, and for tables whose squares may leave the range of float, their roots from sums in
// double.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/nearest_neighbors/kernels.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

#include "ops/nearest_neighbors/nearest_neighbors.h"

HWY_BEFORE_NAMESPACE();
namespace bnns::impl::HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;

constexpr size_t kTerms = 64;  // of a partial sum in float

// Tiles have eight sums, which hide the latency of one another.
template <class T>
struct TileOf {
  static constexpr size_t kLanes = hn::MaxLanes(hn::CappedTag<T, kBlockSamples>());
  static constexpr size_t kVectors = kBlockSamples / kLanes;  // of a block
  static constexpr size_t kWide = kVectors < 4 ? kVectors : 4;
  static constexpr size_t kTall = kGroupSamples / kWide;
};

template <class D>
HWY_INLINE hn::Vec<D> LoadSamples(D d, const float* from) {
  if constexpr (sizeof(hn::TFromD<D>) == sizeof(float)) {
    return hn::Load(d, from);
  } else {
    return hn::PromoteTo(d, hn::Load(hn::Rebind<float, D>(), from));
  }
}

// Distances of `kRows` samples to kColumns vectors of one block.
template <class T, size_t kRows, size_t kColumns>
HWY_INLINE void Tile(const float* HWY_RESTRICT from, const float* HWY_RESTRICT block,
                     size_t features, float* HWY_RESTRICT to, size_t row) {
  constexpr bool kIsFloat = sizeof(T) == sizeof(float);
  constexpr size_t kLanes = TileOf<T>::kLanes;
  const hn::CappedTag<T, kBlockSamples> d;
  using V = hn::Vec<decltype(d)>;
  const size_t terms = kIsFloat ? kTerms : features;
  for (size_t first = 0; first < features; first += terms) {
    const size_t end = first + terms < features ? first + terms : features;
    V sums[kRows][kColumns];
    for (auto& of_row : sums)
      for (V& sum : of_row) sum = hn::Zero(d);
    for (size_t f = first; f < end; ++f) {
      V x[kColumns];
      for (size_t c = 0; c < kColumns; ++c)
        x[c] = LoadSamples(d, block + f * kBlockSamples + c * kLanes);
      for (size_t r = 0; r < kRows; ++r) {
        const V q = hn::Set(d, T{from[f * kBlockSamples + r]});
        for (size_t c = 0; c < kColumns; ++c) {
          const V difference = hn::Sub(q, x[c]);
          sums[r][c] = hn::MulAdd(difference, difference, sums[r][c]);
        }
      }
    }
    for (size_t r = 0; r < kRows; ++r) {
      for (size_t c = 0; c < kColumns; ++c) {
        float* part = to + r * row + c * kLanes;
        if constexpr (kIsFloat) {
          const V sum = first == 0 ? sums[r][c] : hn::Add(hn::LoadU(d, part), sums[r][c]);
          hn::StoreU(sum, d, part);
        } else {
          // Not DemoteTo: of what is beyond float it makes the largest float on the scalar target.
          HWY_ALIGN double roots[kLanes];
          hn::Store(hn::Sqrt(sums[r][c]), d, roots);
          for (size_t i = 0; i < kLanes; ++i) part[i] = static_cast<float>(roots[i]);
        }
      }
    }
  }
}

template <class T>
void Group(const float* group, const float* blocks, size_t count, size_t features, float* out,
           size_t row) {
  constexpr size_t kLanes = TileOf<T>::kLanes, kWide = TileOf<T>::kWide, kTall = TileOf<T>::kTall;
  for (size_t b = 0; b < count; ++b) {
    const float* block = blocks + b * kBlockSamples * features;
    for (size_t c = 0; c < kBlockSamples; c += kWide * kLanes) {
      for (size_t r = 0; r < kGroupSamples; r += kTall) {
        float* to = out + r * row + b * kBlockSamples + c;
        Tile<T, kTall, kWide>(group + r, block + c, features, to, row);
      }
    }
  }
}

template <class T>
void One(const float* sample, const float* blocks, size_t count, size_t features, float* out) {
  constexpr size_t kLanes = TileOf<T>::kLanes, kWide = TileOf<T>::kWide;
  for (size_t b = 0; b < count; ++b) {
    const float* block = blocks + b * kBlockSamples * features;
    for (size_t c = 0; c < kBlockSamples; c += kWide * kLanes)
      Tile<T, 1, kWide>(sample, block + c, features, out + b * kBlockSamples + c, 0);
  }
}

const DistanceKernels* DistanceTable() {
  static constexpr DistanceKernels kTable = {.squares = {Group<float>, One<float>},
                                             .roots = {Group<double>, One<double>}};
  return &kTable;
}

}  // namespace
}  // namespace bnns::impl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "core/target.h"

namespace bnns::impl {
namespace {

HWY_EXPORT(DistanceTable);

}  // namespace

const DistanceKernels* distance_kernels() {
  return pick(HWY_DISPATCH_TABLE(DistanceTable))();
}

}  // namespace bnns::impl
#endif
