// bnns::apply_top_k, apply_in_top_k, NearestNeighbors, and GumbelMax that draws classes.
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "support/cpp_expect.h"
#include "openbnns/openbnns.hpp"

namespace {

using bnns::BasicTensor;
using bnns::Error;
using bnns::NearestNeighbors;
using bnns::Shape;
using bnns::Tensor;
using Places = BasicTensor<std::int32_t>;

constexpr float kInf = std::numeric_limits<float>::infinity();

TEST(CppTopK, ValuesAndIndices) {
  const Tensor input = Tensor::from({1, 5, 3, 4, 4, 9}, Shape::vector(3), 2);
  Tensor values(Shape::vector(2), 2);
  Places indices(Shape::vector(2), 2);
  bnns::apply_top_k(
      2, {.k = 2, .input = input, .best_values = values, .best_indices = indices, .axis = 0});
  EXPECT_EQ(bnns::to_vector<float>(values, 2), (std::vector<float>{5, 3, 9, 4}));
  EXPECT_EQ(bnns::to_vector<std::int32_t>(indices, 2), (std::vector<std::int32_t>{1, 2, 2, 0}));
  Tensor alone(Shape::vector(2), 2);
  bnns::apply_top_k(2, {.k = 2, .input = input, .best_values = alone, .axis = 0});
  EXPECT_EQ(bnns::to_vector<float>(alone, 2), bnns::to_vector<float>(values, 2));
}

TEST(CppTopK, InTopK) {
  const Tensor input = Tensor::from({1, 5, 3, 4, 4, 9}, Shape::vector(3), 2);
  const Places tested = Places::from({2, 2}, Shape::vector(1), 2);
  BasicTensor<bool> output(Shape::vector(1), 2);
  bnns::apply_in_top_k(
      2, {.k = 1, .input = input, .test_indices = tested, .output = output, .axis = 0});
  EXPECT_EQ(bnns::to_vector<bool>(output, 2), (std::vector<bool>{false, true}));
}

TEST(CppTopK, FailuresCarryTheReason) {
  const Tensor input = Tensor::from({1, 5, 3}, Shape::vector(3));
  Tensor values(Shape::vector(4));
  const auto apply = [&](std::size_t batch, std::size_t k) {
    bnns::apply_top_k(batch, {.k = k, .input = input, .best_values = values, .axis = 0});
  };
  expect_error([&] { apply(1, 4); }, Error::Code::layer_apply_fail, "apply_top_k: k is 4");
  expect_error([&] { apply(2, 2); }, Error::Code::invalid_argument, "input has 1 samples");
  expect_error([&] { apply(0, 2); }, Error::Code::invalid_argument, "batch_size is 0");
  const Places tested = Places::from({3}, Shape::vector(1));
  BasicTensor<bool> output(Shape::vector(1));
  expect_error(
      [&] {
        bnns::apply_in_top_k(
            1, {.k = 1, .input = input, .test_indices = tested, .output = output, .axis = 0});
      },
      Error::Code::layer_apply_fail, "test_indices of row 0 is 3");
}

TEST(CppNearestNeighbors, OneAndAll) {
  NearestNeighbors table({.capacity = 5, .dimension_count = 1, .neighbor_count = 3});
  table.append(Tensor::from({0, 1}, Shape::vector(1), 2));
  table.append(Tensor::from({2, 10, 11}, Shape::matrix_row_major(1, 3)));
  EXPECT_EQ(table.sample_count(), 5u);
  Places indices(Shape::vector(3));
  Tensor distances(Shape::vector(3));
  table.apply(3, indices, distances);
  EXPECT_EQ(bnns::to_vector<std::int32_t>(indices), (std::vector<std::int32_t>{3, 4, 2}));
  EXPECT_EQ(bnns::to_vector<float>(distances), (std::vector<float>{0, 1, 8}));
  Tensor all(Shape::vector(3), 5);
  table.apply(std::nullopt, std::nullopt, all);
  EXPECT_EQ(bnns::to_vector<float>(all, 5),
            (std::vector<float>{0, 1, 2, 0, 1, 1, 0, 1, 2, 0, 1, 8, 0, 1, 9}));
}

TEST(CppNearestNeighbors, MissingOnes) {
  NearestNeighbors table({.capacity = 4, .dimension_count = 2, .neighbor_count = 3});
  table.append(Tensor::from({0, 0, 3, 4}, Shape::vector(2), 2));
  Places indices(Shape::vector(3));
  Tensor distances(Shape::vector(3));
  table.apply(1, indices, distances);
  EXPECT_EQ(bnns::to_vector<std::int32_t>(indices), (std::vector<std::int32_t>{1, 0, -1}));
  EXPECT_EQ(bnns::to_vector<float>(distances), (std::vector<float>{0, 5, kInf}));
}

TEST(CppNearestNeighbors, FailuresCarryTheReason) {
  expect_error([] { NearestNeighbors({.capacity = 0, .dimension_count = 2, .neighbor_count = 3}); },
               Error::Code::unable_to_create_layer, "NearestNeighbors: capacity is 0");
  NearestNeighbors table({.capacity = 2, .dimension_count = 2, .neighbor_count = 2});
  const Tensor samples(Shape::vector(2), 3), odd(Shape::vector(3));
  expect_error([&] { table.append(samples); }, Error::Code::layer_apply_fail,
               "the number of samples is 3; of capacity 2 only 2 are left");
  expect_error([&] { table.append(odd); }, Error::Code::invalid_argument, "a sample has 2");
  EXPECT_EQ(table.sample_count(), 0u);
  Places indices(Shape::vector(2));
  Tensor distances(Shape::vector(2));
  expect_error([&] { table.apply(0, indices, distances); }, Error::Code::invalid_argument,
               "index is 0; there are 0 samples");
  table.append(Tensor::from({0, 0, 3, 4}, Shape::vector(2), 2));
  expect_error([&] { table.apply(0, distances, std::nullopt); }, Error::Code::invalid_argument,
               "data type");
  expect_error([&] { table.apply(std::nullopt, indices, std::nullopt); },
               Error::Code::invalid_argument, "output_indices has 2 values; there are 4");
}

TEST(CppNearestNeighbors, MovedFrom) {
  NearestNeighbors table({.capacity = 3, .dimension_count = 1, .neighbor_count = 2});
  table.append(Tensor::from({0, 1}, Shape::vector(1), 2));
  NearestNeighbors moved = std::move(table);
  EXPECT_EQ(moved.sample_count(), 2u);
  EXPECT_EQ(table.sample_count(), 0u);
  EXPECT_EQ(table.native_handle(), nullptr);
  Places indices(Shape::vector(2));
  expect_error([&] { table.apply(std::nullopt, indices, std::nullopt); },
               Error::Code::invalid_argument, "NearestNeighbors::apply: the table was moved from");
  expect_error([&] { table.apply(0, indices, std::nullopt); }, Error::Code::invalid_argument,
               "the table was moved from");
  expect_error([&] { table.append(Tensor::from({2}, Shape::vector(1))); },
               Error::Code::invalid_argument, "NearestNeighbors::append: the table was moved from");
  table = std::move(moved);
  EXPECT_EQ(table.sample_count(), 2u);
  table.apply(1, indices, std::nullopt);
  EXPECT_EQ(bnns::to_vector<std::int32_t>(indices), (std::vector<std::int32_t>{1, 0}));
}

// Logits of which one is far above the others: the drawn class is known.
TEST(CppGumbelMax, DrawsClasses) {
  const Tensor logits = Tensor::from({0, 1e4f, 0, 1e4f, 0, 0}, Shape::vector(3), 2);
  Tensor classes(Shape::vector(1), 2);
  bnns::ActivationLayer layer({.function = bnns::ActivationFunction::gumbel_max(1, 1e-7f),
                               .input = Shape::vector(3),
                               .output = Shape::vector(1)});
  layer.apply(2, logits, classes);
  EXPECT_EQ(bnns::to_vector<float>(classes, 2), (std::vector<float>{1, 0}));
  Tensor direct(Shape::vector(1), 2);
  bnns::apply_activation(2, {.function = bnns::ActivationFunction::gumbel_max(1, 1e-7f),
                             .input = logits,
                             .output = direct});
  EXPECT_EQ(bnns::to_vector<float>(direct, 2), (std::vector<float>{1, 0}));
  expect_error(
      [] {
        bnns::ActivationLayer({.function = bnns::ActivationFunction::softmax(),
                               .input = Shape::vector(3),
                               .output = Shape::vector(1)});
      },
      Error::Code::unable_to_create_layer, "same number of elements");
}

}  // namespace
