// Normalization: published numbers, moving statistics, accuracy far from zero, types, memory and
// threads. Every other combination is in the spec.
#include <algorithm>
#include <random>
#include <thread>

#include "support/hooks.h"
#include "support/normalization_call.h"

namespace bnns::test {
namespace {

BNNSNDArrayDescriptor image(size_t w, size_t h, size_t c, void* data = nullptr) {
  return array(BNNSDataLayoutImageCHW, {w, h, c}, data);
}

Filter make(BNNSFilterType type, const BNNSLayerParametersNormalization& p,
            const BNNSFilterParameters* options = nullptr) {
  Filter filter(BNNSFilterCreateLayerNormalization(type, &p, options));
  EXPECT_TRUE(filter) << OpenBNNSGetLastError();
  return filter;
}

BNNSLayerParametersNormalization plain(const BNNSNDArrayDescriptor& shape, float epsilon) {
  BNNSLayerParametersNormalization p = {};
  p.i_desc = p.o_desc = shape;
  p.epsilon = epsilon;
  return p;
}

void forward(const Filter& f, size_t batch, const std::vector<float>& x, std::vector<float>& y,
             bool training = true) {
  y.resize(x.size());
  EXPECT_EQ(BNNSNormalizationFilterApplyBatch(f.get(), batch, x.data(), 0, y.data(), 0, training),
            0)
      << OpenBNNSGetLastError();
}

void expect_near(const std::vector<float>& got, const std::vector<double>& expected, double bound) {
  ASSERT_EQ(got.size(), expected.size());
  for (size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], expected[i], bound) << i;
}

// ---- Published numbers ----

TEST(Normalization, PublishedInstance) {
  std::vector<float> x, y;
  for (float scale : {1.0f, 10.0f, 100.0f}) {
    for (float i = 1; i <= 9; ++i) x.push_back(i * scale);
  }
  float ones[3] = {1, 1, 1};
  BNNSLayerParametersNormalization p = plain(image(9, 1, 3), 0);
  p.gamma_desc = vector_of(3, ones);
  forward(make(BNNSInstanceNorm, p), 1, x, y, false);
  std::vector<double> expected;
  for (int c = 0; c < 3; ++c) {
    for (double v : {-1.549, -1.162, -0.775, -0.387, 0.0, 0.387, 0.775, 1.162, 1.549})
      expected.push_back(v);
  }
  expect_near(y, expected, 0.0005);
}

TEST(Normalization, PublishedLayer) {
  const std::vector<float> x = {1, 2, 3, 4};
  std::vector<float> y, dy = {1, 0, 0, 0}, dx(4);
  const Filter f = make(BNNSLayerNorm, plain(image(4, 1, 1), 0));
  forward(f, 1, x, y);
  const double root = std::sqrt(1.25);
  const double k[] = {-1.5 / root, -0.5 / root, 0.5 / root, 1.5 / root};
  BNNSNDArrayDescriptor in_delta = image(4, 1, 1, dx.data()), out_delta = image(4, 1, 1, dy.data());
  ASSERT_EQ(BNNSNormalizationFilterApplyBackwardBatch(f.get(), 1, &in_delta, 0, nullptr, 0,
                                                      &out_delta, 0, nullptr, nullptr),
            0);
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_NEAR(y[i], k[i], 1e-6);
    EXPECT_NEAR(dx[i], (dy[i] - 0.25 - k[i] * (-1.5 / (4 * root))) / root, 1e-6);
  }
  EXPECT_NEAR(dx[0] + dx[1] + dx[2] + dx[3], 0, 1e-6);
}

struct Gradients {
  std::vector<float> dx, dbeta, dgamma;
};

Gradients backward(const Filter& f, size_t batch, const std::vector<float>& y,
                   std::vector<float> dy, size_t channels) {
  Gradients g = {std::vector<float>(dy.size(), -99), std::vector<float>(channels, -99),
                 std::vector<float>(channels, -99)};
  const size_t n = dy.size() / batch;
  BNNSNDArrayDescriptor in = vector_of(n, g.dx.data()), out = vector_of(n, dy.data());
  BNNSNDArrayDescriptor beta = vector_of(channels, g.dbeta.data());
  BNNSNDArrayDescriptor gamma = vector_of(channels, g.dgamma.data());
  EXPECT_EQ(BNNSNormalizationFilterApplyBackwardBatch(f.get(), batch, &in, 0, y.data(), 0, &out, 0,
                                                      &beta, &gamma),
            0)
      << OpenBNNSGetLastError();
  return g;
}

