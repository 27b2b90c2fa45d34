// Losses and their gradients on an OpenCL device: one launch per image and step.
#include <algorithm>
#include <cmath>

#include "mps/image_storage.h"
#include "mps/loss_elements.h"
#include "mps/opencl/device.h"
#include "mps/opencl/formula.h"
#include "mps/opencl/reduction.h"

namespace bnns::impl::mps::opencl {

Formula formula_of(const LossFormula& formula, const LossValues& values) {
  const ElementConstants k = constants_of(formula, values);
  return {.keep = static_cast<float>(k.keep),
          .added = static_cast<float>(k.added),
          .epsilon = values.epsilon,
          .delta = values.delta,
          .type = static_cast<U32>(formula.type),
          .as_printed = formula.as_printed};
}

bool is_softmax(const LossFormula& formula) {
  return formula.type == MPS::CNNLossType::SoftMaxCrossEntropy;
}

namespace {

// A weights image that does not exist needs some buffer in its place.
Buffer buffer_or(const StoragePtr& image, const StoragePtr& other) {
  return buffer_of(image == nullptr ? other : image);
}

// Scratch memory whose content does not matter.
Buffer any_sums(Lane& lane, Scratch purpose) {
  return lane.scratch(purpose, sizeof(Sum));
}

// Two floats per pixel from which log(softmax) follows, over `channels` channels from `first` on.
// Chunks share the work on pixels of many channels.
Buffer normalize(Lane& lane, const StoragePtr& source, size_t first, size_t channels) {
  constexpr size_t kChunk = 256;
  const size_t pixels = source->width() * source->height();
  const auto root = static_cast<size_t>(std::sqrt(static_cast<double>(channels)));
  const size_t chunk = std::max(kChunk, root), chunks = (channels + chunk - 1) / chunk;
  const Buffer largest = lane.scratch(Scratch::Largest, pixels * chunks * sizeof(float));
  const Buffer sums = lane.scratch(Scratch::ChunkSums, pixels * chunks * sizeof(Sum));
  const Buffer normalizers = lane.scratch(Scratch::Normalizers, pixels * sizeof(Sum));
  const SoftmaxParams params{.source = view_of(source),
                             .first = first,
                             .channels = channels,
                             .chunk = chunk,
                             .chunks = chunks};
  lane.launch(KernelId::SoftmaxLargest, pixels * chunks, buffer_of(source), params, largest);
  lane.launch(KernelId::SoftmaxSum, pixels * chunks, buffer_of(source), largest, params, sums);
  lane.launch(KernelId::SoftmaxFinish, pixels, largest, sums, params, normalizers);
  return normalizers;
}

void run_forward(Lane& lane, const LossWork& work, const LossItem& item, size_t n, Buffer totals) {
  const Buffer normalizers = is_softmax(work.formula)
                                 ? normalize(lane, item.source, 0, item.source->channels())
                                 : any_sums(lane, Scratch::Normalizers);
  LossParams params{.source = view_of(item.source),
                    .labels = view_of(item.labels),
                    .weights = view_of(item.weights),
                    .loss = view_of(item.loss),
                    .formula = formula_of(work.formula, item.values),
                    .weight = item.values.weight};
  const Buffer source = buffer_of(item.source), labels = buffer_of(item.labels),
               weights = buffer_or(item.weights, item.source);
  if (!work.formula.reduced()) {
    lane.launch(KernelId::Losses, item.source->elements(), source, labels, weights, normalizers,
                params, buffer_of(item.loss));
    return;
  }
  params.strands = strands_for(item.source->elements());
  const Buffer sums = lane.scratch(Scratch::Sums, params.strands * sizeof(Sum));
  lane.launch(KernelId::SumLosses, params.strands, source, labels, weights, normalizers, params,
              sums);
  const bool cosine = work.formula.type == MPS::CNNLossType::CosineDistance;
  fold(lane,
       {.count = params.strands,
        .target = n,
        .offset = {cosine ? 1.0f : 0.0f, 0},
        .scale = item.values.weight},
       totals);
}

Place place_of(const ReadWindow& window) {
  return {.x = window.x, .y = window.y, .channel = window.channel, .clamped = window.clamp};
}

void run_gradient(Lane& lane, const LossWork& work, size_t n, double mean_divisor) {
  const GradientWindow& w = work.window;
  const size_t elements = w.width * w.height * w.channels;
  if (elements == 0) return;
  const LossItem& item = work.items[n];
  const bool softmax = is_softmax(work.formula);
  const Buffer normalizers = softmax ? normalize(lane, item.source, w.source.channel, w.channels)
                                     : any_sums(lane, Scratch::Normalizers);
  // With a reduction over the batch only the gradient of its first image counts.
  const LossFormula& formula = work.formula;
  const bool first = formula.reduced() && formula.across_batch;
  const StoragePtr& upstream = work.items[first ? 0 : n].upstream;
  const GradientParams params{
      .source = view_of(item.source),
      .labels = view_of(item.labels),
      .weights = view_of(item.weights),
      .upstream = view_of(upstream),
      .gradient = view_of(item.gradient),
      .source_place = place_of(w.source),
      .upstream_place = place_of(w.upstream),
      .x = w.x,
      .y = w.y,
      .width = w.width,
      .height = w.height,
      .channel = w.destination_channel,
      .channels = w.channels,
      .divisor = divisor_of(work.divides ? formula.reduction : MPS::CNNReductionType::None,
                            formula.across_batch, n, work.items.size(), mean_divisor),
      .formula = formula_of(formula, item.values),
      .weight = item.values.weight,
      .softmax = softmax,
      .by_labels = work.label_gradients,
      .by_element = upstream != nullptr && !formula.reduced()};
  lane.launch(KernelId::Gradient, elements, buffer_of(item.source), buffer_of(item.labels),
              buffer_or(item.weights, item.source), buffer_or(upstream, item.source), normalizers,
              sums_of_batch(lane, Scratch::Counts, work.items.size()), params,
              buffer_of(item.gradient));
}

}  // namespace

void run(Lane& lane, const LossWork& work) {
  const ImageStorage& source = *work.items[0].source;
  const size_t pixels = source.width() * source.height();
  const auto mean_divisor =
      static_cast<double>(is_softmax(work.formula) ? pixels : pixels * source.channels());
  const size_t batch = work.items.size();
  const bool forward = work.items[0].loss != nullptr, backward = work.items[0].gradient != nullptr;
  if (work.formula.reduction == MPS::CNNReductionType::SumByNonZeroWeights)
    count_weights(lane, work.items);
  if (forward) {
    const Buffer totals = sums_of_batch(lane, Scratch::Totals, batch);
    for (size_t n = 0; n < batch; ++n) run_forward(lane, work, work.items[n], n, totals);
    if (work.formula.reduced())
      store_reduced(lane, work.items, work.formula.reduction, work.formula.across_batch,
                    mean_divisor);
  }
  for (size_t n = 0; backward && n < batch; ++n) run_gradient(lane, work, n, mean_divisor);
}

void run(Lane& lane, const OnesWork& work) {
  for (const StoragePtr& destination : work.destinations)
    lane.launch(KernelId::Ones, work.width * work.height * work.channels,
                OnesParams{.destination = view_of(destination),
                           .width = work.width,
                           .height = work.height,
                           .channels = work.channels},
                buffer_of(destination));
}

}  // namespace bnns::impl::mps::opencl
