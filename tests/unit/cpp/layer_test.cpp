// Layers with one input: creation, application, gradients, moves and failures.
#include <gtest/gtest.h>

#include <cmath>
#include <type_traits>
#include <utility>
#include <vector>

#include "support/cpp_expect.h"
#include "openbnns/openbnns.hpp"

namespace {

using bnns::ActivationFunction;
using bnns::ActivationLayer;
using bnns::Error;
using bnns::FullyConnectedLayer;
using bnns::Shape;
using bnns::Tensor;

constexpr bnns::FilterParameters kTraining = {.flags = BNNSFlagsUseClientPtr, .thread_count = 1};

ActivationLayer make_activation(const ActivationFunction& function, const Shape& shape) {
  const bnns::Descriptor descriptor = bnns::make_descriptor(BNNSDataTypeFloat32, shape);
  return ActivationLayer({.function = function, .input = descriptor, .output = descriptor});
}

TEST(CppActivation, AppliesABatch) {
  ActivationLayer layer = make_activation(ActivationFunction::leaky_rectified_linear(0.5f), {2});
  const Tensor input = Tensor::from({-2, 4, 6, -8}, Shape::vector(2), 2);
  Tensor output(Shape::vector(2), 2);
  layer.apply(2, input, output);
  EXPECT_EQ(bnns::to_vector<float>(output, 2), (std::vector<float>{-1, 4, 6, -4}));
}

TEST(CppActivation, StridedSamplesAreFound) {
  const Shape gaps = Shape::vector(2, 3);
  ActivationLayer layer({.function = ActivationFunction::abs(),
                         .input = bnns::make_descriptor(BNNSDataTypeFloat32, gaps),
                         .output = bnns::make_descriptor(BNNSDataTypeFloat32, {2})});
  const Tensor input = Tensor::from({-1, 9, 9, -2, 9, 9, -3, 9, 9, -4, 9, 9}, gaps, 2);
  Tensor output(Shape::vector(2), 2);
  layer.apply(2, input, output);
  EXPECT_EQ(bnns::to_vector<float>(output, 2), (std::vector<float>{1, 2, 3, 4}));
}

TEST(CppActivation, GradientOfTanh) {
  ActivationLayer layer = make_activation(ActivationFunction::tanh(), {2});
  const Tensor input = Tensor::from({0, 1}, {2}), ones = Tensor::filled(1, {2});
  Tensor output(Shape::vector(2)), gradient(Shape::vector(2));
  layer.apply(1, input, output);
  layer.apply_backward(
      1, {.input = input, .output = output, .output_gradient = ones, .input_gradient = gradient});
  EXPECT_FLOAT_EQ(gradient[0], 1);
  EXPECT_NEAR(gradient[1], 1 - std::pow(std::tanh(1.0), 2), 1e-6);
}

TEST(CppActivation, SoftmaxOverAnAxis) {
  const Shape shape = Shape::matrix_last_major(2, 3);
  const bnns::Descriptor descriptor = bnns::make_descriptor(BNNSDataTypeFloat32, shape);
  ActivationLayer layer({.function = ActivationFunction::softmax(),
                         .axes = {1},
                         .input = descriptor,
                         .output = descriptor});
  const Tensor input(shape);
  Tensor output(shape), direct(shape);
  layer.apply(1, input, output);
  for (const float value : output.values()) EXPECT_FLOAT_EQ(value, 1.0f / 3);
  bnns::apply_activation(
      1,
      {.function = ActivationFunction::softmax(), .axes = {0}, .input = input, .output = direct});
  for (const float value : direct.values()) EXPECT_FLOAT_EQ(value, 1.0f / 2);
}

TEST(CppActivation, EveryNamedFunctionIsAccepted) {
  const std::vector<ActivationFunction> functions = {
      ActivationFunction::identity(),
      ActivationFunction::rectified_linear(),
      ActivationFunction::leaky_rectified_linear(0.1f),
      ActivationFunction::sigmoid(),
      ActivationFunction::tanh(),
      ActivationFunction::scaled_tanh(1, 2),
      ActivationFunction::abs(),
      ActivationFunction::linear(2),
      ActivationFunction::clamp(-1, 1),
      ActivationFunction::softmax(),
      ActivationFunction::gelu_approximation(0.8f, 0.04f),
      ActivationFunction::gumbel(1, 1),
      ActivationFunction::gumbel_max(1, 1),
      ActivationFunction::hard_sigmoid(0.2f, 0.5f),
      ActivationFunction::softplus(1, 1),
      ActivationFunction::softsign(),
      ActivationFunction::elu(1),
      ActivationFunction::clamped_leaky_rectified_linear(0.1f, 6),
      ActivationFunction::linear_with_bias(1, 2),
      ActivationFunction::log_softmax(),
      ActivationFunction::log_sigmoid(),
      ActivationFunction::selu(),
      ActivationFunction::celu(1),
      ActivationFunction::hard_shrink(0.5f),
      ActivationFunction::soft_shrink(0.5f),
      ActivationFunction::tanh_shrink(),
      ActivationFunction::threshold(0, 1),
      ActivationFunction::gelu_approximation2(1.0f / 6, 0.5f),
      ActivationFunction::hard_swish(1.0f / 6, 0.5f),
      ActivationFunction::silu()};
  for (const ActivationFunction& function : functions) {
    EXPECT_NO_THROW((void)make_activation(function, {4})) << function.native().function;
  }
}

TEST(CppLayer, FailuresCarryTheReason) {
  const float nan = std::nanf("");
  expect_error([&] { (void)make_activation(ActivationFunction::linear(nan), {2}); },
               Error::Code::unable_to_create_layer, "alpha");
  ActivationLayer layer = make_activation(ActivationFunction::tanh(), {2});
  const bnns::Descriptor empty = bnns::make_descriptor(BNNSDataTypeFloat32, {2});
  Tensor tensor(Shape::vector(2));
  expect_error([&] { layer.apply(1, empty, tensor); }, Error::Code::array_descriptor_invalid_data,
               "input.data");
  expect_error([&] { layer.apply(1, tensor, empty); }, Error::Code::array_descriptor_invalid_data,
               "output.data");
  expect_error([&] { layer.apply(0, tensor, tensor); }, Error::Code::invalid_argument,
               "batch_size");
  bnns::Descriptor misaligned = tensor;
  misaligned.data = static_cast<char*>(misaligned.data) + 1;
  expect_error([&] { layer.apply(1, misaligned, tensor); }, Error::Code::layer_apply_fail,
               "input is ");
}

TEST(CppLayer, MovesAndRelease) {
  static_assert(!std::is_copy_constructible_v<ActivationLayer>);
  static_assert(std::is_nothrow_move_constructible_v<FullyConnectedLayer>);
  ActivationLayer source = make_activation(ActivationFunction::abs(), {1});
  BNNSFilter filter = source.native_handle();
  ActivationLayer target = std::move(source);
  EXPECT_EQ(target.native_handle(), filter);
  EXPECT_EQ(source.native_handle(), nullptr);
  Tensor tensor = Tensor::filled(-1, {1});
  expect_error([&] { source.apply(1, tensor, tensor); }, Error::Code::invalid_argument,
               "moved from");
  target = make_activation(ActivationFunction::linear(3), {1});
  target.reserve(1);
  target.apply(1, tensor, tensor);
  EXPECT_EQ(tensor[0], -3);
  BNNSFilter released = target.release();
  EXPECT_EQ(target.native_handle(), nullptr);
  EXPECT_EQ(BNNSFilterApply(released, tensor.data(), tensor.data()), 0);
  BNNSFilterDestroy(released);
}

// The fully connected half of the specification's worked training step; its figures have six
// decimals, so that a gradient from them is off by a few units of the last.
class CppFullyConnected : public testing::Test {
 protected:
  Tensor x = Tensor::from({1, 2, 3, -1, 0, 1}, {2}, 3), z{Shape::vector(2), 3};
  Tensor w = Tensor::from({0.5f, -0.25f, 1, 0.75f}, Shape::matrix_row_major(2, 2));
  Tensor b = Tensor::from({0.1f, -0.2f}, {2});
  FullyConnectedLayer layer{{.input = x,
                             .output = z,
                             .weights = w,
                             .bias = b,
                             .activation = ActivationFunction::identity(),
                             .filter_parameters = kTraining}};
};

void expect_near(const Tensor& actual, const std::vector<float>& expected, double tolerance) {
  ASSERT_EQ(actual.count(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_NEAR(actual[i], expected[i], tolerance) << i;
  }
}

TEST_F(CppFullyConnected, Forward) {
  layer.apply(3, x, z);
  expect_near(z, {0.1f, 2.3f, 1.85f, 2.05f, -0.15f, 0.55f}, 1e-6);
  w[0] = 1.5f;  // the layer reads the caller's weights
  layer.apply(3, x, z);
  EXPECT_NEAR(z[0], 1.1f, 1e-6);
}

TEST_F(CppFullyConnected, Backward) {
  const Tensor dz =
      Tensor::from({-0.035493f, -0.180556f, 0.004441f, 0.210648f, 0.031052f, -0.030093f}, {2}, 3);
  Tensor dx(Shape::vector(2), 3), dw(w.shape()), db(b.shape());
  layer.apply(3, x, z);
  layer.apply_backward(3, {.input = x,
                           .output = z,
                           .output_gradient = dz,
                           .input_gradient = dx,
                           .weights_gradient = dw,
                           .bias_gradient = db});
  expect_near(dw, {-0.022171f, -0.044374f, 0.451390f, -0.601852f}, 4e-6);
  expect_near(db, {0, 0}, 4e-6);
  expect_near(dx, {-0.198302f, -0.126543f, 0.212869f, 0.156876f, -0.014567f, -0.030333f}, 4e-6);
}

TEST_F(CppFullyConnected, GradientsMayBeLeftOut) {
  const Tensor dz = Tensor::filled(1, {2}, 3);
  Tensor db(b.shape());
  layer.apply(3, x, z);
  layer.apply_backward(3, {.input = x,
                           .output = z,
                           .output_gradient = dz,
                           .input_gradient = std::nullopt,
                           .bias_gradient = db});
  EXPECT_EQ(bnns::to_vector<float>(db), (std::vector<float>{3, 3}));
}

TEST_F(CppFullyConnected, WithoutBiasAndWithACopyOfTheWeights) {
  FullyConnectedLayer copy({.input = x,
                            .output = z,
                            .weights = w,
                            .activation = ActivationFunction::rectified_linear(),
                            .filter_parameters = {.flags = 0}});
  w[0] = 100;
  copy.apply(3, x, z);
  expect_near(z, {0, 2.5f, 1.75f, 2.25f, 0, 0.75f}, 1e-6);
}

TEST_F(CppFullyConnected, WrongSizesAreRefused) {
  const auto wrong = [&] {
    FullyConnectedLayer bad({.input = bnns::make_descriptor(BNNSDataTypeFloat32, {3}),
                             .output = z,
                             .weights = w,
                             .bias = b,
                             .activation = ActivationFunction::identity()});
  };
  expect_error(wrong, Error::Code::unable_to_create_layer, "FullyConnected");
}

}  // namespace
