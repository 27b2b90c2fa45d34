// Training: what it reaches, what it repeats, how it stops, and how it goes on.
#include <gtest/gtest.h>
#include <openbnns/openbnns.h>
#include <openbnns/train.hpp>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "files/support.h"
#include "train/files/safetensors.h"

namespace bnns::train {
namespace {

std::vector<float> all_values(Network& network) {
  std::vector<float> values;
  for (const ParameterView& view : network.parameters()) {
    values.insert(values.end(), view.values.begin(), view.values.end());
  }
  return values;
}

// Small, but with all that could make bits differ: normalization, dropout, an uneven last batch.
Network small_network() {
  return Network::image(28, 28)
      .convolution(4, 3)
      .batch_norm()
      .relu()
      .max_pool(2)
      .flatten()
      .dropout(0.2)
      .fully_connected(16)
      .relu()
      .softmax_classifier(10);
}

TrainingOptions small_options() {
  TrainingOptions options;
  options.epochs = 2;
  options.batch_size = 32;
  options.optimizer.clip_norm = 1;
  options.optimizer.weight_decay = 1e-4;
  options.schedule = {.kind = Schedule::Kind::cosine, .warm_up_steps = 3};
  options.augmentation = {.max_shift = 2};
  options.label_smoothing = 0.05;
  return options;
}

struct Parts {
  Data training = synthetic_digits(203, 1);
  Data validation = synthetic_digits(70, 2);
};

std::vector<float> trained(const TrainingOptions& options, Observer* observer = nullptr) {
  const Parts parts;
  Network network = small_network();
  fit(network, parts.training, parts.validation, options, observer);
  return all_values(network);
}

class StopAt final : public Observer {
 public:
  explicit StopAt(std::size_t steps) : left_(steps) {}
  void on_step(const StepRecord&) override { --left_; }
  bool stop_requested() override { return left_ == 0; }

 private:
  std::size_t left_;
};

TEST(Fit, LearnsDigits) {
  Network network = Network::named("digits", {28, 28, 1}, 10);
  TrainingOptions options;
  options.epochs = 3;
  fit(network, synthetic_digits(5000, 1), {}, options);
  const Metrics metrics = evaluate(network, synthetic_digits(500, 2));
  EXPECT_GT(metrics.accuracy, 0.9);
  EXPECT_EQ(metrics.samples, 500u);
  EXPECT_EQ(metrics.right, static_cast<std::size_t>(std::lround(metrics.accuracy * 500)));
  std::size_t counted = 0;
  for (const ClassMetrics& figures : metrics.classes) counted += figures.count;
  EXPECT_EQ(counted, 500u);
}

TEST(Fit, LearnsALine) {
  std::vector<float> values, targets;
  for (int n = 0; n < 200; ++n) {
    const float x = static_cast<float>(n) / 100 - 1, y = static_cast<float>(n % 7) - 3;
    values.insert(values.end(), {x, y});
    targets.push_back(3 * x - 0.5f * y + 2);
  }
  const Data data = Data::arrays(
      {.task = Task::regression, .shape = {.width = 2}, .target_names = {"z"}}, values, targets);
  Network network = Network::table(2).regression();
  TrainingOptions options;
  options.epochs = 60;
  options.batch_size = 20;
  options.optimizer = {.kind = OptimizerOptions::Kind::sgd, .learning_rate = 0.05, .momentum = 0.9};
  fit(network, data, {}, options);
  const Metrics metrics = evaluate(network, data);
  EXPECT_GT(metrics.r_squared, 0.9999);
  EXPECT_LT(metrics.root_mean_square_error, 0.02);
  EXPECT_LE(metrics.mean_absolute_error, metrics.root_mean_square_error);
}

TEST(Fit, SameBitsForAnyNumberOfThreads) {
  for (const std::size_t shards : {1, 3}) {
    TrainingOptions options = small_options();
    options.shards = shards;
    options.threads = 1;
    const std::vector<float> one = trained(options);
    for (const std::size_t threads : {2, 3}) {
      options.threads = threads;
      EXPECT_EQ(one, trained(options)) << threads << " threads, " << shards << " shards";
    }
  }
}

TEST(Fit, OtherSeedOtherBits) {
  TrainingOptions options = small_options();
  const std::vector<float> one = trained(options);
  options.seed = 2;
  EXPECT_NE(one, trained(options));
}

// Without normalization and dropout a batch in shards has the gradient of the batch.
TEST(Fit, ShardsSumToTheBatch) {
  const Data data = synthetic_digits(64, 1);
  const auto after = [&](std::size_t shards) {
    Network network = Network::image(28, 28).flatten().fully_connected(12).tanh();
    network.softmax_classifier(10);
    TrainingOptions options;
    options.epochs = 1;
    options.batch_size = 64;
    options.shards = shards;
    options.optimizer = {.kind = OptimizerOptions::Kind::sgd, .learning_rate = 0.1};
    fit(network, data, {}, options);
    return all_values(network);
  };
  const std::vector<float> whole = after(1);
  for (const std::size_t shards : {2, 3, 5, 64}) {
    const std::vector<float> cut = after(shards);
    for (std::size_t i = 0; i < whole.size(); ++i) ASSERT_NEAR(whole[i], cut[i], 1e-5) << shards;
  }
}

TEST(Fit, ResumeGivesTheBitsOfAnUninterruptedRun) {
  const test::TemporaryFolder folder;
  TrainingOptions options = small_options();
  options.epochs = 3;
  options.keep_best = true;
  const std::vector<float> whole = trained(options);
  for (const std::size_t steps : {1, 7, 9, 20}) {
    options.checkpoint = (folder.path() / ("run" + std::to_string(steps))).string();
    options.resume = false;
    StopAt stop(steps);
    EXPECT_NE(whole, trained(options, &stop));
    options.resume = true;
    EXPECT_EQ(whole, trained(options)) << "stopped after " << steps;
  }
}

TEST(Fit, ACheckpointOfAnotherTargetIsTold) {
  const test::TemporaryFolder folder;
  const Parts parts;
  TrainingOptions options = small_options();
  options.checkpoint = (folder.path() / "run").string();
  options.epochs = 1;
  Network network = small_network();
  EXPECT_EQ(fit(network, parts.training, parts.validation, options).other_target, "");
  options.resume = true;
  EXPECT_EQ(fit(network, parts.training, parts.validation, options).other_target, "");
  impl::TensorFile content = impl::read_safetensors(options.checkpoint);
  std::string& run = content.metadata["run"];
  const std::string target = "\"target\":\"" + std::string(OpenBNNSGetTarget());
  ASSERT_NE(run.find(target), std::string::npos) << run;
  run.replace(run.find(target), target.size(), "\"target\":\"older");
  impl::write_safetensors(options.checkpoint, content);
  EXPECT_EQ(fit(network, parts.training, parts.validation, options).other_target, "older");
}

TEST(Fit, RefusesTheCheckpointOfAnotherRun) {
  const test::TemporaryFolder folder;
  TrainingOptions options = small_options();
  options.checkpoint = (folder.path() / "run").string();
  trained(options);
  options.resume = true;
  options.optimizer.learning_rate = 0.5;
  try {
    trained(options);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), Error::Kind::model);
    EXPECT_NE(std::string(error.what()).find("learning rate was 0.001, and is 0.5 now"),
              std::string::npos)
        << error.what();
  }
  options = small_options();
  options.checkpoint = (folder.path() / "run").string();
  options.resume = true;
  Network other = Network::named("mlp", {28, 28, 1}, 10);
  const Parts parts;
  EXPECT_THROW(fit(other, parts.training, parts.validation, options), Error);
}

