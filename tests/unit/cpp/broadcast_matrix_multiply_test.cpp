// bnns::BroadcastMatrixMultiplyLayer, BinaryLayer and matrix_multiply.
#include <gtest/gtest.h>

#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "openbnns/openbnns.hpp"
#include "support/cpp_expect.h"

namespace {

using namespace bnns;
using Floats = std::vector<float>;
using Layer = BroadcastMatrixMultiplyLayer;
constexpr auto kInvalid = Error::Code::invalid_argument;
const Shape kMatrix = Shape::matrix_row_major(2, 2);

class CppMatrixMultiply : public testing::Test {
 protected:
  Tensor a = Tensor::from({1, 2, 3, 4}, kMatrix, 1), b = Tensor::from({5, 6, 7, 8}, kMatrix, 1);
  Tensor out{kMatrix}, da{kMatrix}, db{kMatrix};

  static Floats values(const Tensor& t) { return to_vector<float>(t, t.batch_size()); }
};

TEST_F(CppMatrixMultiply, TwoInputs) {
  Layer layer({.input_a = a, .input_b = b, .output = out});
  layer.apply(1, a, b, out);
  EXPECT_EQ(values(out), (Floats{19, 22, 43, 50}));
  layer.apply_backward({.input_a = a,
                        .input_b = b,
                        .output_gradient = a,
                        .input_a_gradient = da,
                        .input_b_gradient = db});
  EXPECT_EQ(values(da), (Floats{17, 23, 39, 53}));
  EXPECT_EQ(values(db), (Floats{10, 14, 14, 20}));
  da = Tensor(kMatrix);
  layer.apply_backward(1, {.input_b = b, .output_gradient = a, .input_a_gradient = da});
  EXPECT_EQ(values(da), (Floats{17, 23, 39, 53}));
}

TEST_F(CppMatrixMultiply, Options) {
  Layer turned({.input_a = a, .input_b = b, .output = out, .transpose_a = true, .alpha = 2});
  turned.apply(a, b, out);
  EXPECT_EQ(values(out), (Floats{52, 60, 76, 88}));
  Layer added({.input_a = a, .input_b = b, .output = out, .accumulates_to_output = true});
  added.apply(a, b, out);
  EXPECT_EQ(values(out), (Floats{71, 82, 119, 138}));
  Layer square({.input_a = a, .output = out, .is_quadratic = true});
  square.apply(a, out);
  EXPECT_EQ(values(out), (Floats{7, 10, 15, 22}));
  square.apply_backward({.input = a, .output_gradient = b, .input_gradient = da});
  // dC A^T + A^T dC
  EXPECT_EQ(values(da), (Floats{17 + 26, 39 + 30, 23 + 38, 53 + 44}));
}

// Weights are shared by the samples and stay alive with the layer.
TEST_F(CppMatrixMultiply, Weights) {
  Tensor x(Shape::matrix_row_major(2, 1), 3), y(Shape::matrix_row_major(2, 1), 3);
  x.copy_from(Floats{1, 2, 3, 4, 5, 6});
  std::optional<Tensor> weights(Tensor::from({5, 6, 7, 8}, kMatrix, 1));
  Layer layer({.input_a = Shape::matrix_row_major(2, 1),
               .input_b = *weights,
               .output = Shape::matrix_row_major(2, 1),
               .b_is_weights = true});
  weights.reset();
  layer.apply(x, y);
  EXPECT_EQ(values(y), (Floats{19, 22, 43, 50, 67, 78}));
  Tensor dw(kMatrix), dx(Shape::matrix_row_major(2, 1), 3);
  layer.apply_backward(
      {.input = x, .output_gradient = x, .input_gradient = dx, .weights_gradient = dw});
  EXPECT_EQ(values(dw), (Floats{35, 44, 44, 56}));
  EXPECT_EQ(values(dx), (Floats{17, 23, 39, 53, 61, 83}));
}

TEST_F(CppMatrixMultiply, Misuse) {
  Layer layer({.input_a = a, .input_b = b, .output = out});
  Tensor wide(Shape::matrix_row_major(3, 2)), many(kMatrix, 4);
  BasicTensor<std::uint16_t> integers(kMatrix);
  expect_error([&] { layer.apply(1, wide, b, out); }, kInvalid, "input_a has the shape {3, 2}");
  expect_error([&] { layer.apply(1, a, integers, out); }, kInvalid, "input_b is UInt16");
  expect_error([&] { layer.apply(many, b, many); }, kInvalid, "input_b has 1 samples");
  expect_error([&] { layer.apply(2, a, b, out); }, kInvalid, "input_a has 1 samples");
  expect_error([&] { layer.apply(a, out); }, kInvalid, "two inputs");
  expect_error([&] { layer.apply_backward({.input = a, .output_gradient = a}); }, kInvalid,
               "two inputs");
  expect_error(
      [&] {
        layer.apply_backward(
            4, {.input_a = many, .input_b = many, .output_gradient = many, .input_b_gradient = db});
      },
      kInvalid, "input_b_gradient has 1 samples");
  expect_error([&] { Layer({.input_a = wide, .input_b = b, .output = out}); },
               Error::Code::unable_to_create_layer, "input_a is RowMajorMatrix {3, 2}");
  expect_error([&] { Layer({.input_a = many, .input_b = b, .output = out, .a_is_weights = true}); },
               kInvalid, "4 samples");
  Layer weights({.input_a = a, .input_b = b, .output = out, .b_is_weights = true});
  expect_error([&] { weights.apply(a, b, out); }, Error::Code::layer_apply_fail, "one input");
  Layer moved = std::move(layer);
  expect_error([&] { layer.apply(1, a, b, out); }, kInvalid, "moved from");
}

TEST_F(CppMatrixMultiply, Function) {
  matrix_multiply(a, b, out);
  EXPECT_EQ(values(out), (Floats{19, 22, 43, 50}));
  matrix_multiply(a, b, out, {.transpose_a = true, .alpha = 2});
  EXPECT_EQ(values(out), (Floats{52, 60, 76, 88}));
  const Tensor large(Shape::matrix_row_major(200, 200));
  Tensor result(Shape::matrix_row_major(200, 200));
  const std::size_t size = matrix_multiply_workspace_size(large, large, result);
  std::vector<std::byte> workspace(size);
  matrix_multiply(large, large, result, {}, workspace);
  expect_error(
      [&] { matrix_multiply(large, large, result, {}, std::span(workspace).first(size - 1)); },
      kInvalid, "workspace has " + std::to_string(size - 1) + " bytes");
  expect_error([&] { matrix_multiply(large, a, result); }, Error::Code::layer_apply_fail,
               "input_b is RowMajorMatrix {2, 2}");
  expect_error([&] { matrix_multiply_workspace_size(large, a, result); },
               Error::Code::layer_apply_fail, "input_a is");
}

}  // namespace
