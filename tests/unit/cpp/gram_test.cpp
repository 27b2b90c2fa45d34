// bnns::GramLayer.
#include <gtest/gtest.h>

#include <vector>

#include "openbnns/openbnns.hpp"
#include "support/cpp_expect.h"

namespace {

using bnns::GramLayer;
using bnns::Shape;
using bnns::Tensor;
using Floats = std::vector<float>;

TEST(CppGram, ForwardAndBackward) {
  const Tensor input = Tensor::from({1, 2, 3, 4}, Shape::image_chw(2, 1, 2), 1);
  const Tensor output_gradient = Tensor::from({1, 2, 3, 4}, Shape::matrix_row_major(2, 2), 1);
  Tensor output(Shape::matrix_row_major(2, 2)), input_gradient(Shape::image_chw(2, 1, 2));
  GramLayer layer({.input = input, .output = output, .alpha = 2});
  layer.apply(1, input, output);
  EXPECT_EQ(bnns::to_vector<float>(output, 1), (Floats{10, 22, 22, 50}));
  layer.apply_backward(1, {.input = input,
                           .output = {},
                           .output_gradient = output_gradient,
                           .input_gradient = input_gradient});
  EXPECT_EQ(bnns::to_vector<float>(input_gradient, 1), (Floats{34, 48, 58, 84}));
}

TEST(CppGram, Failures) {
  const Tensor input(Shape::image_chw(2, 1, 2)), wrong(Shape::matrix_row_major(3, 3));
  EXPECT_THROW(GramLayer({.input = input, .output = wrong, .alpha = 1}), bnns::Error);
}

}  // namespace
