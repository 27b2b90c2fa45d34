#include "train/training/shards.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "openbnns/train/error.hpp"

namespace bnns::train::impl {
namespace {

// The gradients must be there before anything runs.
ParameterSet& with_gradients(ParameterSet& parameters) {
  parameters.gradients();
  return parameters;
}

}  // namespace

Shards::Shards(Network& network, const DataDescription& data, const TrainingOptions& options)
    : options_(options),
      task_(data.task),
      width_(data.shape.count()),
      targets_(data.target_count()),
      runner_(network, (options.batch_size + options.shards - 1) / options.shards, options.threads),
      loss_(data, options, network.output_count(), runner_.batch_size()),
      tree_(with_gradients(network.state().parameters()),
            runner_.sequence().segments(network.state().parameters()),
            Ranks(options.communicator, options.shards), options.shards) {}

ShardSum Shards::run_shard(const Batch& batch, std::size_t shard, const ShardTree::Done& done) {
  const std::size_t first = shard * batch.samples / options_.shards;
  const std::size_t samples = (shard + 1) * batch.samples / options_.shards - first;
  const std::size_t place = first - batch.first;  // in what was read of the batch
  const Pass pass = {.samples = samples,
                     .training = true,
                     .seed = options_.seed,
                     .epoch = epoch_,
                     .step = batch.step,
                     .first_sample = first};
  std::copy_n(batch.values.data() + place * width_, samples * width_, runner_.input().data());
  const auto targets = std::span(batch.targets).subspan(place * targets_, samples * targets_);
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
  runner_.sequence().set_after_backward(done);
  runner_.backward(pass);
  return sum;
}

ShardSum Shards::run(const Batch& batch, std::uint64_t epoch) {
  epoch_ = epoch;
  return tree_.run(batch.samples, [&](std::size_t shard, const ShardTree::Done& done) {
    return run_shard(batch, shard, done);
  });
}

}  // namespace bnns::train::impl