TEST(Fit, EndsWithTheBestValidation) {
  const Parts parts;
  Network network = small_network();
  TrainingOptions options = small_options();
  options.epochs = 6;
  options.optimizer.learning_rate = 0.02;  // restless
  const TrainingResult result = fit(network, parts.training, parts.validation, options);
  ASSERT_GT(result.best_epoch, 0u);
  const EpochRecord& best = result.epochs[result.best_epoch - 1];
  for (const EpochRecord& record : result.epochs) {
    EXPECT_GE(best.validation.right, record.validation.right);
  }
  EXPECT_EQ(evaluate(network, parts.validation, options).loss, best.validation.loss);
}

TEST(Fit, StopsEarly) {
  const Parts parts;
  Network network = small_network();
  TrainingOptions options = small_options();
  options.epochs = 50;
  options.patience = 2;
  options.optimizer.learning_rate = 0;  // no progress at all
  options.schedule = {};
  // Moving statistics go on changing, so a better epoch may still come.
  network.freeze("1");
  const TrainingResult result = fit(network, parts.training, parts.validation, options);
  EXPECT_TRUE(result.stopped_early);
  EXPECT_EQ(result.epochs.size(), 3u);
}

// What was written last is the epoch that ended the run: nothing is left to train.
TEST(Fit, ResumedAfterAnEarlyStopItTrainsNoFurther) {
  const test::TemporaryFolder folder;
  TrainingOptions options = small_options();
  options.epochs = 50;
  options.patience = 2;
  options.optimizer.learning_rate = 0.05;  // restless
  options.schedule = {};
  options.checkpoint = (folder.path() / "run").string();
  const Parts parts;
  const auto train = [&](Network& network) {
    return fit(network, parts.training, parts.validation, options);
  };
  Network network = small_network(), resumed = small_network();
  const TrainingResult first = train(network);
  ASSERT_TRUE(first.stopped_early);
  const std::string written = test::read_bytes(options.checkpoint);
  options.resume = true;
  const TrainingResult second = train(resumed);
  EXPECT_TRUE(second.stopped_early);
  EXPECT_EQ(second.epochs.size(), first.epochs.size());
  EXPECT_EQ(all_values(resumed), all_values(network));
  EXPECT_TRUE(test::read_bytes(options.checkpoint) == written);
  options.patience += 1;
  EXPECT_GT(train(resumed).epochs.size(), first.epochs.size());
}