// The normalization inside the published fused layers, and inside the reference training steps.
TEST(Normalization, PublishedBatch) {
  float gamma[2] = {1, 1}, beta[2] = {0, 0};
  BNNSLayerParametersNormalization p = plain(vector_of(2), 1e-5f);
  p.gamma_desc = vector_of(2, gamma);
  p.beta_desc = vector_of(2, beta);
  std::vector<float> y;
  const Filter f = make(BNNSBatchNorm, p);
  forward(f, 2, {1, 2, 3, 4}, y);
  expect_near(y, {-1, -1, 1, 1}, 1e-5);
  const Gradients g = backward(f, 2, y, {1, 0, 0, 2}, 2);
  expect_near(g.dbeta, {1, 2}, 1e-6);
  expect_near(g.dgamma, {-1, 2}, 2e-5);
  expect_near(g.dx, {0, 0, 0, 0}, 2e-5);
}

TEST(Normalization, ReferenceTrainingSteps) {
  expect_works<NormalizationForward>();
  expect_works<NormalizationBackward>();
  float gamma[2] = {2, 0.5f}, beta[2] = {0.1f, 0.2f};
  BNNSLayerParametersNormalization p = plain(vector_of(2), 1e-3f);
  p.gamma_desc = vector_of(2, gamma);
  p.beta_desc = vector_of(2, beta);
  p.activation = activation(BNNSActivationFunctionRectifiedLinear);
  std::vector<float> y;
  const Filter f = make(BNNSBatchNorm, p);
  forward(f, 3, {2, -2, -0.5f, 2, -0.25f, 3}, y);
  expect_near(y, {2.915634, 0, 0, 0.431430, 0, 0.662860}, 2e-6);
  const Gradients g = backward(f, 3, y, {1, 0.5f, -0.5f, 0.25f, 0.75f, -1}, 2);
  expect_near(g.dbeta, {1, -0.75}, 2e-6);
  expect_near(g.dgamma, {1.407817, -0.810006}, 2e-6);
  expect_near(g.dx, {0.010700, -0.028910, 0.087400, 0.144638, -0.098100, -0.115728}, 2e-6);
}

// ---- Moving statistics ----

TEST(Normalization, MovingStatisticsOfTheClient) {
  NormalizationForward c;
  c.training = false;
  ASSERT_TRUE(c.run());
  EXPECT_TRUE(c.mean.untouched() && c.variance.untouched());
  EXPECT_NEAR(c.out[1], 0.5 * 2.3 - 0.1, 1e-4);
  c.training = true;
  ASSERT_TRUE(c.run());
  EXPECT_NEAR(c.mean[1], 0.5 * 1.633333, 1e-6);
  EXPECT_NEAR(c.variance[0], 0.5 + 0.5 * 0.791667, 1e-6);
  c.mean[0] = c.mean[1] = 2;
  c.training = false;
  ASSERT_TRUE(c.run());
  EXPECT_NEAR(c.out[1], 0.5 * 0.3 / std::sqrt(c.variance[1] + 1e-5) - 0.1, 1e-6);
}

TEST(Normalization, CopiedMovingStatisticsStayInside) {
  NormalizationForward c;
  c.options.flags = 0;
  ASSERT_TRUE(c.create() && c.run());
  EXPECT_TRUE(c.mean.untouched() && c.variance.untouched());
  c.training = false;
  ASSERT_TRUE(c.run());
  const double mean = 0.5 * 1.633333, variance = 0.5 + 0.5 * 0.597222;
  EXPECT_NEAR(c.out[1], 0.5 * (2.3 - mean) / std::sqrt(variance + 1e-5) - 0.1, 1e-6);
}

TEST(Normalization, OneMovingStatisticIsUpdatedButNotUsed) {
  NormalizationForward c;
  c.params.moving_variance_desc = {};
  ASSERT_TRUE(c.create() && c.run());
  EXPECT_NEAR(c.mean[0], 0.3, 1e-6);
  EXPECT_TRUE(c.variance.untouched());
  const std::vector<float> trained(c.out.data(), c.out.data() + 10);
  c.training = false;
  ASSERT_TRUE(c.run());
  EXPECT_TRUE(std::equal(trained.begin(), trained.end(), c.out.data()));
}

TEST(Normalization, MovingStatisticsOfInstancesAreAverages) {
  float mean[2] = {NAN, NAN}, variance[2] = {NAN, NAN};  // momentum 0 replaces whatever was there
  BNNSLayerParametersNormalization p = plain(image(2, 1, 2), 0);
  p.moving_mean_desc = vector_of(2, mean);
  p.moving_variance_desc = vector_of(2, variance);
  const BNNSFilterParameters options = client_pointers();
  std::vector<float> y;
  forward(make(BNNSInstanceNorm, p, &options), 2, {1, 3, 10, 30, 5, 15, 50, 70}, y);
  EXPECT_EQ(mean[0], (2 + 10) / 2);
  EXPECT_EQ(mean[1], (20 + 60) / 2);
  EXPECT_EQ(variance[0], (1 + 25) / 2);
  EXPECT_EQ(variance[1], 100);
}

