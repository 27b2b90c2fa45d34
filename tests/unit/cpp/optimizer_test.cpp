// The optimizers: defaults, one step of each, accumulators, clipping and failures.
#include <gtest/gtest.h>

#include <cmath>
#include <type_traits>

#include "support/cpp_expect.h"
#include "openbnns/openbnns.hpp"

namespace {

using bnns::Error;
using bnns::RegularizationFunction;
using bnns::Shape;
using bnns::Tensor;

bnns::AdamOptimizer make_adam() {
  return {.learning_rate = 0.01f,
          .time_step = 1,
          .gradient_scale = 1,
          .regularization_scale = 0,
          .gradient_clipping = bnns::clipping::None{},
          .regularization_function = RegularizationFunction::none};
}

bnns::SGDMomentumOptimizer make_sgd() {
  return {.learning_rate = 0.5f,
          .gradient_scale = 1,
          .regularization_scale = 0,
          .gradient_clipping = bnns::clipping::None{},
          .regularization_function = RegularizationFunction::none,
          .sgd_momentum_variant = bnns::SGDMomentumVariant::variant1};
}

// The figures of the specification's worked training step; the gradients have six decimals.
TEST(CppOptimizer, FirstStepOfAdam) {
  Tensor parameters = Tensor::from({0.5f, 0.25f, 1.5f, 0.5f}, {4});
  const Tensor gradients = Tensor::from({-0.0221712f, 0.3f, 0.421461f, 0.043133f}, {4});
  Tensor m(Shape::vector(4)), v(Shape::vector(4));
  make_adam().step({parameters}, {gradients}, {m, v});
  EXPECT_NEAR(parameters[0], 0.50999986f, 1e-7);
  EXPECT_NEAR(parameters[1], 0.24000001f, 1e-7);
  EXPECT_NEAR(parameters[2], 1.49000001f, 2e-7);
  EXPECT_NEAR(parameters[3], 0.49000007f, 1e-7);
  EXPECT_NEAR(m[0], -0.00221712f, 1e-8);
  // 0.999 as a float is off by up to 3e-8, which is 3e-5 of 1 - 0.999; the gradient adds 5e-6.
  EXPECT_NEAR(v[0], 4.915633e-7f, 4.915633e-7 * 3.5e-5);
}

// step() leaves the time step alone, so that several calls may be one step of a network.
TEST(CppOptimizer, TheCallerAdvancesTheTimeStep) {
  bnns::AdamOptimizer adam = make_adam();
  Tensor p(Shape::vector(1)), g = Tensor::filled(1, {1}), m(Shape::vector(1)), v(Shape::vector(1));
  adam.step({p}, {g}, {m, v});
  EXPECT_EQ(adam.time_step, 1.0f);
  adam.time_step += 1;
  EXPECT_EQ(adam.time_step, 2.0f);
  adam.step({p}, {g}, {m, v});
  // Equal gradients: the bias correction makes every step as long as the first.
  EXPECT_NEAR(p[0], -0.02f, 1e-6);
  adam.time_step = 0;
  expect_error([&] { adam.step({p}, {g}, {m, v}); }, Error::Code::optimizer_step_fail, "time_step");
}

TEST(CppOptimizer, AccumulatorsAreGroupedByKind) {
  Tensor a(Shape::vector(1)), b(Shape::vector(2));
  const Tensor da = Tensor::filled(1, {1}), db = Tensor::filled(2, {2});
  Tensor ma(a.shape()), mb(b.shape()), va(a.shape()), vb(b.shape()), ta(a.shape()), tb(b.shape());
  bnns::AdamOptimizer adam = make_adam();
  adam.uses_ams_grad = true;
  EXPECT_EQ(adam.accumulator_count_multiplier(), 3u);
  adam.step({a, b}, {da, db}, {ma, mb, va, vb, ta, tb});
  EXPECT_FLOAT_EQ(ma[0], 0.1f);
  EXPECT_FLOAT_EQ(mb[1], 0.2f);
  EXPECT_NEAR(va[0], 0.001f, 1e-7);
  EXPECT_NEAR(vb[1], 0.004f, 1e-7);
  EXPECT_EQ(vb[1], tb[1]);
}

TEST(CppOptimizer, WeightDecayOfAdamW) {
  bnns::AdamWOptimizer adamw = {.learning_rate = 0.1f,
                                .gradient_scale = 1,
                                .weight_decay = 0.5f,
                                .gradient_clipping = bnns::clipping::None{}};
  EXPECT_EQ(adamw.time_step, 1);
  EXPECT_EQ(adamw.accumulator_count_multiplier(), 2u);
  Tensor p = Tensor::filled(2, {1}), g(Shape::vector(1)), m(Shape::vector(1)), v(Shape::vector(1));
  adamw.step({p}, {g}, {m, v});
  EXPECT_FLOAT_EQ(p[0], 2 - 0.1f * 0.5f * 2);
}

TEST(CppOptimizer, RMSProp) {
  bnns::RMSPropOptimizer rms = {.learning_rate = 0.1f,
                                .alpha = 0.75f,
                                .centered = false,
                                .gradient_scale = 1,
                                .regularization_scale = 0,
                                .gradient_clipping = bnns::clipping::None{},
                                .regularization_function = RegularizationFunction::none};
  Tensor p(Shape::vector(1)), g = Tensor::filled(2, {1}), n(Shape::vector(1)), h(Shape::vector(1)),
                              d(Shape::vector(1));
  rms.step({p}, {g}, {n});
  EXPECT_FLOAT_EQ(n[0], 1);
  EXPECT_FLOAT_EQ(p[0], -0.2f);
  rms.centered = true;
  rms.momentum = 0.5f;
  EXPECT_EQ(rms.accumulator_count_multiplier(), 3u);
  rms.step({p}, {g}, {n, h, d});
  EXPECT_FLOAT_EQ(h[0], 0.5f);
}

TEST(CppOptimizer, SGDMomentum) {
  bnns::SGDMomentumOptimizer sgd = make_sgd();
  Tensor p = Tensor::filled(1, {1}), velocity(Shape::vector(1));
  const Tensor g = Tensor::filled(2, {1});
  sgd.step({p}, {g}, {});
  EXPECT_FLOAT_EQ(p[0], 0);
  sgd.momentum = 0.5f;
  sgd.step({p}, {g}, {velocity});
  sgd.step({p}, {g}, {velocity});
  EXPECT_FLOAT_EQ(velocity[0], 3);
  EXPECT_FLOAT_EQ(p[0], -1 - 1.5f);
  expect_error([&] { sgd.step({p}, {g}, {}); }, Error::Code::optimizer_step_fail, "accumulators");
}

TEST(CppOptimizer, ClippingAndRegularization) {
  const Tensor g = Tensor::from({3, -4}, {2});
  const auto step = [&](const bnns::GradientClipping& clipping) {
    bnns::SGDMomentumOptimizer sgd = make_sgd();
    sgd.learning_rate = 1.0f;
    sgd.gradient_clipping = clipping;
    Tensor p(Shape::vector(2));
    sgd.step({p}, {g}, {});
    return bnns::to_vector<float>(p);
  };
  EXPECT_EQ(step(bnns::clipping::None{}), (std::vector<float>{-3, 4}));
  EXPECT_EQ(step(bnns::clipping::ByValue{.lower = -2, .upper = 1}), (std::vector<float>{-1, 2}));
  EXPECT_EQ(step(bnns::clipping::ByNorm{.threshold = 2.5f}), (std::vector<float>{-1.5f, 2}));
  EXPECT_EQ(step(bnns::clipping::ByGlobalNorm{.threshold = 2.5f}), (std::vector<float>{-1.5f, 2}));
  EXPECT_EQ(step(bnns::clipping::ByGlobalNorm{.threshold = 2.5f, .global_norm = 10}),
            (std::vector<float>{-0.75f, 1}));

  bnns::SGDMomentumOptimizer decay = make_sgd();
  decay.gradient_scale = 0.0f;
  decay.regularization_scale = 1.0f;
  decay.regularization_function = RegularizationFunction::l2;
  Tensor p = Tensor::filled(4, {2});
  decay.step({p}, {g}, {});
  EXPECT_FLOAT_EQ(p[0], 2);
}

TEST(CppOptimizer, CountsMustAgree) {
  Tensor p(Shape::vector(1)), g(Shape::vector(1)), m(Shape::vector(1)), v(Shape::vector(1));
  const bnns::AdamOptimizer adam = make_adam();
  const auto code = Error::Code::optimizer_step_fail;
  expect_error([&] { adam.step({p}, {}, {m, v}); }, code, "gradients");
  expect_error([&] { adam.step({p}, {g}, {m}); }, code, "accumulators");
  const Tensor other(Shape::vector(2));
  expect_error([&] { adam.step({p}, {other}, {m, v}); }, code, "gradients[0] is Vector {2}");
}

}  // namespace
