// Squared distances in tiles of several samples of a group and several vectors of a block.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/nearest_neighbors/kernels.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

#include "ops/nearest_neighbors/nearest_neighbors.h"

HWY_BEFORE_NAMESPACE();
namespace bnns::impl::HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;

using D = hn::CappedTag<float, kBlockSamples>;
using V = hn::Vec<D>;

constexpr size_t kTerms = 64;  // of a partial sum
constexpr size_t kLanes = hn::MaxLanes(D());
constexpr size_t kVectors = kBlockSamples / kLanes;  // of a block
// Tiles have eight sums, which hide the latency of one another.
constexpr size_t kWide = kVectors < 4 ? kVectors : 4;
constexpr size_t kTall = kGroupSamples / kWide;

// Distances of `kRows` samples to kColumns vectors of one block.
template <bool kScaled, size_t kRows, size_t kColumns>
HWY_INLINE void Tile(const float* HWY_RESTRICT from, const float* HWY_RESTRICT block,
                     size_t features, float scale, float* HWY_RESTRICT d2, size_t row) {
  const D d;
  const V factor = hn::Set(d, scale);
  for (size_t first = 0; first < features; first += kTerms) {
    const size_t end = first + kTerms < features ? first + kTerms : features;
    V sums[kRows][kColumns];
    for (auto& of_row : sums)
      for (V& sum : of_row) sum = hn::Zero(d);
    for (size_t f = first; f < end; ++f) {
      V x[kColumns];
      for (size_t c = 0; c < kColumns; ++c)
        x[c] = hn::Load(d, block + f * kBlockSamples + c * kLanes);
      if constexpr (kScaled)
        for (V& v : x) v = hn::Mul(v, factor);
      for (size_t r = 0; r < kRows; ++r) {
        V q = hn::Set(d, from[f * kBlockSamples + r]);
        if constexpr (kScaled) q = hn::Mul(q, factor);
        for (size_t c = 0; c < kColumns; ++c) {
          const V difference = hn::Sub(q, x[c]);
          sums[r][c] = hn::MulAdd(difference, difference, sums[r][c]);
        }
      }
    }
    for (size_t r = 0; r < kRows; ++r) {
      for (size_t c = 0; c < kColumns; ++c) {
        float* to = d2 + r * row + c * kLanes;
        hn::StoreU(first == 0 ? sums[r][c] : hn::Add(hn::LoadU(d, to), sums[r][c]), d, to);
      }
    }
  }
}

template <bool kScaled>
void ScaledGroup(const float* group, const float* blocks, size_t count, size_t features,
                 float scale, float* d2, size_t row) {
  for (size_t b = 0; b < count; ++b) {
    const float* block = blocks + b * kBlockSamples * features;
    for (size_t c = 0; c < kBlockSamples; c += kWide * kLanes) {
      for (size_t r = 0; r < kGroupSamples; r += kTall) {
        float* to = d2 + r * row + b * kBlockSamples + c;
        Tile<kScaled, kTall, kWide>(group + r, block + c, features, scale, to, row);
      }
    }
  }
}

template <bool kScaled>
void ScaledOne(const float* sample, const float* blocks, size_t count, size_t features, float scale,
               float* d2) {
  for (size_t b = 0; b < count; ++b) {
    const float* block = blocks + b * kBlockSamples * features;
    for (size_t c = 0; c < kBlockSamples; c += kWide * kLanes) {
      float* to = d2 + b * kBlockSamples + c;
      Tile<kScaled, 1, kWide>(sample, block + c, features, scale, to, 0);
    }
  }
}

void Group(const float* group, const float* blocks, size_t count, size_t features, float scale,
           float* d2, size_t row) {
  (scale == 1 ? ScaledGroup<false> : ScaledGroup<true>)(group, blocks, count, features, scale, d2,
                                                        row);
}

void One(const float* sample, const float* blocks, size_t count, size_t features, float scale,
         float* d2) {
  (scale == 1 ? ScaledOne<false> : ScaledOne<true>)(sample, blocks, count, features, scale, d2);
}

const DistanceKernels* DistanceTable() {
  static constexpr DistanceKernels kTable = {.group = Group, .one = One};
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
