// bnns::EmbeddingLayer, gather and scatter.
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "openbnns/openbnns.hpp"
#include "support/cpp_expect.h"

namespace {

using bnns::BasicTensor;
using bnns::EmbeddingLayer;
using bnns::Error;
using bnns::Norm;
using bnns::ScatterFunction;
using bnns::Shape;
using bnns::Tensor;
using Floats = std::vector<float>;
using Indices = BasicTensor<std::int32_t>;

TEST(CppEmbedding, ForwardAndBackward) {
  const Tensor dictionary = Tensor::from({1, 2, 3, 4, 5, 6}, Shape::matrix_last_major(2, 3), 1);
  const Indices input = Indices::from({2, 0, 2, 1}, Shape::vector(2), 2);
  Tensor output(Shape::matrix_last_major(2, 2), 2),
      weights_gradient(Shape::matrix_last_major(2, 3));
  EmbeddingLayer layer({.input = input,
                        .output = output,
                        .dictionary = dictionary,
                        .padding_index = 1,
                        .maximum_norm = 5.5f,
                        .norm_type = Norm::l1()});
  layer.apply(input, output);
  EXPECT_EQ(bnns::to_vector<float>(output, 2), (Floats{2.5f, 3, 1, 2, 2.5f, 3, 0, 0}));
  const Tensor output_gradient =
      Tensor::from({1, 2, 3, 4, 5, 6, 7, 8}, Shape::matrix_last_major(2, 2), 2);
  layer.apply_backward(
      {.input = input, .output_gradient = output_gradient, .weights_gradient = weights_gradient});
  EXPECT_EQ(bnns::to_vector<float>(weights_gradient, 1), (Floats{3, 4, 0, 0, 6, 8}));
  weights_gradient = Tensor(Shape::matrix_last_major(2, 3));
  layer.apply_backward(2, {.input = input,
                           .output = output,
                           .output_gradient = output_gradient,
                           .weights_gradient = weights_gradient});
  EXPECT_EQ(bnns::to_vector<float>(weights_gradient, 1), (Floats{3, 4, 0, 0, 6, 8}));
}

TEST(CppEmbedding, NamesOfNorms) {
  EXPECT_EQ(Norm::taxicab().value, Norm::l1().value);
  EXPECT_EQ(Norm::euclidean().value, Norm::l2().value);
  EXPECT_EQ(Norm::maximum().value, Norm::l_infinity().value);
}

TEST(CppEmbedding, Failures) {
  const Tensor dictionary(Shape::matrix_last_major(2, 3)), wrong(Shape::vector(4));
  const Indices input = Indices::from({0, 3}, Shape::vector(2), 1);
  Tensor output(Shape::matrix_last_major(2, 2));
  expect_error([&] { EmbeddingLayer({.input = input, .output = wrong, .dictionary = dictionary}); },
               Error::Code::unable_to_create_layer, "dictionary");
  EmbeddingLayer layer({.input = input, .output = output, .dictionary = dictionary});
  expect_error([&] { layer.apply(input, output); }, Error::Code::layer_apply_fail, "below 3");
}

TEST(CppGather, AlongAnAxis) {
  const Tensor input = Tensor::from({10, 20, 30, 40, 50, 60}, Shape{2, 3}, 1);
  const Indices indices = Indices::from({2, 0}, Shape::vector(2), 1);
  Tensor output(Shape{2, 2}), sums = Tensor::filled(1, Shape{2, 3});
  bnns::gather(input, indices, output, 1);
  EXPECT_EQ(bnns::to_vector<float>(output, 1), (Floats{30, 10, 60, 40}));
  bnns::scatter(output, indices, sums, 1, ScatterFunction::sum);
  EXPECT_EQ(bnns::to_vector<float>(sums, 1), (Floats{11, 1, 31, 41, 1, 61}));
  bnns::scatter(output, indices, sums, 1);
  EXPECT_EQ(bnns::to_vector<float>(sums, 1), (Floats{10, 1, 30, 40, 1, 60}));
  expect_error([&] { bnns::gather(input, indices, output, 0); }, Error::Code::layer_apply_fail,
               "axis 0");
}

TEST(CppGather, WithCoordinates) {
  const Tensor input = Tensor::from({10, 20, 30, 40, 50, 60}, Shape{2, 3}, 1);
  const Indices indices = Indices::from({1, 2, 0, 1}, Shape{2, 2}, 1);
  Tensor output(Shape::vector(2)), sums = Tensor::filled(25, Shape{2, 3});
  bnns::gather_nd(input, indices, output);
  EXPECT_EQ(bnns::to_vector<float>(output, 1), (Floats{60, 20}));
  bnns::scatter_nd(output, indices, sums, ScatterFunction::sum);
  EXPECT_EQ(bnns::to_vector<float>(sums, 1), (Floats{25, 45, 25, 25, 25, 85}));
  const Indices wrong = Indices::from({1, 3}, Shape{1, 2}, 1);
  Tensor one(Shape::vector(1));
  expect_error([&] { bnns::gather_nd(input, wrong, one); }, Error::Code::layer_apply_fail,
               "coordinate 1");
}

}  // namespace