TEST(Fit, FrozenLayersStay) {
  const Parts parts;
  Network network = small_network();
  network.initialize(1);
  network.freeze("0");
  network.freeze("1");
  const auto values_of = [&](std::size_t k) {
    const auto view = network.parameters()[k].values;
    return std::vector<float>(view.begin(), view.end());
  };
  std::vector<std::vector<float>> before;
  for (std::size_t k = 0; k < 8; ++k) before.push_back(values_of(k));
  // Statistics with all their bits in use: a third of three times such a number is often another.
  for (std::size_t k = 4; k < 6; ++k) {
    const std::span<float> values = network.parameters()[k].values;
    for (float& value : values) value += 0.1f;
    before[k] = values_of(k);
  }
  TrainingOptions options = small_options();
  options.initialize = false;
  for (const std::size_t shards : {1, 3, 5, 7}) {
    options.shards = shards;
    fit(network, parts.training, {}, options);
    for (std::size_t k = 0; k < 6; ++k) EXPECT_EQ(before[k], values_of(k)) << k << ", " << shards;
    for (std::size_t k = 6; k < 8; ++k) EXPECT_NE(before[k], values_of(k)) << k << ", " << shards;
  }
}

TEST(Fit, DivergenceIsToldWithStepAndLayer) {
  const Parts parts;
  Network network = small_network();
  TrainingOptions options = small_options();
  options.optimizer = {.kind = OptimizerOptions::Kind::sgd, .learning_rate = 1e5};
  options.schedule = {};
  options.epochs = 20;
  try {
    fit(network, parts.training, parts.validation, options);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), Error::Kind::training);
    const std::string text = error.what();
    EXPECT_NE(text.find(" of epoch "), std::string::npos) << text;
    EXPECT_NE(text.find("fully_connected"), std::string::npos) << text;
  }
}

TEST(Fit, RefusesOptions) {
  const std::pair<void (*)(TrainingOptions&), const char*> cases[] = {
      {[](TrainingOptions& o) { o.epochs = 0; }, "epochs is 0; it must be from 1"},
      {[](TrainingOptions& o) { o.batch_size = 0; }, "batch_size is 0"},
      {[](TrainingOptions& o) { o.shards = 33; }, "shards is 33; it must be from 1 to 32"},
      {[](TrainingOptions& o) { o.label_smoothing = 1.5; }, "label_smoothing is 1.5"},
      {[](TrainingOptions& o) { o.optimizer.learning_rate = std::nan(""); },
       "learning_rate is nan"},
      {[](TrainingOptions& o) { o.optimizer.beta1 = 1; }, "beta1 is 1"},
      {[](TrainingOptions& o) { o.optimizer.clip_value = 1; }, "choose one"},
      {[](TrainingOptions& o) { o.resume = true; }, "no checkpoint is named"},
      {[](TrainingOptions& o) { o.loss = Loss::huber; }, "label_smoothing: only"},
  };
  for (const auto& [change, text] : cases) {
    TrainingOptions options = small_options();
    change(options);
    try {
      trained(options);
      FAIL() << text;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), Error::Kind::usage);
      EXPECT_NE(std::string(error.what()).find(text), std::string::npos) << error.what();
    }
  }
}

TEST(Fit, RefusesANetworkWithoutLayers) {
  const Data data = Data::arrays(
      {.task = Task::regression, .shape = {.width = 1}, .target_names = {"y"}}, {1, 2}, {1, 2});
  Network network = Network::table(1);
  try {
    fit(network, data, {});
    ADD_FAILURE() << "trained";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("it has no layers"), std::string::npos)
        << error.what();
  }
}

TEST(Fit, EveryOptimizerAndLossLearns) {
  const Data data = synthetic_digits(400, 1);
  using Kind = OptimizerOptions::Kind;
  const OptimizerOptions optimizers[] = {
      {.kind = Kind::adam},
      {.kind = Kind::adamw, .weight_decay = 0.01},
      {.kind = Kind::rmsprop, .momentum = 0.5},
      {.kind = Kind::sgd, .learning_rate = 0.05, .momentum = 0.9, .nesterov = true},
      {.kind = Kind::sgd, .learning_rate = 0.2, .clip_value = 0.1}};
  for (const OptimizerOptions& optimizer : optimizers) {
    for (const Loss loss : {Loss::softmax_cross_entropy, Loss::sigmoid_cross_entropy,
                            Loss::mean_square_error, Loss::huber, Loss::hinge}) {
      Network network = Network::named("mlp", {28, 28, 1}, 10);
      TrainingOptions options;
      options.epochs = 8;
      options.batch_size = 25;
      options.loss = loss;
      options.optimizer = optimizer;
      options.class_weights = true;
      const TrainingResult result = fit(network, data, {}, options);
      EXPECT_LT(result.epochs.back().training_loss, 0.8 * result.epochs.front().training_loss)
          << static_cast<int>(optimizer.kind) << ", loss " << static_cast<int>(loss);
    }
  }
}

}  // namespace
}  // namespace bnns::train
