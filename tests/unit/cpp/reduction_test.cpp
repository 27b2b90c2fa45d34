// bnns::ReductionLayer, bnns::apply_reduction and bnns::compare.
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "openbnns/openbnns.hpp"
#include "support/cpp_expect.h"

namespace {

using bnns::ReductionFunction;
using bnns::ReductionLayer;
using bnns::RelationalOperator;
using bnns::Shape;
using bnns::Tensor;
using Floats = std::vector<float>;

const Shape kMatrix = Shape::matrix_row_major(3, 2), kColumns = Shape::matrix_row_major(3, 1);

TEST(CppReduction, ForwardAndBackward) {
  const Tensor input = Tensor::from({1, 2, 3, 4, 5, 6}, kMatrix, 1);
  const Tensor weights = Tensor::from({1, 0, 2, 1, 3, 0}, kMatrix, 1);
  const Tensor output_gradient = Tensor::from({1, 2, 3}, kColumns, 1);
  Tensor output(kColumns), input_gradient(kMatrix), weights_gradient(kMatrix);
  ReductionLayer layer(
      {.function = ReductionFunction::sum(), .input = input, .output = output, .weights = weights});
  layer.apply(1, input, output);
  EXPECT_EQ(bnns::to_vector<float>(output, 1), (Floats{5, 15, 6}));
  layer.apply_backward(1, {.input = input,
                           .output = {},
                           .output_gradient = output_gradient,
                           .input_gradient = input_gradient,
                           .weights_gradient = weights_gradient});
  EXPECT_EQ(bnns::to_vector<float>(input_gradient, 1), (Floats{1, 0, 6, 1, 6, 0}));
  EXPECT_EQ(bnns::to_vector<float>(weights_gradient, 1), (Floats{1, 4, 9, 4, 10, 18}));
}

TEST(CppReduction, DirectCall) {
  const Tensor input = Tensor::from({1, 2, 3, 4, 5, 6}, kMatrix, 1);
  const Tensor one(Shape::matrix_row_major(1, 1));
  bnns::apply_reduction(ReductionFunction::mean(), input, one);
  EXPECT_EQ(bnns::to_vector<float>(one, 1), Floats{3.5f});
  bnns::apply_reduction(ReductionFunction::sum_of_logs(1), input, one);
  EXPECT_NEAR(bnns::to_vector<float>(one, 1)[0], std::log(5040.0f), 1e-5);
  bnns::apply_reduction(ReductionFunction::sum(), input, one, input);
  EXPECT_EQ(bnns::to_vector<float>(one, 1), Floats{91});
}

TEST(CppReduction, Compare) {
  const Tensor a = Tensor::from({1, 2, 3}, kColumns, 1), b = Tensor::from({2, 2, 2}, kColumns, 1);
  std::vector<uint8_t> bytes(3, 9);
  BNNSNDArrayDescriptor native = {};
  native.layout = BNNSDataLayoutRowMajorMatrix;
  native.size[0] = 3;
  native.size[1] = 1;
  native.data = bytes.data();
  native.data_type = BNNSDataTypeBoolean;
  const bnns::Descriptor output(native);
  bnns::compare(a, b, RelationalOperator::less_equal, output);
  EXPECT_EQ(bytes, (std::vector<uint8_t>{1, 1, 0}));
  EXPECT_THROW(bnns::compare(a, b, RelationalOperator::less, a), bnns::Error);
}

TEST(CppReduction, Failures) {
  const Tensor input(kMatrix), wrong(Shape::matrix_row_major(2, 1));
  EXPECT_THROW(
      ReductionLayer({.function = ReductionFunction::max(), .input = input, .output = wrong}),
      bnns::Error);
  EXPECT_THROW(bnns::apply_reduction(ReductionFunction::max(), input, wrong), bnns::Error);
  const Tensor vector(Shape::vector(3));
  expect_error([&] { bnns::apply_reduction(ReductionFunction::max(), input, vector); },
               bnns::Error::Code::invalid_argument, "input has rank 2, output has rank 1");
  expect_error([&] { bnns::apply_reduction(ReductionFunction::max(), vector, wrong); },
               bnns::Error::Code::invalid_argument, "input has rank 1, output has rank 2");
}

}  // namespace
