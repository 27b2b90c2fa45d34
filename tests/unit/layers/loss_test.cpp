// Loss filters: published numbers, relations between the two calls, NaN and other unusual numbers.
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "support/loss_call.h"
#include "support/workload.h"

namespace bnns::test {
namespace {

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();

constexpr BNNSLossFunction kFunctions[] = {BNNSLossFunctionSoftmaxCrossEntropy,
                                           BNNSLossFunctionSigmoidCrossEntropy,
                                           BNNSLossFunctionMeanSquareError,
                                           BNNSLossFunctionHuber,
                                           BNNSLossFunctionYolo,
                                           BNNSLossFunctionLog,
                                           BNNSLossFunctionCosineDistance,
                                           BNNSLossFunctionHinge,
                                           BNNSLossFunctionMeanAbsoluteError,
                                           BNNSLossFunctionCategoricalCrossEntropy};

bool is_per_sample(BNNSLossFunction f) {
  return f == BNNSLossFunctionSoftmaxCrossEntropy || f == BNNSLossFunctionCosineDistance ||
         f == BNNSLossFunctionCategoricalCrossEntropy;
}

// One loss with its data; the sample of a YOLO loss is a grid of n / 5 columns without classes.
struct Case {
  LossParameters params = {};
  std::vector<float> in, labels, weights, anchors = {1, 2};
  size_t batch, n, entries;

  Case(BNNSLossFunction function, uint32_t reduction, size_t batch_size, size_t width,
       size_t weights_size = 0)
      : batch(batch_size), n(width) {
    params.function = function;
    params.reduction = static_cast<BNNSLossReductionFunction>(reduction);
    params.i_desc = vector_of(n);
    params.o_desc = vector_of(1);
    if (function == BNNSLossFunctionHuber) params.huber_delta = 0.75f;
    if (function == BNNSLossFunctionYolo) {
      params.number_of_grid_columns = n / 5;
      params.number_of_grid_rows = params.number_of_anchor_boxes = 1;
      params.anchor_box_size = 5;
      params.anchors_data = anchors.data();
      params.scale_xy = params.scale_wh = params.scale_object = params.scale_no_object = 1;
    }
    ::test::Noise noise(static_cast<uint32_t>(1 + n));
    const auto positive = [&] { return 0.05f + 0.2f * (noise.number() + 2); };
    for (size_t i = 0; i < batch * n; ++i) {
      in.push_back(function == BNNSLossFunctionLog ? positive() : noise.number());
      labels.push_back(i % 5 == 4 ? 1.0f : positive());
    }
    for (size_t i = 0; i < weights_size; ++i) weights.push_back(i % 4 == 3 ? 0 : positive());
    entries = is_per_sample(function) ? batch : batch * n;
    if (params.reduction != BNNSLossReductionNone) entries = 1;
  }

