// fit(): epochs of steps. What a run is after any step follows from data, options and the
// parameters, moments and figures in RunState; a checkpoint holds these.
#include "openbnns/train/fit.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <nlohmann/json.hpp>

#include "openbnns/openbnns.h"
#include "openbnns/train/error.hpp"
#include "openbnns/train/preprocessing.hpp"
#include "train/content_hash.h"
#include "train/training/checks.h"
#include "train/training/named_values.h"
#include "train/training/optimizer.h"
#include "train/training/ranks.h"
#include "train/training/run_state.h"
#include "train/training/shards.h"

namespace bnns::train {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// Weights that make every class count the same, with a mean of 1 over all samples.
std::vector<float> class_weights(const Data& data) {
  const DataDescription& description = data.description();
  if (description.task != Task::classification) {
    throw Error(Error::Kind::usage, "class_weights need classes; the data is for regression");
  }
  const std::vector<std::size_t> counts = data.class_counts();
  std::vector<float> weights;
  const auto present = std::ranges::count_if(counts, [](std::size_t n) { return n > 0; });
  for (const std::size_t count : counts) {
    weights.push_back(count == 0 ? 0
                                 : static_cast<float>(static_cast<double>(data.size()) /
                                                      (static_cast<double>(present) *
                                                       static_cast<double>(count))));
  }
  return weights;
}

class Training {
 public:
  Training(Network& network, const Data& training, const Data& validation,
           const TrainingOptions& options, Observer& observer)
      : network_(network),
        training_(training),
        validation_(validation),
        options_(options),
        observer_(observer),
        ranks_(options.communicator, options.shards),
        steps_((training.size() + options.batch_size - 1) / options.batch_size),
        shards_(network, training.description(), options),
        optimizer_(options, network.state().parameters()),
        state_(network.state().parameters(), optimizer_) {
    if (options.class_weights) shards_.loss().set_class_weights(class_weights(training));
  }

  TrainingResult run() {
    if (options_.resume) state_.load(network_, training_, options_);
    bool early = decided(is_early());  // the run of the checkpoint may have ended so
    while (state_.epoch < options_.epochs && !stop_ && !early) {
      run_epoch();
      if (state_.step == steps_) {
        finish_epoch();
        early = decided(is_early());
      }
      if (!options_.checkpoint.empty() && ranks_.rank() == 0) {
        state_.save(network_, training_, options_);
      }
    }
    const bool finished = state_.epoch == options_.epochs || early;
    if (options_.keep_best && state_.has_best() && finished) state_.restore_best();
    return {.epochs = state_.records,
            .best_epoch = state_.best_epoch,
            .stopped = !finished,
            .stopped_early = early,
            .other_target = other_target(),
            .layers = layer_times()};
  }

 private:
  // Ends before the epoch does if the observer asks for it.
  void run_epoch() {
    const auto start = Clock::now();
    const double seconds_before = state_.seconds;
    impl::Batches batches(training_, impl::shuffled(training_.size(), options_.seed, state_.epoch),
                          options_.batch_size, state_.step,
                          impl::training_preparation(network_, options_, state_.epoch),
                          {.first = ranks_.first_shard(ranks_.rank()),
                           .last = ranks_.first_shard(ranks_.rank() + 1),
                           .parts = options_.shards});
    while (const impl::Batch* batch = batches.next()) {
      step(*batch);
      state_.seconds = seconds_before + seconds_since(start);
      observer_.on_step({.epoch = state_.epoch + 1,
                         .epochs = options_.epochs,
                         .step = state_.step,
                         .steps = steps_,
                         .samples = state_.samples,
                         .loss = mean_loss(),
                         .accuracy = accuracy(),
                         .seconds = state_.seconds,
                         .samples_per_second = samples_per_second()});
      stop_ = decided(observer_.stop_requested());
      if (stop_) return;
    }
  }

  void step(const impl::Batch& batch) {
    const impl::ShardSum sum = shards_.run(batch, state_.epoch);
    const std::size_t number = state_.epoch * steps_ + batch.step;
    rate_ = impl::learning_rate(options_, number, steps_);
    const double entries = shards_.loss().entries_per_sample();
    optimizer_.step(number, rate_, 1 / (static_cast<double>(batch.samples) * entries));
    state_.loss += sum.loss / entries;
    state_.right += sum.right;
    state_.samples += batch.samples;
    state_.timed_samples += batch.samples;
    state_.step = batch.step + 1;
  }

  // What rank 0 wants, all do at the same step.
  bool decided(bool wish) const {
    if (!ranks_.alone()) impl::broadcast(ranks_.communicator(), wish);
    return wish;
  }

  // Training ends for want of progress.
  bool is_early() const {
    return options_.patience > 0 && state_.has_best() &&
           state_.epoch - state_.best_epoch >= options_.patience;
  }

