// bnns::MultiheadAttentionLayer.
#include <gtest/gtest.h>

#include <vector>

#include "openbnns/openbnns.hpp"
#include "support/cpp_expect.h"

namespace {

using bnns::MultiheadAttentionCache;
using bnns::MultiheadAttentionLayer;
using bnns::MultiheadAttentionLayerOptions;
using bnns::Parameter;
using bnns::Shape;
using bnns::Tensor;
using Floats = std::vector<float>;

Floats values(const Tensor& t) {
  return Floats(t.values().begin(), t.values().end());
}

// Two samples of three positions with four columns; two heads of two columns.
struct Network {
  bnns::RandomGenerator generator{{.seed = 3}};
  Tensor random(const Shape& shape, size_t samples = 1) {
    return Tensor::uniform(generator, -1, 1, shape, samples);
  }
  Shape rows = Shape::matrix_row_major(4, 3), weights = Shape::attention_weights(4, 2, 2);
  Shape bias = Shape::matrix_last_major(2, 2);
  Tensor x = random(rows, 2), dy = random(rows, 2);
  Tensor y{rows, 2}, dx{rows, 2};
  Parameter wq{random(weights)}, wk{random(weights)}, wv{random(weights)};
  Parameter wo{random(Shape::matrix_row_major(4, 4))}, bq{random(bias)};

  MultiheadAttentionLayer layer{MultiheadAttentionLayerOptions{.query = rows,
                                                               .key = rows,
                                                               .value = rows,
                                                               .output = rows,
                                                               .query_weights = wq,
                                                               .key_weights = wk,
                                                               .value_weights = wv,
                                                               .output_weights = wo,
                                                               .query_bias = bq}};
};

// Self-attention: the three gradients of the input go into one tensor. A cache changes nothing.
TEST(CppMultiheadAttention, ForwardAndBackward) {
  Network n;
  n.layer.apply({.query = n.x, .key = n.x, .value = n.x, .output = n.y});
  const Floats plain = values(n.y);
  EXPECT_NE(plain, Floats(plain.size()));
  MultiheadAttentionCache cache;
  n.layer.apply({.query = n.x, .key = n.x, .value = n.x, .output = n.y, .cache = &cache});
  EXPECT_EQ(values(n.y), plain);
  EXPECT_GT(cache.size(), 0u);
  Floats gradients[2], weights[2];
  for (const bool cached : {false, true}) {
    n.layer.apply_backward({.query = n.x,
                            .key = n.x,
                            .value = n.x,
                            .output_gradient = n.dy,
                            .query_gradient = n.dx,
                            .key_gradient = n.dx,
                            .value_gradient = n.dx,
                            .query_weights_gradient = n.wq.gradient,
                            .output_weights_gradient = n.wo.gradient,
                            .query_bias_gradient = n.bq.gradient,
                            .cache = cached ? &cache : nullptr});
    gradients[cached] = values(n.dx);
    weights[cached] = values(n.wq.gradient);
  }
  EXPECT_EQ(gradients[0], gradients[1]);
  EXPECT_EQ(weights[0], weights[1]);
  EXPECT_NE(weights[0], Floats(weights[0].size()));
}

TEST(CppMultiheadAttention, Mask) {
  Network n;
  bnns::BasicTensor<std::uint8_t> mask(Shape::vector(3), 2);
  for (size_t i = 0; i < 6; ++i) mask[i] = i % 3 == 2 ? 1 : 0;
  n.layer.apply({.query = n.x, .key = n.x, .value = n.x, .output = n.y, .key_mask = mask});
  const Floats masked = values(n.y);
  // What is hidden has no influence on the other positions.
  Tensor changed = Tensor::filled(0, n.rows, 2);
  changed.copy_from(values(n.x));
  for (size_t c = 0; c < 4; ++c) changed[8 + c] = 5;
  n.layer.apply({.query = n.x, .key = changed, .value = changed, .output = n.y, .key_mask = mask});
  EXPECT_EQ(values(n.y), masked);
}

TEST(CppMultiheadAttention, Failures) {
  Network n;
  const Tensor wrong(Shape::matrix_row_major(5, 3), 2);
  expect_error([&] { n.layer.apply({.query = wrong, .key = n.x, .value = n.x, .output = n.y}); },
               bnns::Error::Code::invalid_argument, "query");
  MultiheadAttentionCache empty;
  expect_error(
      [&] {
        n.layer.apply_backward({.query = n.x,
                                .key = n.x,
                                .value = n.x,
                                .output_gradient = n.dy,
                                .query_gradient = n.dx,
                                .cache = &empty});
      },
      bnns::Error::Code::invalid_argument, "cache");
  // Two samples are asked for, memory is there for one.
  const auto invalid = bnns::Error::Code::invalid_argument;
  const Tensor one(n.rows);
  const bnns::BasicTensor<std::uint8_t> mask(Shape::vector(3));
  const Tensor many(Shape::matrix_row_major(3, 3), 2), weights(n.weights, 2);
  expect_error(
      [&] {
        n.layer.apply({.query = n.x, .key = n.x, .value = n.x, .output = n.y, .key_mask = mask});
      },
      invalid, "key_mask");
  expect_error(
      [&] {
        n.layer.apply(
            {.query = n.x, .key = n.x, .value = n.x, .output = n.y, .added_to_attention = many});
      },
      invalid, "added_to_attention");
  using Arguments = bnns::MultiheadAttentionBackwardArguments;
  const auto expect_gradient_error = [&](auto member, const Tensor& gradient, const char* name) {
    Arguments a = {.query = n.x, .key = n.x, .value = n.x, .output_gradient = n.dy};
    a.*member = gradient;
    expect_error([&] { n.layer.apply_backward(a); }, invalid, name);
  };
  expect_gradient_error(&Arguments::query_gradient, one, "query_gradient");
  expect_gradient_error(&Arguments::key_gradient, one, "key_gradient");
  expect_gradient_error(&Arguments::value_gradient, one, "value_gradient");
  expect_gradient_error(&Arguments::key_weights_gradient, weights, "key_weights_gradient");
  EXPECT_THROW(
      MultiheadAttentionLayer(MultiheadAttentionLayerOptions{.query = n.rows,
                                                             .key = Shape::matrix_row_major(5, 3),
                                                             .value = n.rows,
                                                             .output = n.rows,
                                                             .query_weights = n.wq,
                                                             .key_weights = n.wk,
                                                             .value_weights = n.wv,
                                                             .output_weights = n.wo}),
      bnns::Error);
}

}  // namespace
