// One filter applied by many threads at once, and one problem split among any number of threads:
// the bits are always those of a serial run. The ThreadSanitizer build proves the absence of races.
#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "openbnns/openbnns.h"
#include "support/sanitizers.h"
#include "support/small_workloads.h"

namespace {

using test::LossWorkload;
using test::Results;
using test::UnaryWorkload;
using test::Workload;

constexpr size_t kCallers = 8;
constexpr int kApplies = test::kSanitized ? 20 : 10000;

Results run_once(const Workload& w, size_t threads) {
  Results r = w.make_results();
  BNNSFilter filter = w.create(threads);
  EXPECT_NE(filter, nullptr) << OpenBNNSGetLastError();
  EXPECT_EQ(w.forward(filter, r), 0) << w.name() << ": " << OpenBNNSGetLastError();
  if (w.trainable()) {
    EXPECT_EQ(w.backward(filter, r), 0) << w.name() << ": " << OpenBNNSGetLastError();
  }
  BNNSFilterDestroy(filter);
  return r;
}

// Every caller has its own results; the filter and the inputs are shared.
void apply_from_many_threads(const Workload& w, BNNSFilter filter, const Results& right,
                             int applies) {
  SCOPED_TRACE(w.name());
  ASSERT_NE(filter, nullptr) << OpenBNNSGetLastError();
  std::atomic<size_t> ready{0}, failures{0}, differences{0};
  std::vector<std::thread> callers;
  for (size_t c = 0; c < kCallers; ++c) {
    callers.emplace_back([&] {
      Results r = w.make_results();
      ++ready;
      while (ready < kCallers) std::this_thread::yield();
      for (int i = 0; i < applies; ++i) {
        r.fill(0xA5);
        int status = w.forward(filter, r);
        if (w.trainable()) status |= w.backward(filter, r);
        failures += status != 0;
        differences += !(r == right);
      }
    });
  }
  for (std::thread& t : callers) t.join();
  EXPECT_EQ(failures, 0u);
  EXPECT_EQ(differences, 0u);
}

void apply_from_many_threads(const Workload& w, size_t threads, int applies) {
  const Results right = run_once(w, 1);
  BNNSFilter filter = w.create(threads);
  apply_from_many_threads(w, filter, right, applies);
  BNNSFilterDestroy(filter);
}

class OneFilter : public testing::TestWithParam<size_t> {
 protected:
  OneFilter() : workload_(test::small_workload(GetParam())) {}
  const std::unique_ptr<Workload> workload_;
};

TEST_P(OneFilter, EightThreadsAtOnce) {
  // Ten thousand of the small ones; the larger ones take their share of time with fewer.
  const int applies = workload_->batch() > 100 ? kApplies / 20 : kApplies;
  apply_from_many_threads(*workload_, 1, applies);
}

std::string case_name(const testing::TestParamInfo<size_t>& info) {
  return test::small_workload_identifier(info.param);
}

INSTANTIATE_TEST_SUITE_P(Concurrency, OneFilter,
                         testing::Range(size_t{0}, test::small_workloads().size()), case_name);

// Large enough that every op splits its work; no larger under a sanitizer.
test::Workloads large_workloads() {
  constexpr size_t kValues = test::kSanitized ? 250003 : 1000003;
  test::Workloads all;
  const auto add = [&](UnaryWorkload&& w) -> UnaryWorkload& {
    all.push_back(std::make_unique<UnaryWorkload>(std::move(w)));
    return static_cast<UnaryWorkload&>(*all.back());
  };
  const auto activation = [&](const char* name, BNNSActivationFunction f,
                              const BNNSNDArrayDescriptor& like, size_t batch) -> UnaryWorkload& {
    return add(UnaryWorkload::activation(name, f, like, batch));
  };
  const BNNSNDArrayDescriptor image = test::kSanitized
                                          ? test::array(BNNSDataLayoutImageCHW, {31, 23, 17})
                                          : test::array(BNNSDataLayoutImageCHW, {61, 53, 47});
  activation("relu", BNNSActivationFunctionRectifiedLinear, test::vector(kValues), 1);
  activation("tanh", BNNSActivationFunctionTanh, test::vector(kValues), 1);
  activation("leaky", BNNSActivationFunctionLeakyRectifiedLinear, test::vector(kValues), 1);
  activation("prelu", BNNSActivationFunctionPReLUPerChannel, image, 20);
  activation("softmax of rows", BNNSActivationFunctionSoftmax, image, 2);
  activation("softmax of columns", BNNSActivationFunctionSoftmax, image, 2).set_axes(2);
  activation("softmax of channels", BNNSActivationFunctionLogSoftmax, image, 2).set_axes(4);
  add(UnaryWorkload::activation("halves", BNNSActivationFunctionSigmoid, test::vector(200001), 2,
                                BNNSDataTypeFloat16));
  add(UnaryWorkload::activation("integers", BNNSActivationFunctionIntegerLinearSaturate,
                                test::vector(200001), 2, BNNSDataTypeInt8, BNNSDataTypeInt16));
  constexpr size_t kIn = test::kSanitized ? 100 : 300, kOut = test::kSanitized ? 120 : 500;
  const auto matrix = [&](const char* name, BNNSActivationFunction f, bool client,
                          const UnaryWorkload::Types& types, size_t inner_stride = 1) {
    add(UnaryWorkload::fully_connected(name, kIn, kOut, 70, f, client, types, inner_stride));
  };
  constexpr auto kHalf = BNNSDataTypeFloat16;
  matrix("fully connected", BNNSActivationFunctionIdentity, false, {});
  matrix("fully connected, tanh", BNNSActivationFunctionTanh, true, {});
  matrix("fully connected, softmax", BNNSActivationFunctionSoftmax, false, {});
  matrix("fully connected, strided", BNNSActivationFunctionRectifiedLinear, true, {}, 3);
  matrix("fully connected, halves", BNNSActivationFunctionIdentity, true,
         {.in = kHalf, .weights = kHalf, .bias = kHalf, .out = kHalf});
  constexpr size_t kSide = test::kSanitized ? 13 : 28, kBatch = test::kSanitized ? 5 : 16;
  for (bool transposed : {false, true}) {
    all.push_back(std::make_unique<test::ConvolutionWorkload>(
        transposed ? "transposed convolution" : "convolution", transposed, true,
        BNNSActivationFunctionRectifiedLinear,
        test::ConvolutionWorkload::Shape{24, 20, 1, kSide, 3}, kBatch));
  }
  all.push_back(std::make_unique<test::ConvolutionWorkload>(
      "depthwise convolution", false, false, BNNSActivationFunctionIdentity,
      test::ConvolutionWorkload::Shape{32, 32, 32, kSide, 3}, kBatch));
  for (BNNSPoolingFunction f : {BNNSPoolingFunctionMax, BNNSPoolingFunctionL2Norm}) {
    all.push_back(std::make_unique<test::PoolingWorkload>(
        f == BNNSPoolingFunctionMax ? "max pooling" : "l2 pooling", f,
        BNNSActivationFunctionIdentity, size_t{40}, kSide, kBatch));
  }
  for (BNNSFilterType type : {BNNSBatchNorm, BNNSInstanceNorm, BNNSLayerNorm, BNNSGroupNorm}) {
    all.push_back(std::make_unique<test::NormalizationWorkload>(
        "normalization " + std::to_string(type), type, BNNSActivationFunctionRectifiedLinear,
        size_t{40}, kSide, kBatch));
  }
  const auto loss = [&](const char* name, BNNSLossFunction function,
                        BNNSLossReductionFunction reduction, size_t size, size_t batch) {
    all.push_back(std::make_unique<LossWorkload>(name, function, reduction, size, batch));
  };
  loss("softmax cross entropy", BNNSLossFunctionSoftmaxCrossEntropy, BNNSLossReductionMean, 1000,
       test::kSanitized ? 60 : 300);
  loss("sigmoid cross entropy", BNNSLossFunctionSigmoidCrossEntropy, BNNSLossReductionSum, kValues,
       1);
  loss("hinge, unreduced", BNNSLossFunctionHinge, BNNSLossReductionNone, 1001, 200);
  return all;
}

TEST(AnyNumberOfThreads, GivesTheSameBits) {
  for (const auto& workload : large_workloads()) {
    const Workload& w = *workload;
    const Results right = run_once(w, 1);
    for (size_t threads : {2, 3, 8}) {
      const int rounds = test::kSanitized ? 1 : 5;
      for (int round = 0; round < rounds; ++round)
        EXPECT_TRUE(run_once(w, threads) == right) << w.name() << ", " << threads << " threads";
    }
  }
}

// Callers that each want several threads: one gets the workers, the others run serially.
TEST(AnyNumberOfThreads, AlsoFromManyCallers) {
  for (const auto& workload : large_workloads()) {
    const Workload& w = *workload;
    apply_from_many_threads(w, 3, test::kSanitized ? 1 : 4);
  }
}

// The client changes the slope between calls; all threads read the new one.
TEST(Concurrency, ASlopeSetThroughItsPointer) {
  UnaryWorkload w = UnaryWorkload::activation("leaky", BNNSActivationFunctionLeakyRectifiedLinear,
                                              test::vector(700), 2);
  w.use_client_pointer();
  const Results before = run_once(w, 1);
  BNNSFilter filter = w.create(1);
  auto* alpha = static_cast<float*>(BNNSGetPointer(filter, BNNSPointerSpecifierAlpha).data);
  ASSERT_NE(alpha, nullptr) << OpenBNNSGetLastError();
  *alpha = 0.75f;
  Results right = w.make_results();
  EXPECT_EQ(w.forward(filter, right) | w.backward(filter, right), 0) << OpenBNNSGetLastError();
  EXPECT_FALSE(right == before);
  apply_from_many_threads(w, filter, right, kApplies / 10);
  BNNSFilterDestroy(filter);
}

// Filters are made and destroyed by all threads while others work.
TEST(Concurrency, CreationAndDestruction) {
  const test::Workloads all = test::small_workloads();
  std::vector<Results> right;
  for (const auto& w : all) right.push_back(run_once(*w, 1));
  std::atomic<size_t> differences{0};
  std::vector<std::thread> threads;
  for (size_t t = 0; t < kCallers; ++t) {
    threads.emplace_back([&, t] {
      for (size_t i = 0; i < (test::kSanitized ? 48 : 2000); ++i) {
        const size_t k = (i + t) % all.size();
        differences += !(run_once(*all[k], 1 + i % 3) == right[k]);
      }
    });
  }
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(differences, 0u);
}

}  // namespace