  Filter make(size_t threads = 1) const {
    BNNSFilterParameters options = {};
    options.n_threads = threads;
    Filter filter(BNNSFilterCreateLayerLoss(&params, &options));
    EXPECT_TRUE(filter) << OpenBNNSGetLastError();
    return filter;
  }
  std::vector<float> forward(const Filter& f, std::vector<float>* gradient = nullptr) const {
    std::vector<float> out(entries);
    if (gradient != nullptr) gradient->assign(batch * n, -99);
    BNNSNDArrayDescriptor delta = vector_of(n, gradient == nullptr ? nullptr : gradient->data());
    EXPECT_EQ(BNNSLossFilterApplyBatch(f.get(), batch, in.data(), 0, labels.data(), 0,
                                       weights.data(), weights.size(), out.data(), &delta, 0),
              0)
        << OpenBNNSGetLastError();
    return out;
  }
  // `upstream` has one value per entry.
  std::vector<float> backward(const Filter& f, std::vector<float> upstream) const {
    std::vector<float> gradient(batch * n, -99);
    BNNSNDArrayDescriptor dx = vector_of(n, gradient.data());
    const bool per_element = entries == batch * n && !is_per_sample(params.function) && entries > 1;
    BNNSNDArrayDescriptor dy = vector_of(per_element ? n : 1, upstream.data());
    EXPECT_EQ(BNNSLossFilterApplyBackwardBatch(f.get(), batch, in.data(), 0, &dx, 0, labels.data(),
                                               0, weights.data(), weights.size(), &dy, 0),
              0)
        << OpenBNNSGetLastError();
    return gradient;
  }
};

bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

// Every function, reduction and kind of weights that go together.
template <class Body>
void for_cases(size_t batch, size_t n, const Body& body) {
  for (const BNNSLossFunction function : kFunctions) {
    const bool yolo = function == BNNSLossFunctionYolo;
    for (uint32_t reduction = 0; reduction < 5; ++reduction) {
      if (yolo && reduction != BNNSLossReductionSum) continue;
      for (const size_t weights : {size_t{0}, size_t{1}, batch, batch * n}) {
        if (yolo && weights > 0) continue;
        SCOPED_TRACE("function " + std::to_string(function) + ", reduction " +
                     std::to_string(reduction) + ", weights " + std::to_string(weights));
        body(Case(function, reduction, batch, n, weights));
      }
    }
  }
}

TEST(Loss, PublishedSum) {
  Case c(BNNSLossFunctionMeanSquareError, BNNSLossReductionSum, 1, 10);
  c.in = {9, 1, 6, 3, 4, 5, 6, 7, 8, 9};
  c.labels = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
  for_targets([&](const char*) {
    std::vector<float> gradient;
    EXPECT_EQ(c.forward(c.make(), &gradient), std::vector<float>{97});
    EXPECT_EQ(gradient, (std::vector<float>{18, 0, 8, 0, 0, 0, 0, 0, 0, 0}));
  });
}

TEST(Loss, PublishedEntries) {
  Case c(BNNSLossFunctionMeanSquareError, BNNSLossReductionNone, 1, 3);
  c.in = {1, 2, 3};
  c.labels = {0, 0, 0};
  const std::vector<float> twice = {2, 4, 6};
  for_targets([&](const char*) {
    const Filter f = c.make();
    std::vector<float> gradient;
    EXPECT_EQ(c.forward(f, &gradient), (std::vector<float>{1, 4, 9}));
    EXPECT_EQ(gradient, twice);
    EXPECT_EQ(c.backward(f, {1, 1, 1}), twice);
  });
}

TEST(Loss, PublishedReductions) {
  const std::pair<uint32_t, std::vector<float>> rows[] = {
      {BNNSLossReductionNone, {1, 0, 9}},
      {BNNSLossReductionSum, {10}},
      {BNNSLossReductionMean, {10.0f / 3}},
  };
  for_targets([&](const char*) {
    for (const auto& [reduction, expected] : rows) {
      Case c(BNNSLossFunctionMeanSquareError, reduction, 1, 3);
      c.in = {1, 2, 3};
      c.labels = {0, 2, 6};
      EXPECT_EQ(c.forward(c.make()), expected);
    }
  });
}

TEST(Loss, BackwardOfOneIsTheForwardGradient) {
  for_targets([&](const char* target) {
    SCOPED_TRACE(target);
    for (const size_t n : {5, 35}) {
      for_cases(3, n, [&](const Case& c) {
        const Filter f = c.make();
        std::vector<float> gradient;
        c.forward(f, &gradient);
        EXPECT_TRUE(same_bits(gradient, c.backward(f, std::vector<float>(c.entries, 1))));
      });
    }
  });
}

// Powers of two scale exactly; entries do not influence each other.
TEST(Loss, BackwardIsLinear) {
  for_cases(3, 20, [&](const Case& c) {
    const Filter f = c.make();
    const std::vector<float> one = c.backward(f, std::vector<float>(c.entries, 1));
    std::vector<float> upstream(c.entries);
    for (size_t e = 0; e < c.entries; ++e) upstream[e] = e % 3 == 0 ? 4.0f : -0.5f;
    const std::vector<float> scaled = c.backward(f, upstream);
    for (size_t i = 0; i < one.size(); ++i) {
      const size_t entry = c.entries == 1 ? 0 : c.entries == c.batch ? i / c.n : i;
      EXPECT_EQ(scaled[i], upstream[entry] * one[i]) << i;
    }
  });
}

TEST(Loss, UpstreamOfTheWholeBatch) {
  for (const auto function : {BNNSLossFunctionHuber, BNNSLossFunctionSoftmaxCrossEntropy}) {
    const Case c(function, BNNSLossReductionNone, 4, 6);
    const Filter f = c.make();
    std::vector<float> upstream(c.entries), gradient(24, -99);
    for (size_t e = 0; e < c.entries; ++e) upstream[e] = static_cast<float>(e) - 2;
    BNNSNDArrayDescriptor dx = vector_of(6, gradient.data());
    BNNSNDArrayDescriptor dy = vector_of(c.entries, upstream.data());
    EXPECT_EQ(BNNSLossFilterApplyBackwardBatch(f.get(), 4, c.in.data(), 0, &dx, 0, c.labels.data(),
                                               0, nullptr, 0, &dy, 0),
              0)
        << OpenBNNSGetLastError();
    EXPECT_TRUE(same_bits(gradient, c.backward(f, upstream)));
  }
}

TEST(Loss, ThreadsGiveEqualBits) {
  for_cases(7, 12345, [&](const Case& c) {
    std::vector<float> gradient, other;
    const std::vector<float> out = c.forward(c.make(1), &gradient);
    for (const size_t threads : {2, 3, 8}) {
      EXPECT_TRUE(same_bits(out, c.forward(c.make(threads), &other)));
      EXPECT_TRUE(same_bits(gradient, other));
    }
  });
}

TEST(Loss, WeightsThatAreAllZero) {
  for_cases(3, 10, [&](const Case& given) {
    if (given.weights.empty()) return;
    Case c = given;
    std::fill(c.weights.begin(), c.weights.end(), 0.0f);
    std::vector<float> gradient;
    const std::vector<float> out = c.forward(c.make(), &gradient);
    const bool cosine = c.params.function == BNNSLossFunctionCosineDistance;
    const bool mean = c.params.reduction == BNNSLossReductionWeightedMean ||
                      c.params.reduction == BNNSLossReductionNonZeroWeightMean;
    // The weights are inside a cosine: 1 - 0 is left of every entry.
    for (const float loss : out) EXPECT_TRUE(loss == 0 || (cosine && !mean)) << loss;
    for (const float g : gradient) EXPECT_EQ(g, 0);
  });
}

TEST(Loss, OneForAllEqualsOneEach) {
  for_cases(3, 9, [&](const Case& given) {
    if (given.weights.size() != 1) return;
    Case each = given;
    each.weights.assign(3, given.weights[0]);
    std::vector<float> gradient, gradient_each;
    const auto out = given.forward(given.make(), &gradient);
    const auto out_each = each.forward(each.make(), &gradient_each);
    // Sums may be grouped by sample.
    for (size_t e = 0; e < out.size(); ++e) EXPECT_FLOAT_EQ(out[e], out_each[e]);
    EXPECT_EQ(gradient, gradient_each);
  });
}

TEST(Loss, NaNFlowsThrough) {
  for_targets([&](const char* target) {
    SCOPED_TRACE(target);
    for (const size_t at : {0, 7, 18}) {
      for_cases(2, 20, [&](const Case& given) {
        if (given.params.function == BNNSLossFunctionYolo) return;
        for (const bool label : {false, true}) {
          Case c = given;
          std::fill(c.weights.begin(), c.weights.end(), 1.0f);
          (label ? c.labels : c.in)[at] = kNaN;
          std::vector<float> gradient;
          const auto out = c.forward(c.make(), &gradient);
          const bool entry_each = c.entries == 40;
          EXPECT_TRUE(std::isnan(out[entry_each ? at : 0]));
          // A label of a categorical loss is there, whatever its value.
          if (label && c.params.function == BNNSLossFunctionCategoricalCrossEntropy) continue;
          EXPECT_TRUE(std::isnan(gradient[at]));
          EXPECT_FALSE(std::isnan(gradient[20]));
        }
      });
    }
  });
}

TEST(Loss, LargeAndMaskedScores) {
  Case c(BNNSLossFunctionSoftmaxCrossEntropy, BNNSLossReductionNone, 3, 4);
  c.in = {1e30f, -1e30f, 0, 1e30f, -kInf, 1, 1, -kInf, 88, -88, 89, 90};
  c.labels = {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 1};
  for_targets([&](const char*) {
    std::vector<float> gradient;
    const auto out = c.forward(c.make(), &gradient);
    EXPECT_NEAR(out[0], std::log(2.0), 1e-6);
    EXPECT_NEAR(out[1], std::log(2.0), 1e-6);
    EXPECT_NEAR(out[2], std::log1p(std::exp(-1.0) + std::exp(-2.0)), 1e-6);
    const std::vector<float> expected = {-0.5f, 0, 0, 0.5f, 0, -0.5f, 0.5f, 0};
    for (size_t i = 0; i < expected.size(); ++i) EXPECT_EQ(gradient[i], expected[i]) << i;
  });
  Case s(BNNSLossFunctionSigmoidCrossEntropy, BNNSLossReductionNone, 1, 4);
  s.in = {1e30f, -1e30f, kInf, -200};
  s.labels = {0, 0, 1, 1};
  std::vector<float> gradient;
  const auto out = s.forward(s.make(), &gradient);
  EXPECT_EQ(out[0], 1e30f);
  EXPECT_EQ(out[1], 0);
  EXPECT_EQ(out[3], 200);
  EXPECT_EQ(gradient, (std::vector<float>{1, 0, 0, -1}));
}

// All of a row's labels 0: no loss, and no gradient.
TEST(Loss, RowWithoutLabels) {
  for (const auto function :
       {BNNSLossFunctionSoftmaxCrossEntropy, BNNSLossFunctionCategoricalCrossEntropy}) {
    Case c(function, BNNSLossReductionSum, 1, 11);
    std::fill(c.labels.begin(), c.labels.end(), 0.0f);
    std::vector<float> gradient;
    EXPECT_EQ(c.forward(c.make(), &gradient)[0], 0);
    for (const float g : gradient) EXPECT_EQ(g, 0);
  }
}

// The sum of a million equal losses is exact to one rounding.
TEST(Loss, LongSums) {
  Case c(BNNSLossFunctionMeanSquareError, BNNSLossReductionMean, 1, 1000003);
  std::fill(c.in.begin(), c.in.end(), 0.1f);
  std::fill(c.labels.begin(), c.labels.end(), 0.0f);
  EXPECT_FLOAT_EQ(c.forward(c.make())[0], 0.1f * 0.1f);
  Case s(BNNSLossFunctionSoftmaxCrossEntropy, BNNSLossReductionMean, 1, 60000);
  std::fill(s.in.begin(), s.in.end(), 3.0f);
  std::fill(s.labels.begin(), s.labels.end(), 1.0f / 60000);
  EXPECT_NEAR(s.forward(s.make())[0], std::log(60000.0), 4e-6);
}

// The values of a packed batch are the first of the descriptor; gaps between its rows leave no
// single distance that could lead from one to the next.
TEST(Loss, UpstreamValuesOfSamplesLieAtEqualDistances) {
  const auto gradient = [](const BNNSNDArrayDescriptor& described, size_t batch) {
    LossParameters params = {};
    params.function = BNNSLossFunctionCosineDistance;
    params.i_desc = params.o_desc = vector_of(4);
    const Filter filter(BNNSFilterCreateLayerLoss(&params, nullptr));
    EXPECT_TRUE(filter) << OpenBNNSGetLastError();
    std::vector<float> in(4 * batch, 2), labels(4 * batch), dx(4 * batch);
    for (size_t i = 0; i < batch; ++i) labels[4 * i] = 0.5f;
    std::vector<float> dy = {1, 10, 2, 20, 3, 30, 4};
    BNNSNDArrayDescriptor out_delta = described, in_delta = vector_of(4, dx.data());
    out_delta.data = dy.data();
    const bool success =
        BNNSLossFilterApplyBackwardBatch(filter.get(), batch, in.data(), 0, &in_delta, 0,
                                         labels.data(), 0, nullptr, 0, &out_delta, 0) == 0;
    std::vector<float> factors;  // of the gradient of the first sample
    for (size_t i = 0; success && i < batch; ++i) factors.push_back(dx[4 * i] / dx[0]);
    return factors;
  };
  BNNSNDArrayDescriptor apart = vector_of(4), rows = matrix_of(2, 2);
  apart.stride[0] = 2;
  rows.stride[1] = 3;
  EXPECT_EQ(gradient(vector_of(4), 3), (std::vector<float>{1, 10, 2}));
  EXPECT_EQ(gradient(apart, 3), (std::vector<float>{1, 2, 3}));
  EXPECT_EQ(gradient(apart, 4), (std::vector<float>{1, 2, 3, 4}));
  EXPECT_EQ(gradient(rows, 2), (std::vector<float>{1, 10}));
  for (const size_t batch : {3, 4}) {
    EXPECT_TRUE(gradient(rows, batch).empty());
    EXPECT_NE(std::string(OpenBNNSGetLastError()).find("equal distances"), std::string::npos)
        << OpenBNNSGetLastError();
  }
}

}  // namespace
}  // namespace bnns::test