TEST(Normalization, LayerAndGroupDoNotLookAtMovingStatistics) {
  for (const auto type : {BNNSLayerNorm, BNNSGroupNorm}) {
    NormalizationCall c;
    c.type = type;
    c.params.num_groups = 1;
    c.params.momentum = NAN;
    c.params.moving_mean_desc.layout = static_cast<BNNSDataLayout>(99);
    c.params.moving_variance_desc.size[0] = 0;
    ASSERT_TRUE(c.create()) << OpenBNNSGetLastError();
    ASSERT_EQ(c.forward(), 0);
    EXPECT_TRUE(c.mean.untouched() && c.variance.untouched());
  }
}

// ---- Numbers ----

// A mean of 1e4 with a variance of 1: an error of a few eps of the result, not of the input.
TEST(Normalization, AccurateFarFromZero) {
  struct Size {
    BNNSFilterType type;
    BNNSNDArrayDescriptor shape;
    size_t batch, set;
  };
  const Size sizes[] = {{BNNSBatchNorm, image(10, 10, 1), 1, 100},
                        {BNNSBatchNorm, image(1000, 700, 1), 2, 1400000},
                        {BNNSBatchNorm, vector_of(1), 100000, 100000},
                        {BNNSLayerNorm, vector_of(1024), 1, 1024},
                        {BNNSGroupNorm, image(333, 300, 2), 1, 199800}};
  for (const Size& size : sizes) {
    std::mt19937 random(1);
    std::normal_distribution<double> normal(1e4, 1);
    std::vector<float> x(size.set), y;
    for (float& v : x) v = static_cast<float>(normal(random));
    double sum = 0, squares = 0;
    for (float v : x) sum += double{v};
    const double mean = sum / static_cast<double>(x.size());
    for (float v : x) squares += (double{v} - mean) * (double{v} - mean);
    const double inverse = 1 / std::sqrt(squares / static_cast<double>(x.size()) + 1e-5f);
    BNNSLayerParametersNormalization p = plain(size.shape, 1e-5f);
    p.num_groups = 1;
    forward(make(size.type, p), size.batch, x, y);
    double worst = 0;
    for (size_t i = 0; i < x.size(); ++i) {
      const double k = (double{x[i]} - mean) * inverse;
      worst = std::max(worst, std::abs(double{y[i]} - k) / (1 + std::abs(k)));
    }
    EXPECT_LT(worst, 4 * 0x1p-24) << size.set;
  }
}

TEST(Normalization, NanStaysInItsSet) {
  std::vector<float> x = {1, 2, NAN, 4, 5, 6}, y;
  forward(make(BNNSLayerNorm, plain(vector_of(3), 1e-5f)), 2, x, y);
  EXPECT_TRUE(std::isnan(y[0]) && std::isnan(y[1]) && std::isnan(y[2]));
  EXPECT_TRUE(std::isfinite(y[3]) && std::isfinite(y[4]) && std::isfinite(y[5]));
}

// Storage of 16 bits with gradients of 32: what a filter on the same numbers in Float32 gives.
TEST(Normalization, HalfStorageFloatGradients) {
  const uint16_t half[8] = {0x3C00, 0xC000, 0x3800, 0x4200, 0xBC00, 0x4500, 0x3400, 0xB800};
  const std::vector<float> x = {1, -2, 0.5f, 3, -1, 5, 0.25f, -0.5f};
  uint16_t out[8];
  float gamma[4] = {1, 2, 3, 4};
  BNNSLayerParametersNormalization p = plain(vector_of(4), 1e-3f);
  p.gamma_desc = p.beta_desc = vector_of(4, gamma);
  std::vector<float> y, dy = {1, 2, 3, -4, 5, 6, -7, 8};
  const Filter wide = make(BNNSLayerNorm, p);
  p.i_desc.data_type = p.o_desc.data_type = BNNSDataTypeFloat16;
  const Filter narrow = make(BNNSLayerNorm, p);
  forward(wide, 2, x, y);
  ASSERT_EQ(BNNSNormalizationFilterApplyBatch(narrow.get(), 2, half, 0, out, 0, true), 0);
  const Gradients a = backward(wide, 2, y, dy, 4), b = backward(narrow, 2, y, dy, 4);
  EXPECT_EQ(a.dx, b.dx);
  EXPECT_EQ(a.dbeta, b.dbeta);
  EXPECT_EQ(a.dgamma, b.dgamma);
}

