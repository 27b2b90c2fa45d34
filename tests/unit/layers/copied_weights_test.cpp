// The warning about gradients of weights that the filter copied at creation.
#include <gtest/gtest.h>

#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "openbnns/openbnns.h"
#include "support/small_workloads.h"

namespace {

using test::Results;
using test::Workload;

struct Warnings {
  std::mutex mutex;
  std::vector<std::string> texts;

  Warnings() { OpenBNNSSetLogCallback(keep, this); }
  ~Warnings() { OpenBNNSSetLogCallback(nullptr, nullptr); }
  static void keep(OpenBNNSLogLevel level, const char* text, void* user) {
    auto* self = static_cast<Warnings*>(user);
    const std::lock_guard lock(self->mutex);
    if (level == OpenBNNSLogLevelWarning) self->texts.push_back(text);
  }
};

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

// The words that a warning about this workload has; empty if its layer has no weights.
std::vector<std::string> words_for(const Workload& w) {
  const std::string rule =
      "so that stepping the client's array does not change what it computes; create it with "
      "BNNSFlagsUseClientPtr";
  if (contains(w.name(), "fused"))
    return {contains(w.name(), "arithmetic") ? "BNNSFusedFilterApplyBackwardMultiInputBatch: "
                                             : "BNNSFusedFilterApplyBackwardBatch: ",
            "an entry of delta_parameters is wanted", "copied its parameters at creation", rule};
  if (contains(w.name(), "weighted"))
    return {"BNNSFilterApplyBackwardBatch: weights_delta is wanted",
            "a reduction filter copied its weights at creation", rule};
  if (contains(w.name(), "embedding"))
    return {"BNNSFilterApplyBackwardBatch: weights_delta is wanted",
            "copied its dictionary.data at creation", rule};
  if (contains(w.name(), "attention"))
    return {"BNNSApplyMultiheadAttentionBackward: weights delta is wanted",
            "copied its weights at creation", rule};
  if (contains(w.name(), " norm"))
    return {"BNNSNormalizationFilterApplyBackwardBatch: gamma_delta is wanted",
            "copied its beta and gamma at creation", rule};
  if (contains(w.name(), "convolution") || contains(w.name(), "fully connected"))
    return {"BNNSFilterApplyBackwardBatch: weights_delta is wanted",
            "copied its weights at creation", rule};
  return {};
}

class CopiedWeights : public testing::TestWithParam<size_t> {};

TEST_P(CopiedWeights, WarnOncePerFilter) {
  const auto w = test::small_workload(GetParam());
  if (!w->trainable()) GTEST_SKIP() << "has no gradient";
  const std::vector<std::string> words = words_for(*w);
  for (const uint32_t flags : {uint32_t{0}, uint32_t{BNNSFlagsUseClientPtr}}) {
    for (int filters = 0; filters < 2; ++filters) {
      Warnings warnings;
      BNNSFilter filter = w->create_with_flags(flags);
      ASSERT_NE(filter, nullptr) << OpenBNNSGetLastError();
      Results r = w->make_results();
      ASSERT_EQ(w->forward(filter, r), 0) << OpenBNNSGetLastError();
      EXPECT_TRUE(warnings.texts.empty()) << "a forward call is worth no warning";
      for (int calls = 0; calls < 3; ++calls)
        ASSERT_EQ(w->backward(filter, r), 0) << OpenBNNSGetLastError();
      BNNSFilterDestroy(filter);
      if (words.empty() || flags != 0) {
        EXPECT_TRUE(warnings.texts.empty()) << warnings.texts[0];
        continue;
      }
      ASSERT_EQ(warnings.texts.size(), 1u);
      for (const std::string& part : words)
        EXPECT_TRUE(contains(warnings.texts[0], part)) << warnings.texts[0];
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Workloads, CopiedWeights,
                         testing::Range<size_t>(0, test::small_workloads().size()),
                         [](const auto& info) {
                           return test::small_workload_identifier(info.param);
                         });

test::UnaryWorkload product() {
  return test::UnaryWorkload::fully_connected("product", 8, 4, 2, BNNSActivationFunctionIdentity,
                                              false, {});
}

TEST(CopiedWeights, ACallbackThatComesLaterIsToldToo) {
  const test::UnaryWorkload w = product();
  BNNSFilter filter = w.create(1);
  Results r = w.make_results();
  ASSERT_EQ(w.forward(filter, r) | w.backward(filter, r), 0);
  Warnings warnings;
  ASSERT_EQ(w.backward(filter, r) | w.backward(filter, r), 0);
  EXPECT_EQ(warnings.texts.size(), 1u);
  BNNSFilterDestroy(filter);
}

// A layer whose weights stay as they are needs the gradient of its input only.
TEST(CopiedWeights, NoWarningWithoutTheGradientOfWeights) {
  Warnings warnings;
  std::vector<float> weights(32, 1.0f), dy(4, 1.0f), dx(8);
  BNNSLayerParametersFullyConnected p = {};
  p.i_desc = test::vector(8);
  p.o_desc = test::vector(4);
  p.w_desc = test::array(BNNSDataLayoutRowMajorMatrix, {8, 4}, weights.data());
  BNNSFilter filter = BNNSFilterCreateLayerFullyConnected(&p, nullptr);
  ASSERT_NE(filter, nullptr) << OpenBNNSGetLastError();
  BNNSNDArrayDescriptor in_delta = test::vector(8, dx.data());
  const BNNSNDArrayDescriptor out_delta = test::vector(4, dy.data());
  EXPECT_EQ(BNNSFilterApplyBackwardBatch(filter, 1, nullptr, 0, &in_delta, 0, nullptr, 0,
                                         &out_delta, 0, nullptr, nullptr),
            0)
      << OpenBNNSGetLastError();
  EXPECT_TRUE(warnings.texts.empty());
  BNNSFilterDestroy(filter);
}

TEST(CopiedWeights, OnceForManyThreads) {
  const test::UnaryWorkload w = product();
  BNNSFilter filter = w.create(1);
  {
    Warnings warnings;
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&] {
        Results r = w.make_results();
        for (int i = 0; i < 100; ++i) EXPECT_EQ(w.backward(filter, r), 0);
      });
    }
    for (std::thread& t : threads) t.join();
    EXPECT_EQ(warnings.texts.size(), 1u);
  }
  BNNSFilterDestroy(filter);
}

}  // namespace
