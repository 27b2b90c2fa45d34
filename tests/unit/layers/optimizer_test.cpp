// BNNSOptimizerStep: published numbers, that a step is taken by all tensors or by none, many
// tensors in one call, and the corners of its arithmetic.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "support/call_table.h"
#include "support/malloc_counter.h"

namespace bnns::test {
namespace {

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

// Descriptors of the tensors of a call, by role.
class Tensors {
 public:
  void add(float* w, float* g, std::vector<float*> states, size_t n) {
    parameters_.push_back(vector_of(n, w));
    gradients_.push_back(vector_of(n, g));
    states_.resize(states.size());
    for (size_t r = 0; r < states.size(); ++r) states_[r].push_back(vector_of(n, states[r]));
  }
  template <class Fields>
  bool step(BNNSOptimizerFunction function, const Fields& fields, size_t threads = 1) {
    std::vector<BNNSNDArrayDescriptor*> w, a;
    std::vector<const BNNSNDArrayDescriptor*> g;
    for (auto& d : parameters_) w.push_back(&d);
    for (auto& d : gradients_) g.push_back(&d);
    for (auto& role : states_)
      for (auto& d : role) a.push_back(&d);
    BNNSFilterParameters options = {};
    options.n_threads = threads;
    return BNNSOptimizerStep(function, &fields, w.size(), w.data(), g.data(),
                             a.empty() ? nullptr : a.data(), &options) == 0;
  }

 private:
  std::vector<BNNSNDArrayDescriptor> parameters_, gradients_;
  std::vector<std::vector<BNNSNDArrayDescriptor>> states_;
};

BNNSOptimizerSGDMomentumFields sgd(float rate, float momentum = 0) {
  BNNSOptimizerSGDMomentumFields f = {};
  f.learning_rate = rate;
  f.momentum = momentum;
  f.gradient_scale = 1;
  return f;
}

BNNSOptimizerAdamWithClippingFields adam() {
  BNNSOptimizerAdamWithClippingFields f = {};
  f.learning_rate = 0.001f;
  f.beta1 = 0.9f;
  f.beta2 = 0.999f;
  f.time_step = 1;
  f.epsilon = 1e-8f;
  f.gradient_scale = 1;
  return f;
}

// ---- Published numbers ----

TEST(OptimizerPublished, GradientDescent) {
  for_targets([](const char* target) {
    float w[] = {1, 2, 3, 4}, g[] = {0.5f, -1, 2, 0};
    const float expected[] = {0.95f, 2.1f, 2.8f, 4.0f};
    Tensors tensors;
    tensors.add(w, g, {}, 4);
    ASSERT_TRUE(tensors.step(BNNSOptimizerFunctionSGDMomentum, sgd(0.1f)))
        << OpenBNNSGetLastError();
    for (int i = 0; i < 4; ++i) EXPECT_FLOAT_EQ(w[i], expected[i]) << target;
  });
}

TEST(OptimizerPublished, MomentumVariant1) {
  for_targets([](const char* target) {
    float w = 10, g = 2, v = 0;
    auto fields = sgd(0.1f, 0.9f);
    fields.sgd_momentum_variant = BNNSSGDMomentumVariant1;
    Tensors tensors;
    tensors.add(&w, &g, {&v}, 1);
    ASSERT_TRUE(tensors.step(BNNSOptimizerFunctionSGDMomentum, fields));
    EXPECT_FLOAT_EQ(w, 9.8f) << target;
    EXPECT_FLOAT_EQ(v, 2) << target;
    ASSERT_TRUE(tensors.step(BNNSOptimizerFunctionSGDMomentum, fields));
    EXPECT_FLOAT_EQ(w, 9.42f) << target;
    EXPECT_FLOAT_EQ(v, 3.8f) << target;
  });
}

// A C client's bool may be any byte, and its structure may lie anywhere.
TEST(Optimizer, ReadsStrangeBytes) {
  auto fields = sgd(1);
  fields.clip_gradients_min = -1;
  fields.clip_gradients_max = 1;
  char memory[sizeof fields + 1];
  std::memcpy(memory + 1, &fields, sizeof fields);
  memory[1 + offsetof(BNNSOptimizerSGDMomentumFields, clip_gradients)] = 0x40;
  float w = 0, g = 7;
  BNNSNDArrayDescriptor dw = vector_of(1, &w), *pw = &dw;
  const BNNSNDArrayDescriptor dg = vector_of(1, &g), *pg = &dg;
  EXPECT_EQ(BNNSOptimizerStep(BNNSOptimizerFunctionSGDMomentum, memory + 1, 1, &pw, &pg, nullptr,
                              nullptr),
            0);
  EXPECT_EQ(w, -1);
}

// ---- Many tensors ----

// Tensors of 1 to 400 elements; more of them than one block of the library holds.
struct Network {
  static constexpr size_t kCount = 700;
  std::vector<std::vector<float>> w, g, m, v;
  Tensors tensors;

