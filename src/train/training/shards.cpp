#include "train/training/shards.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "openbnns/train/error.hpp"

namespace bnns::train::impl {
namespace {

void add(Tensor& sum, const Tensor& summand) {
  float* to = sum.data();
  const float* from = summand.data();
  for (std::size_t i = 0; i < sum.count(); ++i) to[i] += from[i];
}

}  // namespace

Shards::Shards(Network& network, const DataDescription& data, const TrainingOptions& options)
    : options_(options),
      task_(data.task),
      width_(data.shape.count()),
      targets_(data.target_count()),
      parameters_(network.state().parameters()),
      runner_(network, (options.batch_size + options.shards - 1) / options.shards, options.threads),
      loss_(data, options, network.output_count(), runner_.batch_size()) {
  parameters_.gradients();
  if (options.shards == 1) return;
  const std::size_t levels = 1 + static_cast<std::size_t>(std::bit_width(options.shards - 1));
  for (std::size_t k = 0; k < levels; ++k) {
    slots_.push_back(
        {Tensor(parameters_.weights().shape()), Tensor(parameters_.state().shape()), ShardSum{}});
  }
}

ShardSum Shards::run_shard(const Batch& batch, std::size_t first, std::size_t samples) {
  const Pass pass = {.samples = samples,
                     .training = true,
                     .seed = options_.seed,
                     .epoch = epoch_,
                     .step = batch.step,
                     .first_sample = first};
  std::copy_n(batch.values.data() + first * width_, samples * width_, runner_.input().data());
  const auto targets = std::span(batch.targets).subspan(first * targets_, samples * targets_);
  runner_.forward(pass);
  ShardSum sum = {.shards = 1};
  sum.loss = loss_.apply(samples, runner_.output(), targets, &runner_.output_delta());
  if (!std::isfinite(sum.loss)) {
    const std::string layer = runner_.first_not_finite(pass);
    throw Error(
        Error::Kind::training,
        fmt::format("the loss is {} at step {} of epoch {}; {}", sum.loss, batch.step + 1,
                    epoch_ + 1,
                    layer.empty() ? "all outputs of layers are finite, the loss overflows"
                                  : "the first output that is not finite is that of " + layer) +
            "; a smaller learning rate or clipping may help");
  }
  if (task_ == Task::classification) sum.right = count_right(samples, runner_.output(), targets);
  runner_.backward(pass);
  return sum;
}

void Shards::run_tree(const Batch& batch, std::size_t first, std::size_t last, std::size_t slot) {
  Slot& own = slots_[slot];
  if (last - first == 1) {
    const std::size_t begin = first * batch.samples / options_.shards;
    const std::size_t end = last * batch.samples / options_.shards;
    own.sum = {};
    if (begin == end) return;
    parameters_.state().copy_from(state_before_);
    own.sum = run_shard(batch, begin, end - begin);
    own.gradients.copy_from(parameters_.gradients().values());
    own.state.copy_from(parameters_.state().values());
    return;
  }
  const std::size_t middle = first + std::bit_floor(last - first - 1);
  run_tree(batch, first, middle, slot);
  run_tree(batch, middle, last, slot + 1);
  Slot& right = slots_[slot + 1];
  if (right.sum.shards == 0) return;
  if (own.sum.shards == 0) {
    std::swap(own, right);
    return;
  }
  add(own.gradients, right.gradients);
  add(own.state, right.state);
  own.sum.loss += right.sum.loss;
  own.sum.right += right.sum.right;
  own.sum.shards += right.sum.shards;
}

ShardSum Shards::run(const Batch& batch, std::uint64_t epoch) {
  epoch_ = epoch;
  if (options_.shards == 1) return run_shard(batch, 0, batch.samples);
  const auto state = parameters_.state().values();
  state_before_.assign(state.begin(), state.end());
  run_tree(batch, 0, options_.shards, 0);
  const Slot& all = slots_[0];
  parameters_.gradients().copy_from(all.gradients.values());
  const float count = static_cast<float>(all.sum.shards);
  std::ranges::transform(all.state.values(), parameters_.state().data(),
                         [&](float sum) { return sum / count; });
  return all.sum;
}

}  // namespace bnns::train::impl
