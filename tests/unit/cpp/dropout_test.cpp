// bnns::DropoutLayer.
#include <gtest/gtest.h>

#include <vector>

#include "openbnns/openbnns.hpp"
#include "support/cpp_expect.h"

namespace {

using bnns::DropoutLayer;
using bnns::Shape;
using bnns::Tensor;
using Floats = std::vector<float>;

// The example of Apple's documentation: one decision for each column.
TEST(CppDropout, WholeColumns) {
  const Shape shape = Shape::matrix_row_major(4, 4);
  const Tensor ones = Tensor::filled(1, shape);
  Tensor output(shape), input_gradient(shape);
  DropoutLayer layer({.input = ones, .output = output, .rate = 0.5f, .seed = 3, .control = 0b10});
  size_t kept = 0;
  for (int round = 0; round < 20; ++round) {
    layer.apply(1, ones, output);
    const Floats y = bnns::to_vector<float>(output, 1);
    for (size_t i = 0; i < 16; ++i) {
      EXPECT_TRUE(y[i] == 0 || y[i] == 2);
      EXPECT_EQ(y[i], y[i % 4]);
    }
    for (size_t column = 0; column < 4; ++column) kept += y[column] != 0;
    layer.apply_backward(
        1, {.input = {}, .output = {}, .output_gradient = ones, .input_gradient = input_gradient});
    EXPECT_EQ(bnns::to_vector<float>(input_gradient, 1), y);
  }
  EXPECT_GT(kept, 20u);
  EXPECT_LT(kept, 60u);
}

TEST(CppDropout, Failures) {
  const Tensor input(Shape::vector(4)), output(Shape::vector(4)), wrong(Shape::vector(3));
  EXPECT_THROW(
      DropoutLayer({.input = input, .output = wrong, .rate = 0.5f, .seed = 0, .control = 0}),
      bnns::Error);
  EXPECT_THROW(DropoutLayer({.input = input, .output = output, .rate = 1, .seed = 0, .control = 0}),
               bnns::Error);
}

}  // namespace
