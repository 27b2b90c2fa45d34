// Networks for sequences: training with ids, and what data they refuse.
#include <gtest/gtest.h>
#include <openbnns/train.hpp>

#include <random>
#include <string>
#include <vector>

namespace bnns::train {
namespace {

constexpr std::size_t kSamples = 211, kLength = 6, kSymbols = 9;  // the last batch is smaller

struct Text {
  std::vector<float> ids, classes;

  // Whether the symbols at even places are larger than the others.
  Text() {
    std::mt19937 random(3);
    for (std::size_t n = 0; n < kSamples; ++n) {
      int sum = 0;
      for (std::size_t k = 0; k < kLength; ++k) {
        const int id = static_cast<int>(random() % kSymbols);
        ids.push_back(static_cast<float>(id));
        sum += k % 2 == 0 ? id : -id;
      }
      classes.push_back(sum > 0 ? 1.0f : 0.0f);
    }
  }
  Data data(SampleKind kind) const {
    return Data::arrays({.shape = {.width = kLength}, .class_names = {"no", "yes"}, .kind = kind},
                        ids, classes);
  }
};

Network text_classifier() {
  return Network::table(kLength)
      .embedding(kSymbols, 8, true)
      .residual({{.kind = "attention", .fields = {{"heads", 2.0}}}})
      .lstm(12, true)
      .softmax_classifier(2);
}

TrainingOptions options_of(std::size_t threads, std::size_t shards) {
  TrainingOptions options;
  options.epochs = 8;
  options.batch_size = 32;
  options.threads = threads;
  options.shards = shards;
  options.optimizer.learning_rate = 1e-2;
  return options;
}

TEST(Sequences, SameBitsForAnyNumberOfThreads) {
  const Data data = Text().data(SampleKind::ids);
  for (const std::size_t shards : {1, 3}) {
    std::vector<float> first;
    for (const std::size_t threads : {1, 2, 3, 8}) {
      Network network = text_classifier();
      fit(network, data, {}, options_of(threads, shards));
      EXPECT_GT(evaluate(network, data).accuracy, 0.8);
      std::vector<float> values;
      for (const ParameterView& view : network.parameters()) {
        values.insert(values.end(), view.values.begin(), view.values.end());
      }
      if (first.empty()) first = values;
      EXPECT_EQ(first, values) << threads << " threads, " << shards << " shards";
    }
  }
}

// Standardized numbers are no ids: the fault is told of the data, not of a sample.
TEST(Sequences, AnEmbeddingTakesIdsOnly) {
  Network network = text_classifier();
  for (const SampleKind kind : {SampleKind::numbers, SampleKind::table}) {
    try {
      fit(network, Text().data(kind), {}, options_of(1, 1));
      ADD_FAILURE() << "trained";
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), Error::Kind::data);
      EXPECT_NE(std::string(error.what()).find("must have the kind ids"), std::string::npos)
          << error.what();
    }
  }
}

}  // namespace
}  // namespace bnns::train