  Network() {
    uint32_t state = 1;
    const auto draw = [&] {
      state = state * 1664525u + 1013904223u;
      return static_cast<float>(state >> 8) * 0x1p-23f - 1;
    };
    for (size_t p = 0; p < kCount; ++p) {
      const size_t n = 1 + p * 37 % 400;
      for (auto* part : {&w, &g, &m, &v}) part->emplace_back(n);
      for (float& x : w[p]) x = draw();
      for (float& x : g[p]) x = draw();
      tensors.add(w[p].data(), g[p].data(), {m[p].data(), v[p].data()}, n);
    }
  }
  Network(const Network&) = delete;
};

TEST(OptimizerOfMany, ClipsEachTensorOrAllByTheirNorm) {
  for (const auto clipping : {BNNSOptimizerClippingByNorm, BNNSOptimizerClippingByGlobalNorm}) {
    auto fields = adam();
    fields.clipping_func = clipping;
    fields.clip_gradients_max_norm = 2;
    Network network;
    ASSERT_TRUE(network.tensors.step(BNNSOptimizerFunctionAdamWithClipping, fields, 2))
        << OpenBNNSGetLastError();
    const auto squares = [](const std::vector<float>& g) {
      double sum = 0;
      for (const double x : g) sum += x * x;
      return sum;
    };
    double all = 0;
    for (const auto& g : network.g) all += squares(g);
    for (size_t p = 0; p < Network::kCount; ++p) {
      const double norm =
          std::sqrt(clipping == BNNSOptimizerClippingByNorm ? squares(network.g[p]) : all);
      const double factor = (1 - double{fields.beta1}) * std::min(1.0, 2 / norm);
      for (size_t i = 0; i < network.g[p].size(); ++i) {
        const double expected = factor * double{network.g[p][i]};
        ASSERT_NEAR(network.m[p][i], expected, 4e-7 * std::abs(expected)) << p << ", " << i;
      }
    }
  }
}

TEST(OptimizerOfMany, HasTheSameBitsForAnyNumberOfThreads) {
  auto fields = adam();
  fields.clipping_func = BNNSOptimizerClippingByGlobalNorm;
  fields.clip_gradients_max_norm = 1;
  fields.regularization_func = BNNSOptimizerRegularizationL2;
  fields.regularization_scale = 0.1f;
  const auto run = [&](Network& network, size_t threads) {
    for (int step = 1; step <= 3; ++step) {
      fields.time_step = static_cast<float>(step);
      ASSERT_TRUE(network.tensors.step(BNNSOptimizerFunctionAdamWithClipping, fields, threads));
    }
  };
  Network right;
  run(right, 1);
  for (const size_t threads : {2, 3, 8}) {
    Network other;
    run(other, threads);
    EXPECT_TRUE(other.w == right.w && other.m == right.m && other.v == right.v) << threads;
  }
}

TEST(OptimizerOfMany, ChangesNothingIfTheLastTensorIsBad) {
  Network network;
  const auto w = network.w, m = network.m, v = network.v;
  float far_away[4] = {};
  network.tensors.add(far_away, far_away + 2, {far_away, far_away + 1}, 1);
  EXPECT_FALSE(network.tensors.step(BNNSOptimizerFunctionAdamWithClipping, adam()));
  EXPECT_TRUE(network.w == w && network.m == m && network.v == v);
}

TEST(OptimizerOfMany, RefusesAParameterGivenTwice) {
  Network network;
  const auto w = network.w;
  float state[400] = {}, gradient[400] = {};
  const size_t n = network.w[3].size();
  network.tensors.add(network.w[3].data(), gradient, {state, state + n}, n);
  EXPECT_FALSE(network.tensors.step(BNNSOptimizerFunctionAdamWithClipping, adam()));
  EXPECT_NE(std::string(OpenBNNSGetLastError()).find("parameters[700]"), std::string::npos);
  EXPECT_TRUE(network.w == w);
}

// ---- Corners of the arithmetic ----

// Equal gradients drive the variance to 0; rounding must not take its root below.
TEST(OptimizerNumbers, CenteredRmsPropStaysFinite) {
  for_targets([](const char* target) {
    BNNSOptimizerRMSPropFields fields = {};
    fields.learning_rate = 0.01f;
    fields.alpha = 0.5f;
    fields.epsilon = 1e-3f;
    fields.centered = true;
    fields.gradient_scale = 1;
    float w[64] = {}, g[64], n[64] = {}, mean[64] = {};
    for (int i = 0; i < 64; ++i) g[i] = 0.1f + 0.37f * static_cast<float>(i);
    Tensors tensors;
    tensors.add(w, g, {n, mean}, 64);
    for (int step = 0; step < 200; ++step)
      ASSERT_TRUE(tensors.step(BNNSOptimizerFunctionRMSProp, fields));
    for (const float x : w) EXPECT_TRUE(std::isfinite(x)) << target;
  });
}

TEST(OptimizerNumbers, NaNFlowsThrough) {
  for_targets([](const char* target) {
    auto fields = adam();
    float w[4] = {1, kNaN, 1, 1}, g[4] = {1, 1, kNaN, 1}, m[4] = {}, v[4] = {};
    float top[4] = {0, 0, 0, kNaN};
    Tensors tensors;
    tensors.add(w, g, {m, v, top}, 4);
    fields.clipping_func = BNNSOptimizerClippingByValue;
    fields.clip_gradients_min = -1;
    fields.clip_gradients_max = 1;
    ASSERT_TRUE(tensors.step(BNNSOptimizerFunctionAdamAMSGradWithClipping, fields));
    EXPECT_TRUE(std::isfinite(w[0])) << target;
    for (int i = 1; i < 4; ++i) EXPECT_TRUE(std::isnan(w[i])) << target << ", " << i;
    EXPECT_TRUE(std::isnan(m[2]) && std::isnan(v[2]) && std::isnan(top[2])) << target;
  });
}

TEST(OptimizerNumbers, NormsOfZeroNaNAndHugeGradients) {
  const auto norm_step = [](std::vector<float> g, float max_norm) {
    BNNSOptimizerSGDMomentumWithClippingFields fields = {};
    fields.learning_rate = -1;
    fields.gradient_scale = 1;
    fields.clipping_func = BNNSOptimizerClippingByNorm;
    fields.clip_gradients_max_norm = max_norm;
    std::vector<float> w(g.size());
    Tensors tensors;
    tensors.add(w.data(), g.data(), {}, w.size());
    EXPECT_TRUE(tensors.step(BNNSOptimizerFunctionSGDMomentumWithClipping, fields));
    return w;
  };
  for_targets([&](const char* target) {
    EXPECT_EQ(norm_step({0, 0}, 0), (std::vector<float>{0, 0})) << target;
    EXPECT_EQ(norm_step({3, 4}, 0), (std::vector<float>{0, 0})) << target;
    EXPECT_EQ(norm_step({3, 4}, 5), (std::vector<float>{3, 4})) << target;
    const auto huge = norm_step({3e38f, 3e38f}, 1);  // the squares overflow a float
    EXPECT_FLOAT_EQ(huge[0], std::sqrt(0.5f)) << target;
    for (const float x : norm_step({1, kNaN}, 1)) EXPECT_TRUE(std::isnan(x)) << target;
  });
}

TEST(Optimizer, AllocatesNothing) {
  if (::test::kSanitized) GTEST_SKIP() << "malloc belongs to the sanitizer";
  auto fields = adam();
  fields.clipping_func = BNNSOptimizerClippingByNorm;
  std::vector<float> memory(400);
  BNNSNDArrayDescriptor d[80];
  BNNSNDArrayDescriptor* pointers[80];
  for (size_t i = 0; i < 80; ++i) {
    d[i] = vector_of(5, memory.data() + 5 * i);
    pointers[i] = &d[i];
  }
  const auto step = [&] {
    return BNNSOptimizerStep(BNNSOptimizerFunctionAdamWithClipping, &fields, 20, pointers,
                             const_cast<const BNNSNDArrayDescriptor**>(pointers + 20),
                             pointers + 40, nullptr);
  };
  ASSERT_EQ(step(), 0) << OpenBNNSGetLastError();
  const ::test::MallocCount count;
  const int status = step();
  EXPECT_EQ(count.total(), 0u);
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace bnns::test
