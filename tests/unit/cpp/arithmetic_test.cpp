// bnns::UnaryArithmeticLayer, BinaryArithmeticLayer and TernaryArithmeticLayer.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "openbnns/openbnns.hpp"
#include "support/cpp_expect.h"

namespace {

using bnns::ArithmeticBinaryFunction;
using bnns::ArithmeticTernaryFunction;
using bnns::ArithmeticUnaryFunction;
using bnns::DescriptorType;
using bnns::Shape;
using bnns::Tensor;
using Floats = std::vector<float>;

TEST(CppArithmetic, Unary) {
  const Shape shape = Shape::vector(2);
  const Tensor input = Tensor::from({1, 4, 9, 16}, shape, 2);
  const Tensor output_gradient = Tensor::from({1, 1, 1, 2}, shape, 2);
  Tensor output(shape, 2), input_gradient(shape, 2);
  bnns::UnaryArithmeticLayer root(
      {.input = input, .output = output, .function = ArithmeticUnaryFunction::square_root});
  root.apply(input, output);
  EXPECT_EQ(bnns::to_vector<float>(output, 2), (Floats{1, 2, 3, 4}));
  // From the input, and from the output alone.
  const Floats right = {0.5f, 0.25f, 0.5f / 3, 0.25f};
  root.apply_backward(
      {.input = input, .output_gradient = output_gradient, .input_gradient = input_gradient});
  EXPECT_EQ(bnns::to_vector<float>(input_gradient, 2), right);
  root.apply_backward(
      2, {.output = output, .output_gradient = output_gradient, .input_gradient = input_gradient});
  EXPECT_EQ(bnns::to_vector<float>(input_gradient, 2), right);
}

TEST(CppArithmetic, BinaryWithAParameter) {
  const Shape image = Shape::image_chw(2, 1, 2), scale = Shape::image_chw(1, 1, 2);
  const Tensor input = Tensor::from({1, 2, 3, 4, 5, 6, 7, 8}, image, 2);
  const Tensor factors = Tensor::from({10, 100}, scale, 1);
  const Tensor output_gradient = Tensor::from({1, 2, 3, 4, 1, 2, 3, 4}, image, 2);
  Tensor output(image, 2), input_gradient(image, 2), factors_gradient(scale);
  bnns::BinaryArithmeticLayer multiply({.input_a = input,
                                        .input_b = factors,
                                        .output = output,
                                        .function = ArithmeticBinaryFunction::multiply,
                                        .input_b_descriptor_type = DescriptorType::parameter});
  multiply.apply(input, factors, output);
  EXPECT_EQ(bnns::to_vector<float>(output, 2), (Floats{10, 20, 300, 400, 50, 60, 700, 800}));
  multiply.apply_backward({.input_a = input,
                           .input_b = factors,
                           .output_gradient = output_gradient,
                           .input_a_gradient = input_gradient,
                           .input_b_gradient = factors_gradient});
  EXPECT_EQ(bnns::to_vector<float>(input_gradient, 2),
            (Floats{10, 20, 300, 400, 10, 20, 300, 400}));
  EXPECT_EQ(bnns::to_vector<float>(factors_gradient, 1),
            (Floats{1 + 4 + 5 + 12, 9 + 16 + 21 + 32}));
}

TEST(CppArithmetic, GradientsThatAreLeftOut) {
  const Tensor output_gradient = Tensor::from({1, 2}, Shape::vector(2), 1);
  Tensor gradient(Shape::vector(2));
  bnns::BinaryArithmeticLayer subtract({.input_a = Shape::vector(2),
                                        .input_b = Shape::vector(2),
                                        .output = Shape::vector(2),
                                        .function = ArithmeticBinaryFunction::subtract});
  subtract.apply_backward({.output_gradient = output_gradient, .input_b_gradient = gradient});
  EXPECT_EQ(bnns::to_vector<float>(gradient, 1), (Floats{-1, -2}));
}

TEST(CppArithmetic, Ternary) {
  const Shape shape = Shape::vector(2);
  const Tensor a = Tensor::from({1, 2}, shape, 1), b = Tensor::from({3, 4}, shape, 1),
               c = Tensor::from({0.5f}, Shape::vector(1), 1),
               output_gradient = Tensor::from({1, 10}, shape, 1);
  Tensor output(shape), da(shape), db(shape), dc(Shape::vector(1));
  bnns::TernaryArithmeticLayer layer({.input_a = a,
                                      .input_b = b,
                                      .input_c = c,
                                      .output = output,
                                      .function = ArithmeticTernaryFunction::multiply_add,
                                      .input_c_descriptor_type = DescriptorType::parameter});
  layer.apply(a, b, c, output);
  EXPECT_EQ(bnns::to_vector<float>(output, 1), (Floats{3.5f, 8.5f}));
  layer.apply_backward({.input_a = a,
                        .input_b = b,
                        .output_gradient = output_gradient,
                        .input_a_gradient = da,
                        .input_b_gradient = db,
                        .input_c_gradient = dc});
  EXPECT_EQ(bnns::to_vector<float>(da, 1), (Floats{3, 40}));
  EXPECT_EQ(bnns::to_vector<float>(db, 1), (Floats{1, 20}));
  EXPECT_EQ(bnns::to_vector<float>(dc, 1), (Floats{11}));
}

TEST(CppArithmetic, Failures) {
  const Tensor two(Shape::vector(2)), three(Shape::vector(3)), pair(Shape::vector(2), 2);
  const auto make = [&](const Tensor& b) {
    return bnns::BinaryArithmeticLayer(
        {.input_a = two, .input_b = b, .output = two, .function = ArithmeticBinaryFunction::add});
  };
  try {
    make(three);
    FAIL() << "must throw";
  } catch (const bnns::Error& error) {
    EXPECT_EQ(error.code(), bnns::Error::Code::unable_to_create_layer);
    EXPECT_NE(std::string(error.what()).find("input_b is Vector {3}"), std::string::npos)
        << error.what();
  }
  bnns::BinaryArithmeticLayer add = make(two);
  EXPECT_THROW(add.apply(two, three, two), bnns::Error);
  EXPECT_THROW(add.apply(two, pair, two), bnns::Error);
  EXPECT_THROW(add.apply(2, two, pair, pair), bnns::Error);
  bnns::BinaryArithmeticLayer moved = std::move(add);
  EXPECT_THROW(add.apply(two, two, two), bnns::Error);
}

}  // namespace
