// Parameters: whose memory a layer uses, steps of a whole list, initial values, labels.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <vector>

#include "support/cpp_expect.h"
#include "openbnns/openbnns.hpp"

namespace {

using namespace bnns;
constexpr auto kInvalid = Error::Code::invalid_argument;

TEST(CppParameter, ALayerSeesTheStepOfItsWeights) {
  Tensor x = Tensor::from({1}, {1}), y(Shape::vector(1));
  Parameter w(Tensor::from({2}, Shape::matrix_row_major(1, 1)));
  FullyConnectedLayer layer({.input = x, .output = y, .weights = w});
  layer.apply(x, y);
  EXPECT_EQ(y[0], 2);
  layer.apply_backward(
      {.input = x, .output = y, .output_gradient = x, .weights_gradient = w.gradient});
  EXPECT_EQ(w.gradient[0], 1);
  ParameterList parameters(w);
  SGDMomentumOptimizer{.learning_rate = 0.5f}.step(parameters);
  layer.apply(x, y);
  EXPECT_EQ(y[0], 1.5f);
}

// A layer shares what it uses: the tensors are gone when it is applied.
FullyConnectedLayer make_layer() {
  const Tensor w = Tensor::from({3}, Shape::matrix_row_major(1, 1));
  return FullyConnectedLayer({.input = Shape::vector(1),
                              .output = Shape::vector(1),
                              .weights = w,
                              .bias = Tensor::from({4}, {1})});
}

TEST(CppParameter, WeightsOutliveTheirTensor) {
  FullyConnectedLayer layer = make_layer();
  const Tensor x = Tensor::from({1}, {1});
  Tensor y(Shape::vector(1));
  layer.apply(x, y);
  EXPECT_EQ(y[0], 7);
}

TEST(CppParameter, MovingStatisticsOutliveTheirTensors) {
  Tensor x = Tensor::from({1, 3}, Shape::image_chw(2, 1, 1)), y(x.shape());
  std::weak_ptr<const void> mean_memory;
  {
    auto mean = std::make_unique<Tensor>(Shape::vector(1));
    auto variance = std::make_unique<Tensor>(Shape::vector(1));
    mean_memory = mean->owner();
    NormalizationLayer layer({.type = normalization::Batch{*mean, *variance},
                              .input = x,
                              .output = y,
                              .gamma = Tensor::filled(2, {1}),
                              .epsilon = 0});
    mean.reset();
    variance.reset();
    layer.apply(x, y, LearningPhase::training);
    EXPECT_FALSE(mean_memory.expired());
    EXPECT_NEAR(y[1], 2, 1e-5);
  }
  EXPECT_TRUE(mean_memory.expired());
}

TEST(CppParameter, ALayerThatCannotBeTrainedIsNotMade) {
  const Parameter w(Shape::matrix_row_major(2, 2));
  const auto silu = ActivationFunction::silu();
  const auto make = [&](const ParameterDescriptor& weights) {
    FullyConnectedLayer layer({.input = Shape::vector(2),
                               .output = Shape::vector(2),
                               .weights = weights,
                               .activation = silu});
  };
  expect_error([&] { make(w); }, Error::Code::unable_to_create_layer,
               "use a separate activation layer");
  EXPECT_NO_THROW(make(w.value));  // for inference
  const Parameter gamma(Shape::vector(2));
  expect_error(
      [&] {
        NormalizationLayer layer({.type = normalization::Batch{},
                                  .input = Shape::vector(2),
                                  .output = Shape::vector(2),
                                  .gamma = gamma,
                                  .activation = silu});
      },
      Error::Code::unable_to_create_layer, "use a separate activation layer");
}

TEST(CppParameter, AdamCountsItsSteps) {
  Parameter a(Tensor::from({1, 2}, {2})), b(Shape::vector(1));
  a.gradient.copy_from(std::vector<float>{1, -1});
  b.gradient[0] = 3;
  ParameterList list(a, b);
  AdamOptimizer adam = {.learning_rate = 0.1f};
  adam.step(list);
  adam.step(list);
  EXPECT_EQ(adam.time_step, 3);
  adam.time_step++;
  EXPECT_NEAR(a.value[0], 0.8, 1e-5);
  EXPECT_NEAR(a.value[1], 2.2, 1e-5);
  EXPECT_NEAR(b.value[0], -0.2, 1e-5);

  // The same by hand gives the same bits.
  Tensor value = Tensor::from({1, 2}, {2}), m(Shape::vector(2)), v(Shape::vector(2));
  AdamOptimizer by_hand = {.learning_rate = 0.1f};
  for (by_hand.time_step = 1; by_hand.time_step < 3; by_hand.time_step++)
    by_hand.step({value}, {a.gradient}, {m, v});
  EXPECT_EQ(to_vector<float>(value), to_vector<float>(a.value));
}

TEST(CppParameter, MomentsBelongToOneOptimizer) {
  Parameter a(Shape::vector(1));
  ParameterList list(a);
  AdamOptimizer adam;
  adam.step(list);
  RMSPropOptimizer rms;
  expect_error([&] { rms.step(list); }, kInvalid, "another optimizer");
  expect_error([&] { list.add(a); }, kInvalid, "reset_moments");
  list.reset_moments();
  list.add(Parameter(Shape::vector(2)));
  rms.step(list);
}

double deviation(const Tensor& tensor) {
  double sum = 0;
  for (const float value : tensor.values()) sum += double{value} * double{value};
  return std::sqrt(sum / static_cast<double>(tensor.count()));
}

TEST(CppInitialize, SpreadFollowsFromTheShape) {
  RandomGenerator generator({.seed = 3});
  const Shape dense = Shape::matrix_row_major(200, 100);
  const Shape filters = Shape::convolution_weights_oihw(3, 5, 20, 40);
  EXPECT_NEAR(deviation(Tensor::he_normal(generator, dense)), std::sqrt(2 / 200.0), 2e-3);
  EXPECT_NEAR(deviation(Tensor::he_uniform(generator, dense)), std::sqrt(2 / 200.0), 2e-3);
  EXPECT_NEAR(deviation(Tensor::he_uniform(generator, filters)), std::sqrt(2 / 300.0), 2e-3);
  EXPECT_NEAR(deviation(Tensor::glorot_normal(generator, dense)), std::sqrt(2 / 300.0), 2e-3);
  EXPECT_NEAR(deviation(Tensor::glorot_uniform(generator, filters)), std::sqrt(2 / 900.0), 2e-3);
  const float bound = 1 / std::sqrt(300.0f);
  const Tensor torch = Tensor::torch_uniform(generator, filters);
  const Tensor bias = Tensor::torch_uniform(generator, Shape::vector(40), filters);
  for (const float value : torch.values()) EXPECT_LE(std::abs(value), bound);
  for (const float value : bias.values()) EXPECT_LE(std::abs(value), bound);
  EXPECT_NEAR(deviation(torch), bound / std::sqrt(3.0), 2e-3);
  EXPECT_EQ(bias.count(), 40u);
  expect_error([&] { (void)Tensor::he_uniform(generator, Shape::vector(3)); }, kInvalid,
               "neither a matrix nor convolution weights");
}

TEST(CppInitialize, SeedsRepeat) {
  RandomGenerator a({.seed = 7}), b({.seed = 7});
  const Shape shape = Shape::matrix_row_major(9, 5);
  EXPECT_EQ(to_vector<float>(Tensor::he_uniform(a, shape)),
            to_vector<float>(Tensor::he_uniform(b, shape)));
}

TEST(CppLabels, ArgmaxTakesTheFirstOfEqualsAndNoNaN) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const Tensor scores = Tensor::from({1, 3, 3, nan, -2, -1, nan, nan, nan}, {3}, 3);
  EXPECT_EQ(argmax(scores), (std::vector<std::size_t>{1, 2, 0}));
}

TEST(CppLabels, OneHot) {
  const std::vector<std::uint8_t> classes = {2, 0};
  Tensor labels = one_hot(classes, 3);
  EXPECT_EQ(to_vector<float>(labels, 2), (std::vector<float>{0, 0, 1, 1, 0, 0}));
  const std::vector<int> bad = {0, -1}, large = {3, 0};
  expect_error([&] { one_hot(bad, labels); }, kInvalid, "class number 1 is -1, there are 3");
  expect_error([&] { one_hot(large, labels); }, kInvalid, "class number 0 is 3");
  expect_error([&] { one_hot(std::vector<int>{1}, labels); }, kInvalid, "1 class numbers");
  EXPECT_EQ(to_vector<float>(labels, 2), (std::vector<float>{0, 0, 1, 1, 0, 0}));
}

}  // namespace