  void finish_epoch() {
    EpochRecord record = {.epoch = state_.epoch + 1,
                          .training_loss = mean_loss(),
                          .training_accuracy = accuracy(),
                          .validation = evaluate(network_, validation_, options_),
                          .learning_rate = rate_,
                          .seconds = state_.seconds,
                          .samples_per_second = samples_per_second()};
    if (!validation_.empty()) record.is_best = decided(state_.is_best(record));
    if (record.is_best) state_.keep_best(record);
    state_.records.push_back(record);
    state_.begin_epoch(state_.epoch + 1);
    observer_.on_epoch(record, layer_times());
  }

  std::string other_target() const {
    return state_.loaded_target() == OpenBNNSGetTarget() ? "" : state_.loaded_target();
  }

  double samples_per_second() const {
    return static_cast<double>(state_.timed_samples) / state_.seconds;
  }
  double mean_loss() const {
    return state_.samples == 0 ? 0 : state_.loss / static_cast<double>(state_.samples);
  }
  double accuracy() const {
    return state_.samples == 0
               ? 0
               : static_cast<double>(state_.right) / static_cast<double>(state_.samples);
  }
  std::vector<LayerTime> layer_times() const {
    std::vector<LayerTime> times;
    for (const auto& time : shards_.times()) {
      times.push_back({time.name, time.forward, time.backward});
    }
    return times;
  }

  Network& network_;
  const Data &training_, &validation_;
  const TrainingOptions& options_;
  Observer& observer_;
  impl::Ranks ranks_;
  std::size_t steps_;
  impl::Shards shards_;
  impl::Optimizer optimizer_;
  impl::RunState state_;
  double rate_ = 0;
  bool stop_ = false;  // the observer asked for it
};

std::uint64_t checksum_of(impl::ParameterSet& parameters) {
  ContentHash hash;
  for (const Tensor* tensor : {&parameters.weights(), &parameters.state()}) {
    hash.add(std::as_bytes(tensor->values()));
  }
  return hash.value();
}

// Rank 0 learns for all: others read no samples that are not theirs.
Preprocessing learnt(const Data& training, Communicator* ranks) {
  if (!ranks) return Preprocessing::learn(training);
  std::string json;
  if (ranks->rank() == 0) json = Preprocessing::learn(training).to_json();
  impl::broadcast_text(*ranks, json);
  return Preprocessing::from_json(json);
}

// The ranks must train the same network on the same data in the same way.
void agree(Communicator& ranks, Network& network, const Data& training, const Data& validation,
           const TrainingOptions& options) {
  using Json = nlohmann::ordered_json;
  NamedValues values = {{"version", OpenBNNSGetVersion()}};
  impl::append(values, impl::values_of(options));
  impl::append(values, {{"epochs", fmt::format("{}", options.epochs)},
                        {"patience", fmt::format("{}", options.patience)},
                        {"keep best", fmt::format("{}", options.keep_best)},
                        {"resume", fmt::format("{}", options.resume)},
                        {"initialize", fmt::format("{}", options.initialize)},
                        {"network", Json::parse(network.to_json()).dump()}});
  if (!options.initialize) {
    impl::append(values,
                 {{"weights", fmt::format("{:016x}", checksum_of(network.state().parameters()))},
                  {"preprocessing", network.preprocessing().to_json()}});
  }
  impl::append(values, impl::values_of("training", training));
  impl::append(values, impl::values_of("validation", validation));
  require_agreement(ranks, values);
}

}  // namespace

TrainingResult fit(Network& network, const Data& training, const Data& validation,
                   const TrainingOptions& options, Observer* observer) {
  impl::require_valid(options);
  if (training.empty()) throw Error(Error::Kind::data, "there are no training samples");
  impl::require_match(network, training);
  if (!validation.empty()) impl::require_match(network, validation);
  const DataDescription& description = training.description();
  // A network that is trained further goes on seeing samples as it did, if they are of the same
  // kind.
  const bool learns = options.initialize || !(network.preprocessing().description() == description);
  if (learns) impl::require_ids(network, training);
  TrainingOptions used = options;
  used.batch_size = std::min(options.batch_size, training.size());
  used.shards = std::min(used.shards, used.batch_size);
  Communicator* const ranks = options.communicator;
  if (ranks) agree_on_target(*ranks);
  if (ranks) agree(*ranks, network, training, validation, used);
  // Only now: an error that not all ranks see would leave the others waiting.
  if (ranks && ranks->size() > used.shards) {
    throw Error(Error::Kind::ranks,
                fmt::format("there are {} ranks; batches of {} in {} shards have work for {}",
                            ranks->size(), used.batch_size, options.shards, used.shards));
  }
  if (options.initialize) network.initialize(options.seed);
  if (learns) network.set_preprocessing(learnt(training, ranks));
  network.info().task = description.task;
  network.info().class_names = description.class_names;
  network.info().target_names = description.target_names;
  network.info().notes["version"] = OpenBNNSGetVersion();
  network.info().notes["target"] = OpenBNNSGetTarget();
  Observer silent;
  return Training(network, training, validation, used, observer ? *observer : silent).run();
}

}  // namespace bnns::train