// ---- Memory and threads ----

TEST(Normalization, InferenceLeavesTheTrainingStateAlone) {
  NormalizationBackward c;
  Guarded<float> elsewhere(Space{16});
  c.out_pointer = elsewhere.data();
  c.training = false;
  ASSERT_EQ(c.forward(), 0);
  EXPECT_TRUE(c.run() && c.correct());
}

TEST(Normalization, ReservedCallsAllocateNothing) {
  ::test::Hooks& hooks = ::test::Hooks::instance();
  for (const auto type : {BNNSBatchNorm, BNNSInstanceNorm, BNNSLayerNorm, BNNSGroupNorm}) {
    for (const auto& shape : {vector_of(6), image(8, 8, 6), image(100, 80, 6)}) {
      hooks.reset();
      const size_t n = shape.layout == BNNSDataLayoutVector ? 6 : shape.size[0] * shape.size[1] * 6;
      std::vector<float> x(4 * n, 1), y(4 * n), dy(4 * n, 1);
      float gamma[6] = {1, 2, 3, 4, 5, 6};
      BNNSLayerParametersNormalization p = plain(shape, 1e-3f);
      p.num_groups = 2;
      if (type != BNNSLayerNorm) p.gamma_desc = vector_of(6, gamma);
      BNNSFilterParameters options = client_pointers();
      options.alloc_memory = ::test::Hooks::alloc;
      options.free_memory = ::test::Hooks::release;
      {
        const Filter f = make(type, p, &options);
        ASSERT_EQ(OpenBNNSFilterReserve(f.get(), 4, 1), 0);
        const size_t before = hooks.calls();
        for (size_t batch : {4, 2, 4}) {
          BNNSNDArrayDescriptor delta = shape;
          delta.data = dy.data();
          BNNSNDArrayDescriptor in_delta = shape;
          in_delta.data = x.data();
          EXPECT_EQ(
              BNNSNormalizationFilterApplyBatch(f.get(), batch, x.data(), 0, y.data(), 0, true), 0);
          EXPECT_EQ(BNNSNormalizationFilterApplyBackwardBatch(f.get(), batch, &in_delta, 0, nullptr,
                                                              0, &delta, 0, nullptr, nullptr),
                    0);
        }
        EXPECT_EQ(hooks.calls(), before);
      }
      EXPECT_EQ(hooks.live(), 0u);
    }
  }
}

TEST(Normalization, FailingMemoryLeavesEverythingAsItWas) {
  ::test::Hooks& hooks = ::test::Hooks::instance();
  for (size_t n = 1;; ++n) {
    ASSERT_LT(n, 50u);
    hooks.reset();
    NormalizationBackward c;
    c.options.alloc_memory = ::test::Hooks::alloc;
    c.options.free_memory = ::test::Hooks::release;
    ASSERT_TRUE(c.create());
    c.batch = 1;
    ASSERT_EQ(c.forward(), 0);
    c.for_outputs([](auto& memory) { memory.remember(); });
    hooks.fail(hooks.allocations() + n, SIZE_MAX);
    c.batch = NormalizationCall::kBatch;
    const bool done = c.forward() == 0;
    hooks.fail_none();
    if (done) break;
    c.for_outputs([](auto& memory) { EXPECT_TRUE(memory.untouched()); });
    c.batch = 1;
    EXPECT_TRUE(c.run()) << "the earlier training pass is lost: " << OpenBNNSGetLastError();
  }
  hooks.reset();
}

TEST(Normalization, ManyThreadsOnOneFilter) {
  NormalizationBackward shared;
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int t = 0; t < 6; ++t) {
    threads.emplace_back([&, t] {
      NormalizationBackward own;
      for (int i = 0; i < 200; ++i) {
        const size_t batch = t % 3 == 2 && i % 2 == 1 ? 2 : 3;
        wrong +=
            BNNSNormalizationFilterApplyBatch(shared.filter.get(), batch, own.in.data(), own.kIn,
                                              own.out.data(), own.kOut, t % 3 != 0) != 0;
        // Refused when another thread's forward pass with another batch came in between.
        BNNSNormalizationFilterApplyBackwardBatch(
            shared.filter.get(), batch, &own.in_delta, own.dx_stride, own.out.data(), own.kOut,
            &own.out_delta, own.dy_stride, &own.beta_delta, &own.gamma_delta);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(shared.forward(), 0);
  EXPECT_TRUE(shared.run() && shared.correct());
}

}  // namespace
}  // namespace bnns::test
