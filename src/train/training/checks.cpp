#include "train/training/checks.h"

#include <fmt/format.h>

#include <cmath>

#include "openbnns/train/error.hpp"
#include "train/data/augmentation.h"
#include "train/layers/kind.h"
#include "train/network/state.h"

namespace bnns::train::impl {
namespace {

void require_range(const char* field, double value, double least, double most) {
  if (value >= least && value <= most) return;
  throw Error(Error::Kind::usage,
              fmt::format("{} is {}; it must be from {} to {}", field, value, least, most));
}

double number(std::size_t value) {
  return static_cast<double>(value);
}

}  // namespace

void require_valid(const TrainingOptions& options) {
  const OptimizerOptions& o = options.optimizer;
  require_range("epochs", number(options.epochs), 1, 1e6);
  require_range("batch_size", number(options.batch_size), 1, 1e6);
  require_range("shards", number(options.shards), 1, number(options.batch_size));
  require_range("threads", number(options.threads), 0, 1024);
  require_range("label_smoothing", options.label_smoothing, 0, 1);
  require_range("huber_delta", options.huber_delta, 1e-12, 1e12);
  require_range("learning_rate", o.learning_rate, 0, 1e6);
  require_range("momentum", o.momentum, 0, 1);
  require_range("beta1", o.beta1, 0, 0.9999999);
  require_range("beta2", o.beta2, 0, 0.9999999);
  require_range("alpha", o.alpha, 0, 1);
  require_range("epsilon", o.epsilon, 0, 1);
  require_range("weight_decay", o.weight_decay, 0, 1e6);
  require_range("clip_norm", o.clip_norm, 0, 1e12);
  require_range("clip_value", o.clip_value, 0, 1e12);
  require_range("step_epochs", number(options.schedule.step_epochs), 1, 1e6);
  require_range("step_factor", options.schedule.step_factor, 0, 1e6);
  require_range("least", options.schedule.least, 0, 1);
  if (o.clip_norm > 0 && o.clip_value > 0) {
    throw Error(Error::Kind::usage, "clip_norm and clip_value are both given; choose one");
  }
  if (options.resume && options.checkpoint.empty()) {
    throw Error(Error::Kind::usage, "resume is asked for, and no checkpoint is named");
  }
}

void require_match(const Network& network, const Data& data) {
  const DataDescription& d = data.description();
  if (!(network.input_shape() == d.shape)) {
    throw Error(Error::Kind::data, fmt::format("samples are {}; the network takes {}",
                                               text_of(d.shape), text_of(network.input_shape())));
  }
  if (network.output_count() != d.output_count()) {
    throw Error(Error::Kind::data,
                fmt::format("the data has {} {}; the network predicts {}", d.output_count(),
                            d.task == Task::classification ? "classes" : "numbers per sample",
                            network.output_count()));
  }
}

void require_ids(const Network& network, const Data& data) {
  const std::vector<ResolvedLayer>& layers = network.state().layers;
  if (layers.empty() || !layers[0].kind->takes_ids) return;
  if (data.description().kind == SampleKind::ids) return;
  throw Error(Error::Kind::data,
              fmt::format("the network begins with an {}, and numbers that are not of the kind ids "
                          "are standardized; its data must have the kind ids",
                          layers[0].kind->name));
}

Batches::Prepare preparation(const Network& network) {
  return [&network](std::size_t, std::size_t, std::span<float> values, std::span<float> targets) {
    network.preprocessing().apply(values);
    network.preprocessing().apply_to_targets(targets);
  };
}

Batches::Prepare training_preparation(const Network& network, const TrainingOptions& options,
                                      std::uint64_t epoch) {
  if (options.augmentation.max_shift == 0 && !options.augmentation.flip) {
    return preparation(network);
  }
  constexpr std::uint64_t kAugmentation = 0x4155;  // a key of its own
  return [&network, &options, epoch](std::size_t step, std::size_t place, std::span<float> values,
                                     std::span<float> targets) {
    augment(values, network.input_shape(), options.augmentation,
            CounterRandom({options.seed, epoch, step, kAugmentation, place}));
    network.preprocessing().apply(values);
    network.preprocessing().apply_to_targets(targets);
  };
}

std::vector<float> in_units(const Network& network, std::span<const float> row) {
  std::vector<float> values(row.begin(), row.end());
  network.preprocessing().restore_targets(values);
  return values;
}

}  // namespace bnns::train::impl
