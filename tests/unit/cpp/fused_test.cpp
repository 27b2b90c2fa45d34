// Fused layers: the worked training steps of the specification with one and with two inputs, the
// two fixed classes, quantization, shared memory, and failures.
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "support/cpp_expect.h"
#include "openbnns/openbnns.hpp"

namespace {

using namespace bnns;

void expect_near(const Tensor& actual, const std::vector<float>& expected, double tolerance) {
  ASSERT_EQ(actual.count(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i)
    EXPECT_NEAR(actual[i], expected[i], tolerance) << i;
}

class CppFused : public testing::Test {
 protected:
  Tensor x = Tensor::from({1, 2, 3, -1, 0, 1}, {2}, 3), y{Shape::vector(2), 3};
  Tensor dy = Tensor::from({0.1f, -0.2f, 0.3f, 0.4f, -0.5f, 0.6f}, {2}, 3), dx{Shape::vector(2), 3};
  Parameter w{Tensor::from({0.5f, -0.25f, 1, 0.75f}, Shape::matrix_row_major(2, 2))};
  Parameter b{Tensor::from({0.1f, -0.2f}, {2})};
  Parameter beta{Tensor::from({0.25f, -0.1f}, {2})}, gamma{Tensor::from({1.5f, 0.5f}, {2})};

  void expect_results() const {
    expect_near(y, {0, 0.331327f, 2.357305f, 0.169580f, 0, 0}, 2e-6);
    expect_near(beta.gradient, {0.3f, 0.2f}, 1e-6);
    expect_near(gamma.gradient, {0.421461f, 0.043133f}, 2e-6);
    expect_near(w.gradient, {-0.022171f, -0.044374f, 0.451390f, -0.601852f}, 2e-6);
    expect_near(b.gradient, {0, 0}, 1e-6);
    expect_near(dx, {-0.198302f, -0.126543f, 0.212869f, 0.156876f, -0.014567f, -0.030333f}, 2e-6);
  }
};

TEST_F(CppFused, FullyConnectedAndBatchNormStep) {
  FusedParametersLayer layer(
      {.inputs = {x},
       .output = y,
       .layers = {
           FusedFullyConnectedParameters{.weights = w, .bias = b},
           FusedNormalizationParameters{.type = normalization::Batch{},
                                        .beta = beta,
                                        .gamma = gamma,
                                        .activation = ActivationFunction::rectified_linear()}}});
  EXPECT_EQ(layer.input_count(), 1u);
  EXPECT_EQ(layer.parameter_gradient_count(), 4u);
  layer.apply(x, y, LearningPhase::training);
  layer.apply_backward({.inputs = {x},
                        .output = y,
                        .output_gradient = dy,
                        .input_gradients = {dx},
                        .parameters = ComputeNormGradients{.weights = w.gradient,
                                                           .bias = b.gradient,
                                                           .beta = beta.gradient,
                                                           .gamma = gamma.gradient}});
  expect_results();
  ParameterList parameters(w, b, beta, gamma);
  AdamOptimizer adam = {.learning_rate = 0.01f};
  adam.step(parameters);
  EXPECT_NEAR(w.value[0], 0.50999986, 1e-6);
  EXPECT_NEAR(beta.value[0], 0.24000001, 1e-6);
  EXPECT_NEAR(gamma.value[1], 0.49000007, 1e-6);
}

TEST_F(CppFused, TheFixedClassGivesTheSame) {
  FusedFullyConnectedNormalizationLayer layer(
      {.input = x,
       .output = y,
       .fully_connected_weights = w,
       .fully_connected_bias = b,
       .normalization = normalization::Batch{},
       .normalization_beta = beta,
       .normalization_gamma = gamma,
       .normalization_activation = ActivationFunction::rectified_linear()});
  layer.apply(3, x, y, LearningPhase::training);
  layer.apply_backward(3, {.input = x,
                           .output = y,
                           .output_gradient = dy,
                           .input_gradient = dx,
                           .weights_gradient = w.gradient,
                           .bias_gradient = b.gradient,
                           .beta_gradient = beta.gradient,
                           .gamma_gradient = gamma.gradient});
  expect_results();
}

TEST(CppFusedTwoInputs, MultiplyAndBatchNormStep) {
  const Tensor a = Tensor::from({1, -2, 0.5f, 4, -1, 1}, {2}, 3);
  const Tensor c = Tensor::from({2, 1, -1, 0.5f, 0.25f, 3}, {2}, 3);
  const Tensor dy = Tensor::from({1, 0.5f, -0.5f, 0.25f, 0.75f, -1}, {2}, 3);
  Parameter beta(Tensor::from({0.1f, 0.2f}, {2})), gamma(Tensor::from({2, 0.5f}, {2}));
  Tensor y(Shape::vector(2), 3), da(Shape::vector(2), 3), dc(Shape::vector(2), 3);
  FusedParametersLayer layer(
      {.inputs = {a, c},
       .output = y,
       .layers = {
           FusedBinaryArithmeticParameters{.function = ArithmeticBinaryFunction::multiply},
           FusedNormalizationParameters{.type = normalization::Batch{},
                                        .beta = beta,
                                        .gamma = gamma,
                                        .epsilon = 1e-3f,
                                        .activation = ActivationFunction::rectified_linear()}}});
  EXPECT_EQ(layer.input_count(), 2u);
  EXPECT_EQ(layer.parameter_gradient_count(), 2u);
  layer.apply(a, c, y, LearningPhase::training);
  expect_near(y, {2.915634f, 0, 0, 0.431430f, 0, 0.662860f}, 2e-6);
  layer.apply_backward(
      {.inputs = {a, c},
       .output = y,
       .output_gradient = dy,
       .input_gradients = {da, dc},
       .parameters = ArithmeticNormGradients{.beta = beta.gradient, .gamma = gamma.gradient}});
  expect_near(beta.gradient, {1, -0.75f}, 2e-6);
  expect_near(gamma.gradient, {1.407817f, -0.810006f}, 4e-6);
  expect_near(da, {0.021401f, -0.028910f, -0.087400f, 0.072319f, -0.024525f, -0.347183f}, 4e-6);
  expect_near(dc, {0.010700f, 0.057820f, 0.043700f, 0.578551f, 0.098100f, -0.115728f}, 4e-6);

  // A gradient that is not wanted is left out, by place or by name.
  Tensor only(Shape::vector(2), 3);
  layer.apply_backward(3, {.inputs = {a, c},
                           .output = y,
                           .output_gradient = dy,
                           .input_gradients = {std::nullopt, only}});
  EXPECT_EQ(to_vector<float>(only, 3), to_vector<float>(dc, 3));
}

TEST(CppFusedThreeInputs, ParametersAreSummedOverTheBatch) {
  const Tensor a = Tensor::from({1, 2, 3, 4}, {2}, 2);
  const Tensor scale = Tensor::from({2, 3}, {2}), shift = Tensor::from({1, 1}, {2});
  Tensor y(Shape::vector(2), 2), da(Shape::vector(2), 2), d_scale(Shape::vector(2)), d_shift{{2}};
  FusedParametersLayer layer(
      {.inputs = {a, scale, shift},
       .output = y,
       .layers = {
           FusedTernaryArithmeticParameters{.function = ArithmeticTernaryFunction::multiply_add,
                                            .input_b_descriptor_type = DescriptorType::parameter,
                                            .input_c_descriptor_type = DescriptorType::parameter},
           FusedNormalizationParameters{.type = normalization::Layer{}}}});
  layer.apply(a, scale, shift, y, LearningPhase::training);
  const Tensor dy = Tensor::from({1, 0, 0, 1}, {2}, 2);
  layer.apply_backward({.inputs = {a, scale, shift},
                        .output = y,
                        .output_gradient = dy,
                        .input_gradients = {da, d_scale, d_shift}});
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_NEAR(d_shift[i], da[i] / scale[i] + da[2 + i] / scale[i], 1e-5);
  }
}

TEST(CppFusedConvolution, LearnsAndInfers) {
  RandomGenerator generator({.seed = 5});
  const Shape image = Shape::image_chw(6, 6, 2), features = Shape::image_chw(6, 6, 4);
  const Tensor x = Tensor::normal(generator, 1, 2, image, 4);
  Parameter w(Tensor::he_normal(generator, Shape::convolution_weights_oihw(3, 3, 2, 4)));
  Parameter beta(Shape::vector(4)), gamma(Tensor::filled(1, {4}));
  Tensor mean(Shape::vector(4)), variance = Tensor::filled(1, {4});
  Tensor y(features, 4), inferred(features, 4);
  FusedConvolutionNormalizationLayer layer(
      {.input = x,
       .output = y,
       .convolution_weights = w,
       .convolution_padding = 1,
       .normalization = normalization::Batch{mean, variance},
       .normalization_beta = beta,
       .normalization_gamma = gamma,
       .normalization_activation = ActivationFunction::rectified_linear()});
  layer.apply(x, y, LearningPhase::training);
  layer.apply(x, inferred, LearningPhase::inference);  // the moving statistics are the batch's now
  for (std::size_t i = 0; i < y.count(); ++i) EXPECT_NEAR(y[i], inferred[i], 1e-5);
}

TEST(CppFusedQuantization, ForwardOnly) {
  const Tensor x = Tensor::from({1, 2}, {2});
  BasicTensor<std::int8_t> y(Shape::vector(2));
  FusedParametersLayer layer(
      {.inputs = {x},
       .output = y,
       .layers = {FusedFullyConnectedParameters{
                      .weights = Tensor::from({1, 0, 1, 1}, Shape::matrix_row_major(2, 2))},
                  FusedQuantizationParameters{.scale = Tensor::from({10}, {1})}}});
  layer.apply(x, y, LearningPhase::inference);
  EXPECT_EQ(y[0], 10);
  EXPECT_EQ(y[1], 30);
  expect_error([&] { layer.apply_backward({.inputs = {x}, .output_gradient = x}); },
               Error::Code::layer_apply_fail, "no gradient");
}

TEST_F(CppFused, Failures) {
  const FusedFullyConnectedParameters first{.weights = w, .bias = b};
  const FusedNormalizationParameters second{.type = normalization::Batch{}};
  constexpr auto creation = Error::Code::unable_to_create_layer;
  expect_error([&] { FusedParametersLayer({.inputs = {x}, .output = y, .layers = {first}}); },
               creation, "1 layers; a fused layer has 2");
  expect_error(
      [&] {
        FusedParametersLayer({.inputs = {x, x}, .output = y, .layers = {first, second}});
      },
      creation, "there are 2 inputs, the first layer takes 1");
  expect_error(
      [&] {
        FusedParametersLayer({.inputs = {}, .output = y, .layers = {first, second}});
      },
      creation, "there are 0 inputs");
  expect_error(
      [&] {
        FusedParametersLayer({.inputs = {x}, .output = y, .layers = {second, second}});
      },
      creation, "the first layer must be");
  FusedParametersLayer layer({.inputs = {x}, .output = y, .layers = {first, second}});
  constexpr auto invalid = Error::Code::invalid_argument;
  Tensor few(Shape::vector(2), 2);
  expect_error([&] { layer.apply(3, x, few, LearningPhase::training); }, invalid,
               "output has 2 samples");
  expect_error([&] { layer.apply(x, x, y, LearningPhase::training); }, invalid,
               "there are 2 inputs, the layer was made for 1");
  expect_error(
      [&] {
        layer.apply_backward({.inputs = {x}, .output_gradient = dy, .input_gradients = {dx}});
      },
      Error::Code::layer_apply_fail, "training");
  expect_error(
      [&] {
        layer.apply_backward({.inputs = {x},
                              .output_gradient = dy,
                              .parameters = ArithmeticNormGradients{.beta = beta.gradient}});
      },
      invalid, "there are 2 parameter gradients, the layer has 4");
}

}  // namespace
