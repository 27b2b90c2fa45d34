#include "mps/opencl/reduction.h"

#include <algorithm>

#include "mps/image_storage.h"
#include "mps/opencl/device.h"

namespace bnns::impl::mps::opencl {
namespace {

// A step adds at least this many values to one, and leaves at most kMostStrands sums.
constexpr size_t kPerStrand = 32, kMostStrands = 1024;

// The double as two floats.
Sum split(double value) {
  const auto high = static_cast<float>(value);
  return {high, static_cast<float>(value - high)};
}

}  // namespace

Buffer buffer_of(const StoragePtr& image) {
  return static_cast<const BufferMemory&>(image->memory()).buffer();
}

View view_of(const StoragePtr& image) {
  if (image == nullptr) return {};
  return {.width = image->width(),
          .height = image->height(),
          .channels = image->channels(),
          .format = static_cast<U32>(image->format().format),
          .exists = 1};
}

size_t strands_for(size_t count) {
  return std::clamp<size_t>((count + kPerStrand - 1) / kPerStrand, 1, kMostStrands);
}

void fold(Lane& lane, const Fold& fold, Buffer results) {
  Buffer from = lane.scratch(Scratch::Sums, sizeof(Sum));
  Buffer to = lane.scratch(Scratch::MoreSums, kMostStrands * sizeof(Sum));
  size_t count = fold.count;
  while (count > kPerStrand) {
    const size_t strands = strands_for(count);
    lane.launch(KernelId::Fold, strands, from,
                FoldParams{.count = count, .strands = strands, .scale = 1}, to);
    std::swap(from, to);
    count = strands;
  }
  lane.launch(KernelId::Fold, 1, from,
              FoldParams{.count = count,
                         .strands = 1,
                         .target = fold.target,
                         .offset_high = fold.offset.high,
                         .offset_low = fold.offset.low,
                         .scale = fold.scale},
              results);
}

Buffer sums_of_batch(Lane& lane, Scratch purpose, size_t images) {
  return lane.scratch(purpose, images * sizeof(Sum));
}

void count_weights(Lane& lane, std::span<const LossItem> items) {
  const Buffer counts = sums_of_batch(lane, Scratch::Counts, items.size());
  for (size_t n = 0; n < items.size(); ++n) {
    const LossItem& item = items[n];
    const size_t elements = item.source->elements();
    if (item.weights == nullptr) {  // Every element has the scalar weight.
      const double all = item.values.weight != 0 ? static_cast<double>(elements) : 0;
      fold(lane, {.count = 0, .target = n, .offset = split(all)}, counts);
      continue;
    }
    const size_t strands = strands_for(elements);
    const Buffer sums = lane.scratch(Scratch::Sums, strands * sizeof(Sum));
    const LossParams params{.source = view_of(item.source),
                            .labels = view_of(item.labels),
                            .weights = view_of(item.weights),
                            .strands = strands,
                            .counts = 1};
    lane.launch(KernelId::SumLosses, strands, buffer_of(item.source), buffer_of(item.labels),
                buffer_of(item.weights), sums, params, sums);
    fold(lane, {.count = strands, .target = n}, counts);
  }
}

Divisor divisor_of(MPS::CNNReductionType reduction, bool across_batch, size_t image, size_t batch,
                   double mean_divisor) {
  const bool across = across_batch && reduction != MPS::CNNReductionType::None;
  Divisor divisor{.image = image, .batch = batch, .fixed = 1, .counted = 0, .across_batch = across};
  if (reduction == MPS::CNNReductionType::Mean)
    divisor.fixed =
        static_cast<float>(across ? mean_divisor * static_cast<double>(batch) : mean_divisor);
  if (reduction == MPS::CNNReductionType::SumByNonZeroWeights) divisor.counted = 1;
  return divisor;
}

void store_reduced(Lane& lane, std::span<const LossItem> items, MPS::CNNReductionType reduction,
                   bool across_batch, double mean_divisor) {
  const Buffer totals = sums_of_batch(lane, Scratch::Totals, items.size());
  const Buffer counts = sums_of_batch(lane, Scratch::Counts, items.size());
  for (size_t n = 0; n < items.size(); ++n) {
    const StoreParams params{
        .divisor = divisor_of(reduction, across_batch, n, items.size(), mean_divisor),
        .format = static_cast<U32>(items[n].loss->format().format)};
    lane.launch(KernelId::StoreReduced, 1, totals, counts, params, buffer_of(items[n].loss));
  }
}

}  // namespace bnns::impl::mps::opencl
