// bnns::RandomGenerator: seeds, states, fills and failures.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include "support/cpp_expect.h"
#include "openbnns/openbnns.hpp"

namespace {

using bnns::BasicTensor;
using bnns::Error;
using bnns::RandomGenerator;
using bnns::Shape;
using bnns::Tensor;

std::vector<float> draw(RandomGenerator& generator, std::size_t count) {
  return bnns::to_vector<float>(Tensor::uniform(generator, 0, 1, Shape::vector(count)));
}

TEST(CppRandom, EqualSeedsGiveEqualStreams) {
  RandomGenerator a({.seed = 7}), b({.seed = 7}), c({.seed = 8}), d, e;
  const std::vector<float> values = draw(a, 100);
  EXPECT_EQ(values, draw(b, 100));
  EXPECT_NE(values, draw(c, 100));
  EXPECT_NE(draw(d, 100), draw(e, 100));
}

TEST(CppRandom, StatesGoBack) {
  RandomGenerator generator({.seed = 7}), other({.seed = 1});
  draw(generator, 10);
  const bnns::RandomGeneratorState state = generator.state();
  const std::vector<float> values = draw(generator, 10);
  EXPECT_FALSE(generator.state() == state);
  generator.set_state(state);
  EXPECT_TRUE(generator.state() == state);
  EXPECT_EQ(draw(generator, 10), values);
  other.set_state(state);
  EXPECT_EQ(draw(other, 10), values);
}

TEST(CppRandom, EverySampleOfABatchIsFilled) {
  RandomGenerator generator({.seed = 7});
  const Tensor uniform = Tensor::uniform(generator, 2, 3, Shape::vector(5), 4);
  for (const float value : uniform.values()) {
    EXPECT_GE(value, 2);
    EXPECT_LT(value, 3);
  }
  const auto integers = BasicTensor<std::int8_t>::uniform(generator, 3, 5, Shape::vector(64), 2);
  for (const std::int8_t value : integers.values()) EXPECT_TRUE(value == 3 || value == 4);
  const Tensor constant = Tensor::normal(generator, 4, 0, Shape::vector(5), 4);
  for (const float value : constant.values()) EXPECT_EQ(value, 4);
}

// Five standard errors of mean and of variance.
TEST(CppRandom, NormalHasItsMoments) {
  constexpr std::size_t kCount = 10000;
  RandomGenerator generator({.seed = 7});
  const Tensor values = Tensor::normal(generator, 1, 2, Shape::vector(kCount));
  double sum = 0, squares = 0;
  for (const float value : values.values()) {
    sum += value - 1;
    squares += (value - 1) * (value - 1);
  }
  EXPECT_NEAR(sum / kCount, 0, 5 * 2 / std::sqrt(1.0 * kCount));
  EXPECT_NEAR(squares / kCount, 4, 5 * 4 * std::sqrt(2.0 / kCount));
}

TEST(CppRandom, Categorical) {
  RandomGenerator generator({.seed = 7});
  const Tensor probabilities = Tensor::from({0, 1, 0}, {3});
  Tensor indices(Shape::vector(20));
  generator.fill_categorical(indices, probabilities);
  for (const float index : indices.values()) EXPECT_EQ(index, 1);
  const Tensor nothing(Shape::vector(3));
  expect_error([&] { generator.fill_categorical(indices, nothing); }, Error::Code::layer_apply_fail,
               "fill_categorical: distribution 0 of probabilities");
}

TEST(CppRandom, Failures) {
  RandomGenerator generator({.seed = 7});
  Tensor tensor(Shape::vector(3));
  expect_error([&] { generator.fill_uniform(tensor, 1, 1); }, Error::Code::layer_apply_fail,
               "fill_uniform: a is 1, b is 1");
  expect_error([&] { generator.fill_normal(tensor, 0, -1); }, Error::Code::layer_apply_fail,
               "fill_normal: standard_deviation is -1");
  expect_error([&] { generator.fill_uniform_int(tensor, 0, 5); }, Error::Code::layer_apply_fail,
               "fill_uniform_int: output.data_type is Float32");
  const auto unknown = static_cast<bnns::RandomGeneratorMethod>(99);
  expect_error([&] { RandomGenerator bad({.method = unknown}); },
               Error::Code::unable_to_create_layer, "method");
}

TEST(CppRandom, Moves) {
  RandomGenerator source({.seed = 7}), same({.seed = 7});
  RandomGenerator target = std::move(source);
  EXPECT_EQ(source.native_handle(), nullptr);
  EXPECT_EQ(draw(target, 5), draw(same, 5));
  expect_error([&] { (void)source.state(); }, Error::Code::layer_apply_fail,
               "RandomGenerator::state");
}

}  // namespace
