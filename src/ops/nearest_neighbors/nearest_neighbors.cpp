#include "ops/nearest_neighbors/nearest_neighbors.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/checked.h"
#include "core/parallel.h"
#include "ops/convert/blocks.h"

namespace bnns::impl {
namespace {

constexpr size_t kTileSamples = 256;       // whose distances to a group are kept in the cache
constexpr double kNanoseconds = 0.06;      // a feature of a distance, in float
constexpr double kWideNanoseconds = 0.15;  // in double
constexpr float kInfinity = std::numeric_limits<float>::infinity();
// Stands for the distance of a sample to itself: below those of its copies.
constexpr float kSelf = -1;

// Of all blocks; their bytes can be counted too.
size_t stored_values(size_t samples, size_t features) {
  constexpr const char* kWhat = "the samples (max_n_samples, n_features) in bytes";
  const size_t padded = div_up(samples, kBlockSamples) * kBlockSamples;
  const size_t bytes = checked_mul(checked_mul(padded, features, kWhat), sizeof(float), kWhat);
  return bytes / sizeof(float);
}

View row_of(const void* data, BNNSDataType type, size_t n) {
  View view;
  view.data = const_cast<void*>(data);
  view.type = type;
  view.rank = 1;
  view.extent[0] = view.count = n;
  view.stride[0] = 1;
  return view;
}

}  // namespace

NearestNeighborsOp::NearestNeighborsOp(const Memory& memory, size_t threads, size_t max_samples,
                                       size_t features, size_t neighbors, BNNSDataType type)
    : threads_(threads),
      max_samples_(max_samples),
      features_(features),
      neighbors_(neighbors),
      type_(type),
      samples_(memory, stored_values(max_samples, features)) {}

// A sample is n_features values apart in the rows and one value in the block.
void NearestNeighborsOp::load(size_t n, const void* rows) {
  const auto* from = static_cast<const char*>(rows);
  float buffer[kBlock];
  for (size_t i = 0; i < n; ++i, ++count_) {
    float* block = samples_.data() + count_ / kBlockSamples * kBlockSamples * features_;
    const size_t place = count_ % kBlockSamples;
    // Kernels read whole blocks.
    if (place == 0) std::fill_n(block, kBlockSamples * features_, 0.0f);
    const View row = row_of(from + i * features_ * type_bytes(type_), type_, features_);
    for (size_t first = 0; first < features_; first += kBlock) {
      const size_t some = std::min(kBlock, features_ - first);
      read_values(*convert_, row, first, some, buffer);
      for (size_t f = 0; f < some; ++f) {
        block[(first + f) * kBlockSamples + place] = buffer[f];
        if (!std::isfinite(buffer[f]) || buffer[f] == 0) continue;
        largest_ = std::max(largest_, std::abs(buffer[f]));
        smallest_ = std::min(smallest_, std::abs(buffer[f]));
      }
    }
  }
}

size_t NearestNeighborsOp::list_size() const {
  const size_t k = wanted();
  return Selection::is_sorted(k) ? 0 : Selection::capacity(k);
}

size_t NearestNeighborsOp::threads_for_all() const {
  const auto n = static_cast<double>(count_);
  return useful_threads(threads_, n * n * static_cast<double>(features_) *
                                      (is_wide() ? kWideNanoseconds : kNanoseconds));
}

// Whether squares of differences may overflow in float, or be subnormal: where all values are at
// least 2^-40, they are multiples of 2^-63, and so are their differences.
bool NearestNeighborsOp::is_wide() const {
  return largest_ > 0x1p50f || smallest_ < 0x1p-40f;
}

size_t NearestNeighborsOp::scratch(bool all) const {
  return list_size() * (all ? threads_for_all() * kGroupSamples : 1);
}

void NearestNeighborsOp::write(size_t row, Selection& selection, const NeighborsOut& out) const {
  const uint64_t* best = selection.finish();
  const size_t found = selection.size();
  if (out.indices != nullptr) {
    int32_t* to = out.indices + row * neighbors_;
    for (size_t j = 0; j < found; ++j) to[j] = static_cast<int32_t>(index_of(best[j]));
    std::fill(to + found, to + neighbors_, -1);
  }
  if (out.distances == nullptr) return;
  char* bytes = static_cast<char*>(out.distances) + row * neighbors_ * type_bytes(type_);
  const View to = row_of(bytes, type_, neighbors_);
  const bool squared = !is_wide();
  float buffer[kBlock];
  for (size_t first = 0; first < neighbors_; first += kBlock) {
    const size_t n = std::min(kBlock, neighbors_ - first);
    for (size_t j = 0; j < n; ++j) {
      const float value = first + j < found ? Smallest::value(best[first + j]) : kInfinity;
      buffer[j] = value == kSelf ? 0 : squared ? std::sqrt(value) : value;
    }
    write_values(*convert_, to, first, n, buffer);
  }
}

void NearestNeighborsOp::query(size_t sample, const NeighborsOut& out, uint64_t* scratch) const {
  uint64_t sorted[Selection::kMostSorted];
  Selection selection(wanted(), list_size() == 0 ? sorted : scratch);
  const float* from = block(sample / kBlockSamples) + sample % kBlockSamples;
  alignas(64) float distances[kTileSamples];
  for (size_t first = 0; first < count_; first += kTileSamples) {
    const size_t n = std::min(kTileSamples, count_ - first);
    kernels().one(from, block(first / kBlockSamples), div_up(n, kBlockSamples), features_,
                  distances);
    if (sample - first < n) distances[sample - first] = kSelf;
    selection_->smallest(distances, n, first, selection);
  }
  write(0, selection, out);
}

void NearestNeighborsOp::query_group(size_t group, const NeighborsOut& out, uint64_t* lists) const {
  const size_t begin = group * kGroupSamples, rows = std::min(kGroupSamples, count_ - begin);
  uint64_t sorted[kGroupSamples][Selection::kMostSorted];
  Selection selections[kGroupSamples];
  const size_t list = list_size();
  for (size_t r = 0; r < rows; ++r)
    selections[r] = Selection(wanted(), list == 0 ? sorted[r] : lists + r * list);
  const float* from = block(begin / kBlockSamples) + begin % kBlockSamples;
  alignas(64) float distances[kGroupSamples * kTileSamples];
  for (size_t first = 0; first < count_; first += kTileSamples) {
    const size_t n = std::min(kTileSamples, count_ - first);
    kernels().group(from, block(first / kBlockSamples), div_up(n, kBlockSamples), features_,
                    distances, kTileSamples);
    for (size_t r = 0; r < rows; ++r) {
      float* row = distances + r * kTileSamples;
      if (begin + r - first < n) row[begin + r - first] = kSelf;
      selection_->smallest(row, n, first, selections[r]);
    }
  }
  for (size_t r = 0; r < rows; ++r) write(begin + r, selections[r], out);
}

void NearestNeighborsOp::query_all(const NeighborsOut& out, uint64_t* scratch) const {
  const size_t lists = list_size() * kGroupSamples;
  parallel_for(threads_for_all(), div_up(count_, kGroupSamples), [&](size_t group, size_t worker) {
    query_group(group, out, scratch + worker * lists);
  });
}

}  // namespace bnns::impl
