// Several ranks train together: as threads of this process, with messages in memory. Whatever their
// number, the checkpoint has the same bytes; a rank that differs is named.
#include <gtest/gtest.h>
#include <openbnns/openbnns.h>
#include <openbnns/train.hpp>

#include <algorithm>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "files/support.h"

namespace bnns::train {
namespace {

using Bytes = std::vector<std::byte>;

// What is on its way between the ranks.
class Wire {
 public:
  void put(std::size_t from, std::size_t to, std::span<const std::byte> bytes) {
    const std::lock_guard lock(mutex_);
    messages_[{from, to}].emplace_back(bytes.begin(), bytes.end());
    changed_.notify_all();
  }
  void take(std::size_t from, std::size_t to, std::span<std::byte> bytes) {
    std::unique_lock lock(mutex_);
    std::deque<Bytes>& queue = messages_[{from, to}];
    changed_.wait(lock, [&] { return !queue.empty(); });
    ASSERT_EQ(queue.front().size(), bytes.size()) << "from " << from << " to " << to;
    std::ranges::copy(queue.front(), bytes.begin());
    queue.pop_front();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::pair<std::size_t, std::size_t>, std::deque<Bytes>> messages_;
};

// Receives copy in wait(), sends in wait() too: bytes that change in between are noticed as wrong
// results.
class ThreadRank final : public Communicator {
 public:
  ThreadRank(Wire& wire, std::size_t rank, std::size_t size)
      : wire_(wire), rank_(rank), size_(size) {}
  ~ThreadRank() override { EXPECT_TRUE(transfers_.empty()) << "transfers without a wait"; }

  std::size_t rank() const override { return rank_; }
  std::size_t size() const override { return size_; }
  Transfer begin_send(std::span<const std::byte> bytes, std::size_t to) override {
    EXPECT_NE(to, rank_);
    events_ += 's';
    wire_.put(rank_, to, bytes);
    transfers_[++last_] = [this, bytes, copy = Bytes(bytes.begin(), bytes.end())] {
      EXPECT_EQ(std::memcmp(bytes.data(), copy.data(), copy.size()), 0)
          << "rank " << rank_ << " changed what it sends";
    };
    return last_;
  }
  Transfer begin_receive(std::span<std::byte> bytes, std::size_t from) override {
    EXPECT_NE(from, rank_);
    transfers_[++last_] = [this, bytes, from] { wire_.take(from, rank_, bytes); };
    return last_;
  }
  void wait(Transfer transfer) override {
    // As MPI does, transfers that began earlier come first.
    while (!transfers_.empty() && transfers_.begin()->first <= transfer) {
      const auto first = transfers_.extract(transfers_.begin());
      first.mapped()();
      done_.push_back(first.key());
    }
    EXPECT_EQ(std::erase(done_, transfer), 1u) << "waited for twice";
  }
  void progress() override { events_ += 'p'; }
  void broadcast(std::span<std::byte> bytes, std::size_t root) override {
    events_ += 'b';
    // Rank numbers from `size` on are a channel of their own.
    if (rank_ != root) return wire_.take(size_ + root, rank_, bytes);
    for (std::size_t to = 0; to < size_; ++to)
      if (to != root) wire_.put(size_ + root, to, bytes);
  }
  [[noreturn]] void abort(int status) override { std::_Exit(status); }

  // Sends, calls of progress() and broadcasts: s, p, b.
  const std::string& events() const { return events_; }

