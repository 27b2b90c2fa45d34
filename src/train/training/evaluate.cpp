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

namespace bnns::train {
namespace {

constexpr std::size_t kBlock = 64;

double tree_sum(std::span<const double> terms) {
  if (terms.empty()) return 0;
  if (terms.size() == 1) return terms[0];
  const std::size_t half = std::bit_floor(terms.size() - 1);
  return tree_sum(terms.first(half)) + tree_sum(terms.subspan(half));
}

// Runs all samples; `block` sees the runner's output and the targets.
template <typename Block>
void run_blocks(Network& network, const Data& data, std::size_t threads, const Block& block) {
  impl::Runner runner(network, std::min(kBlock, data.size()), threads);
  std::vector<std::size_t> order(data.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
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

// Sums over predicted numbers, in their own units.
struct Residuals {
  double absolute = 0, square = 0, truth = 0, truth_square = 0, count = 0;

  void add(double prediction, double target) {
    const double error = prediction - target;
    absolute += std::abs(error);
    square += error * error;
    truth += target;
    truth_square += target * target;
    count += 1;
  }
  void finish(Metrics& metrics) const {
    metrics.mean_absolute_error = absolute / count;
    metrics.root_mean_square_error = std::sqrt(square / count);
    const double variance = truth_square - truth * truth / count;
    metrics.r_squared = variance > 1e-12 * truth_square ? 1 - square / variance : 0;
  }
};

}  // namespace

Metrics evaluate(Network& network, const Data& data, const TrainingOptions& options) {
  Metrics metrics = {.samples = data.size()};
  if (data.empty()) return metrics;
  impl::require_match(network, data);
  const DataDescription& description = data.description();
  const std::size_t outputs = network.output_count();
  impl::ShardLoss loss(description, options, outputs, std::min(kBlock, data.size()));
  std::vector<double> losses;
  Residuals residuals;
  if (description.task == Task::classification) {
    metrics.confusion.assign(outputs, std::vector<std::size_t>(outputs));
  }
  run_blocks(network, data, options.threads,
             [&](std::size_t samples, const Tensor& scores, std::span<const float> targets) {
               losses.push_back(loss.apply(samples, scores, targets, nullptr));
               for (std::size_t n = 0; n < samples; ++n) {
                 const auto row = scores.sample(n);
                 if (description.task == Task::classification) {
                   const auto best = std::ranges::max_element(row) - row.begin();
                   metrics.confusion[static_cast<std::size_t>(targets[n])]
                                    [static_cast<std::size_t>(best)] += 1;
                   continue;
                 }
                 const std::vector<float> guess = impl::in_units(network, row);
                 const std::vector<float> truth =
                     impl::in_units(network, targets.subspan(n * outputs, outputs));
                 for (std::size_t k = 0; k < outputs; ++k) residuals.add(guess[k], truth[k]);
               }
             });
  metrics.loss = tree_sum(losses) / (static_cast<double>(data.size()) * loss.entries_per_sample());
  if (description.task == Task::classification) {
    finish_classes(metrics);
  } else {
    residuals.finish(metrics);
  }
  return metrics;
}

std::vector<float> predict(Network& network, const Data& data, std::size_t threads) {
  if (data.empty()) return {};
  impl::require_match(network, data);
  const std::size_t outputs = network.output_count();
  std::vector<float> results;
  results.reserve(data.size() * outputs);
  run_blocks(network, data, threads,
             [&](std::size_t samples, const Tensor& scores, std::span<const float>) {
               const std::span<const float> block = scores.values().first(samples * outputs);
               results.insert(results.end(), block.begin(), block.end());
             });
  impl::finish_predictions(network, results);
  return results;
}

}  // namespace bnns::train
