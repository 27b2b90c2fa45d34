// Figures of a network on a set of samples. Samples are taken in blocks of a fixed size, and the
// losses of blocks are added in a fixed tree, so that the result does not depend on who computes
// them.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "openbnns/train/error.hpp"
#include "openbnns/train/fit.hpp"
#include "train/network/runner.h"
#include "train/training/batches.h"
#include "train/training/checks.h"
#include "train/training/loss.h"
#include "train/training/named_values.h"
#include "train/training/ranks.h"

namespace bnns::train {
namespace {

constexpr std::size_t kBlock = 64;

std::size_t blocks_of(const Data& data) {
  return (data.size() + kBlock - 1) / kBlock;
}

// Runs blocks [first, last); `block` sees the runner's output and the targets.
template <typename Block>
void run_blocks(Network& network, const Data& data, std::size_t first, std::size_t last,
                std::size_t threads, const Block& block) {
  if (first == last) return;
  const std::size_t begin = first * kBlock, end = std::min(data.size(), last * kBlock);
  impl::Runner runner(network, std::min(kBlock, data.size()), threads);
  std::vector<std::size_t> order(end - begin);
  std::iota(order.begin(), order.end(), begin);
  impl::Batches batches(data, std::move(order), kBlock, 0, impl::preparation(network));
  while (const impl::Batch* batch = batches.next()) {
    std::ranges::copy(batch->values, runner.input().data());
    runner.forward({.samples = batch->samples});
    block(batch->samples, runner.output(), std::span<const float>(batch->targets));
  }
}

void finish_classes(Metrics& metrics) {
  const std::size_t classes = metrics.confusion.size();
  for (std::size_t c = 0; c < classes; ++c) {
    std::size_t taken = 0;
    for (const auto& row : metrics.confusion) taken += row[c];
    const auto& row = metrics.confusion[c];
    ClassMetrics figures = {.count = std::accumulate(row.begin(), row.end(), std::size_t{0})};
    const auto hits = static_cast<double>(row[c]);
    if (taken > 0) figures.precision = hits / static_cast<double>(taken);
    if (figures.count > 0) figures.recall = hits / static_cast<double>(figures.count);
    metrics.right += row[c];
    metrics.classes.push_back(figures);
  }
  metrics.accuracy = static_cast<double>(metrics.right) / static_cast<double>(metrics.samples);
}

// Sums over a block: its loss, and for predicted numbers, in their own units, what is left of them.
struct Sums {
  double loss = 0;
  double absolute = 0, square = 0, truth = 0, truth_square = 0;

  void add(double prediction, double target) {
    const double error = prediction - target;
    absolute += std::abs(error);
    square += error * error;
    truth += target;
    truth_square += target * target;
  }
  friend Sums operator+(const Sums& a, const Sums& b) {
    return {.loss = a.loss + b.loss,
            .absolute = a.absolute + b.absolute,
            .square = a.square + b.square,
            .truth = a.truth + b.truth,
            .truth_square = a.truth_square + b.truth_square};
  }
  void finish(Metrics& metrics, double count) const {
    metrics.mean_absolute_error = absolute / count;
    metrics.root_mean_square_error = std::sqrt(square / count);
    const double variance = truth_square - truth * truth / count;
    metrics.r_squared = variance > 1e-12 * truth_square ? 1 - square / variance : 0;
  }
};

Sums tree_sum(std::span<const Sums> terms) {
  if (terms.size() == 1) return terms[0];
  const std::size_t half = std::bit_floor(terms.size() - 1);
  return tree_sum(terms.first(half)) + tree_sum(terms.subspan(half));
}

// Every rank has its part of the blocks; afterwards all have all of them.
void share(const impl::Ranks& ranks, std::span<Sums> blocks) {
  for (std::size_t root = 0; root < ranks.size(); ++root) {
    const std::size_t first = ranks.first_shard(root), last = ranks.first_shard(root + 1);
    const std::span<Sums> part = blocks.subspan(first, last - first);
    if (!part.empty()) ranks.communicator().broadcast(std::as_writable_bytes(part), root);
  }
}

// Counts of all ranks are added; integers, so that any order gives the same.
void share(const impl::Ranks& ranks, std::vector<std::vector<std::size_t>>& counts) {
  for (std::vector<std::size_t>& row : counts) impl::add_counts(ranks.communicator(), row);
}

}  // namespace

Metrics evaluate(Network& network, const Data& data, const TrainingOptions& options) {
  if (options.communicator) {
    require_agreement(*options.communicator, impl::values_of("evaluated", data));
  }
  Metrics metrics = {.samples = data.size()};
  if (data.empty()) return metrics;
  impl::require_match(network, data);
  const DataDescription& description = data.description();
  const bool classes = description.task == Task::classification;
  const std::size_t outputs = network.output_count();
  const impl::Ranks ranks(options.communicator, blocks_of(data));
  const std::size_t first = ranks.first_shard(ranks.rank());
  impl::ShardLoss loss(description, options, outputs, std::min(kBlock, data.size()));
  std::vector<Sums> blocks(blocks_of(data));
  std::size_t block = first;
  if (classes) metrics.confusion.assign(outputs, std::vector<std::size_t>(outputs));
  run_blocks(network, data, first, ranks.first_shard(ranks.rank() + 1), options.threads,
             [&](std::size_t samples, const Tensor& scores, std::span<const float> targets) {
               Sums& sums = blocks[block++];
               sums.loss = loss.apply(samples, scores, targets, nullptr);
               for (std::size_t n = 0; n < samples; ++n) {
                 const auto row = scores.sample(n);
                 if (classes) {
                   const auto best = std::ranges::max_element(row) - row.begin();
                   metrics.confusion[static_cast<std::size_t>(targets[n])]
                                    [static_cast<std::size_t>(best)] += 1;
                   continue;
                 }
                 const std::vector<float> guess = impl::in_units(network, row);
                 const std::vector<float> truth =
                     impl::in_units(network, targets.subspan(n * outputs, outputs));
                 for (std::size_t k = 0; k < outputs; ++k) sums.add(guess[k], truth[k]);
               }
             });
  if (!ranks.alone()) {
    share(ranks, blocks);
    share(ranks, metrics.confusion);
  }
  const Sums all = tree_sum(blocks);
  const double count = static_cast<double>(data.size());
  metrics.loss = all.loss / (count * loss.entries_per_sample());
  if (classes) {
    finish_classes(metrics);
  } else {
    all.finish(metrics, count * static_cast<double>(outputs));
  }
  return metrics;
}

std::vector<float> predict(Network& network, const Data& data, std::size_t threads) {
  if (data.empty()) return {};
  impl::require_match(network, data);
  const std::size_t outputs = network.output_count();
  std::vector<float> results;
  results.reserve(data.size() * outputs);
  run_blocks(network, data, 0, blocks_of(data), threads,
             [&](std::size_t samples, const Tensor& scores, std::span<const float>) {
               const std::span<const float> block = scores.values().first(samples * outputs);
               results.insert(results.end(), block.begin(), block.end());
             });
  impl::finish_predictions(network, results);
  return results;
}

}  // namespace bnns::train