 private:
  Wire& wire_;
  std::size_t rank_, size_, last_ = 0;
  std::string events_;
  std::map<Transfer, std::function<void()>> transfers_;
  std::vector<Transfer> done_;
};

void on_ranks(std::size_t count, const std::function<void(Communicator&)>& work) {
  Wire wire;
  std::vector<std::thread> threads;
  for (std::size_t rank = 0; rank < count; ++rank) {
    threads.emplace_back([&, rank] {
      ThreadRank communicator(wire, rank, count);
      work(communicator);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

// All that could make bits differ: normalization, dropout, nested layers, parameters of all sizes.
Network small_network() {
  return Network::image(28, 28)
      .convolution(3, 5, {.stride = 2})
      .batch_norm()
      .relu()
      .residual({{.kind = "convolution",
                  .fields = {{"channels", 3.0}, {"kernel", 3.0}, {"padding", 1.0}}},
                 {.kind = "batch_norm"}})
      .max_pool(2)
      .flatten()
      .dropout(0.2)
      .fully_connected(9)
      .relu()
      .softmax_classifier(10);
}

TrainingOptions small_options(std::size_t shards) {
  TrainingOptions options;
  options.epochs = 2;
  options.batch_size = 24;
  options.shards = shards;
  options.threads = 1;
  options.optimizer.clip_norm = 1;
  options.optimizer.weight_decay = 1e-4;
  options.augmentation = {.max_shift = 2};
  options.patience = 5;
  return options;
}

struct Parts {  // the last batch has two samples: most of its shards are empty
  Data training = synthetic_digits(98, 1);
  Data validation = synthetic_digits(200, 2);
};

class StopAt final : public Observer {
 public:
  explicit StopAt(std::size_t steps) : left_(steps) {}
  void on_step(const StepRecord&) override { left_ -= left_ > 0; }
  bool stop_requested() override { return left_ == 0; }

 private:
  std::size_t left_;
};

// The bytes of the checkpoint.
std::string trained(std::size_t ranks, TrainingOptions options, std::size_t steps = SIZE_MAX) {
  const auto train = [&](Communicator* communicator) {
    const Parts parts;
    TrainingOptions own = options;
    own.communicator = communicator;
    // Only rank 0 is asked: the others stop because it does.
    StopAt observer(communicator == nullptr || communicator->rank() == 0 ? steps : SIZE_MAX);
    Network network = small_network();
    const TrainingResult result = fit(network, parts.training, parts.validation, own, &observer);
    EXPECT_EQ(result.stopped, steps != SIZE_MAX);
  };
  if (ranks == 0) {
    train(nullptr);
  } else {
    on_ranks(ranks, [&](Communicator& communicator) { train(&communicator); });
  }
  return test::read_bytes(options.checkpoint);
}

TEST(Ranks, AnyNumberGivesTheBytesOfOneProcess) {
  const test::TemporaryFolder folder;
  for (const std::size_t shards : {1, 2, 5, 8}) {
    TrainingOptions options = small_options(shards);
    options.checkpoint = folder / "alone";
    const std::string alone = trained(0, options);
    ASSERT_GT(alone.size(), 1000u);
    for (const std::size_t ranks : {1, 2, 3, 4, 5, 8}) {
      if (ranks > shards) continue;
      options.checkpoint = folder / "together";
      EXPECT_TRUE(trained(ranks, options) == alone) << ranks << " ranks, " << shards << " shards";
    }
  }
}

TEST(Ranks, ResumeWithAnotherNumberOfThem) {
  const test::TemporaryFolder folder;
  TrainingOptions options = small_options(6);
  options.checkpoint = folder / "whole";
  const std::string whole = trained(0, options);
  options.checkpoint = folder / "parts";
  for (const std::size_t steps : {2, 5, 7}) {
    options.resume = false;
    trained(4, options, steps);
    options.resume = true;
    EXPECT_TRUE(trained(3, options) == whole) << steps << " steps";
  }
}

TEST(Ranks, RegressionFiguresAreEqualEverywhere) {
  std::vector<float> values, targets;
  for (int k = 0; k < 300; ++k) {
    values.push_back(static_cast<float>(k % 17));
    targets.push_back(static_cast<float>(k % 17 * 2 - k % 5));
  }
  const auto data = [&] {  // a source is for one thread at a time
    return Data::arrays({.task = Task::regression, .shape = {.width = 1}, .target_names = {"y"}},
                        values, targets);
  };
  Network network = Network::table(1).fully_connected(4).tanh().regression();
  network.initialize(3);
  const Metrics alone = evaluate(network, data());
  for (const std::size_t ranks : {2, 3, 8}) {
    on_ranks(ranks, [&](Communicator& communicator) {
      Network own = network;
      const Metrics figures = evaluate(own, data(), {.communicator = &communicator});
      EXPECT_EQ(figures.loss, alone.loss);
      EXPECT_EQ(figures.mean_absolute_error, alone.mean_absolute_error);
      EXPECT_EQ(figures.r_squared, alone.r_squared);
    });
  }
}

// progress() is called after each layer of the backward pass. All gradients are on their way by the
// last call, and no more than the moving statistics, the figures and the lowest layer follow it.
TEST(Ranks, SendGradientsDuringTheBackwardPass) {
  TrainingOptions options = small_options(8);
  options.epochs = 1;
  on_ranks(4, [&](Communicator& communicator) {
    TrainingOptions own = options;
    own.communicator = &communicator;
    Network network = small_network();
    fit(network, synthetic_digits(96), {}, own);
    std::size_t steps = 0;
    std::istringstream events(static_cast<ThreadRank&>(communicator).events());
    for (std::string step; std::getline(events, step, 'b');) {
      const std::size_t last = step.rfind('p');
      if (last == std::string::npos) continue;  // no step
      ++steps;
      // Rank 0 only receives, rank 2 waits for what rank 3 has to be added.
      if (communicator.rank() % 2 == 0) continue;
      const auto early = std::count(step.begin(), step.begin() + static_cast<int>(last), 's');
      EXPECT_GE(early, std::ranges::count(step, 's') - 3) << step;
    }
    EXPECT_EQ(steps, 4u);
  });
}

// Notes which samples were read.
class Counted final : public DataSource {
 public:
  const DataDescription& description() const override { return data_.description(); }
  std::size_t size() const override { return data_.size(); }
  void read(std::size_t index, std::span<float> values, std::span<float> targets) override {
    reads.push_back(index);
    data_.read(index, values, targets);
  }
  void read_targets(std::size_t, std::span<float>) override { ADD_FAILURE(); }
  std::uint64_t fingerprint() override { return 1; }

  std::vector<std::size_t> reads;

 private:
  Data data_ = synthetic_digits(96);
};

TEST(Ranks, ReadTheirOwnSamplesAndRank0WhatPreprocessingNeeds) {
  TrainingOptions options = small_options(4);
  options.epochs = 1;
  on_ranks(2, [&](Communicator& communicator) {
    const auto source = std::make_shared<Counted>();
    TrainingOptions own = options;
    own.communicator = &communicator;
    Network network = small_network();
    fit(network, Data(source), {}, own);
    EXPECT_EQ(source->reads.size(), communicator.rank() == 0 ? 96u + 48u : 48u);
    EXPECT_EQ(network.preprocessing(), Preprocessing::learn(Data(source)));
  });
}

// ---- Ranks that do not fit each other ----

// What the ranks say; all of them say it.
std::string failure_of(std::size_t ranks, const std::function<void(Communicator&)>& work) {
  std::vector<std::string> texts(ranks);
  on_ranks(ranks, [&](Communicator& communicator) {
    try {
      work(communicator);
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), Error::Kind::ranks);
      texts[communicator.rank()] = error.what();
    }
  });
  for (const std::string& text : texts) EXPECT_EQ(text, texts[0]);
  return texts[0];
}

std::string failure(
    std::size_t ranks,
    const std::function<void(std::size_t, TrainingOptions&, Parts&, Network&)>& change) {
  return failure_of(ranks, [&](Communicator& communicator) {
    Parts parts;
    Network network = small_network();
    TrainingOptions options = small_options(4);
    options.communicator = &communicator;
    change(communicator.rank(), options, parts, network);
    fit(network, parts.training, parts.validation, options);
  });
}

TEST(Ranks, ADifferenceIsNamedWithRanksAndValues) {
  EXPECT_EQ(failure(3, [](std::size_t rank, TrainingOptions& options, Parts&,
                          Network&) { options.seed = rank == 2 ? 7 : 1; }),
            "the ranks differ: seed is 1 on rank 0 and 7 on rank 2");
  EXPECT_EQ(failure(2, [](std::size_t rank, TrainingOptions& options, Parts&,
                          Network&) { options.batch_size += rank; }),
            "the ranks differ: batch is 24 on rank 0 and 25 on rank 1");
  EXPECT_NE(failure(2,
                    [](std::size_t rank, TrainingOptions&, Parts& parts, Network&) {
                      if (rank == 1) parts.training = synthetic_digits(98, 5);
                    })
                .find("training checksum is "),
            std::string::npos);
  EXPECT_EQ(failure(2,
                    [](std::size_t rank, TrainingOptions& options, Parts&, Network&) {
                      if (rank == 1) options.optimizer.kind = OptimizerOptions::Kind::sgd;
                    }),
            "the ranks differ: optimizer is adam on rank 0 and sgd on rank 1");
  // Of a long text what lies around the difference is shown.
  const std::string frozen =
      failure(2, [](std::size_t rank, TrainingOptions&, Parts&, Network& network) {
        if (rank == 1) network.freeze("5");
      });
  EXPECT_LT(frozen.size(), 240u);
  EXPECT_NE(frozen.find(R"({"layer":"flatten"},)"), std::string::npos) << frozen;
  EXPECT_NE(frozen.find(R"({"layer":"flatten","frozen":true},)"), std::string::npos) << frozen;
}

// The data follows from seed and fractions, so that it differs as well.
TEST(Ranks, OfSeveralDifferencesTheCauseIsNamed) {
  EXPECT_EQ(failure(2,
                    [](std::size_t rank, TrainingOptions& options, Parts& parts, Network& network) {
                      if (rank == 0) return;
                      options.seed = 7;
                      options.optimizer.beta1 = 0.5;
                      network.freeze("0");
                      parts.training = synthetic_digits(98, 7);
                    }),
            "the ranks differ: seed is 1 on rank 0 and 7 on rank 1");
}

// No rank may leave before all know: the others would wait for it.
TEST(Ranks, OneWithFewerShardsThanRanksIsNamedByAll) {
  EXPECT_EQ(failure(3, [](std::size_t rank, TrainingOptions& options, Parts&,
                          Network&) { options.shards = rank == 1 ? 2 : 4; }),
            "the ranks differ: shards is 4 on rank 0 and 2 on rank 1");
}

TEST(Ranks, OneValueOfOneSampleIsADifference) {
  const auto other = [](std::size_t rank) {
    std::vector<float> values(28 * 28 * 500), targets(500);
    values[28 * 28 * 57] = static_cast<float>(rank);
    return Data::arrays(synthetic_digits(1).description(), values, targets);
  };
  EXPECT_TRUE(failure(2, [&](std::size_t rank, TrainingOptions&, Parts& parts, Network&) {
                parts.training = other(rank);
              }).starts_with("the ranks differ: training checksum is "));
  EXPECT_TRUE(failure(2, [&](std::size_t rank, TrainingOptions&, Parts& parts, Network&) {
                parts.validation = other(rank);
              }).starts_with("the ranks differ: validation checksum is "));
}

TEST(Ranks, OtherDataIsNamedByEvaluate) {
  const auto evaluated = [](std::size_t ranks, const std::function<Data(std::size_t)>& data) {
    return failure_of(ranks, [&](Communicator& communicator) {
      Network network = small_network();
      evaluate(network, data(communicator.rank()), {.communicator = &communicator});
    });
  };
  EXPECT_EQ(evaluated(2, [](std::size_t rank) { return synthetic_digits(rank == 0 ? 130 : 200); }),
            "the ranks differ: evaluated samples is 130 on rank 0 and 200 on rank 1");
  EXPECT_EQ(evaluated(3, [](std::size_t rank) { return rank == 2 ? Data() : synthetic_digits(9); }),
            "the ranks differ: evaluated samples is 9 on rank 0 and 0 on rank 2");
  EXPECT_TRUE(evaluated(2, [](std::size_t rank) {
                return synthetic_digits(9, rank);
              }).starts_with("the ranks differ: evaluated checksum is "));
}

TEST(Ranks, MoreThanShardsAreRefused) {
  EXPECT_EQ(failure(5, [](std::size_t, TrainingOptions&, Parts&, Network&) {}),
            "there are 5 ranks; batches of 24 in 4 shards have work for 4");
}

}  // namespace
}  // namespace bnns::train
