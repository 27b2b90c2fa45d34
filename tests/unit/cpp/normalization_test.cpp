// bnns::NormalizationLayer: the four types, training, moving statistics and failures.
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "support/cpp_expect.h"
#include "openbnns/openbnns.hpp"

namespace {

using bnns::Error;
using bnns::LearningPhase;
using bnns::NormalizationLayer;
using bnns::Shape;
using bnns::Tensor;

class CppNormalization : public testing::Test {
 protected:
  bnns::NormalizationLayerOptions options(const bnns::NormalizationType& type) {
    return {.type = type,
            .input = input,
            .output = output,
            .beta = beta,
            .gamma = gamma,
            .epsilon = 0,
            .filter_parameters = bnns::FilterParameters{.flags = BNNSFlagsUseClientPtr}};
  }
  std::vector<float> result() const { return bnns::to_vector<float>(output, 2); }

  // Two samples of two channels of two pixels.
  Tensor input = Tensor::from({1, 3, 10, 30, 5, 7, 50, 70}, Shape::image_chw(2, 1, 2), 2);
  Tensor output{Shape::image_chw(2, 1, 2), 2};
  Tensor beta = Tensor::filled(0, {2}), gamma = Tensor::filled(1, {2});
};

TEST_F(CppNormalization, Types) {
  NormalizationLayer instance(options(bnns::normalization::Instance{}));
  instance.apply(2, input, output, LearningPhase::training);
  EXPECT_EQ(result(), (std::vector<float>{-1, 1, -1, 1, -1, 1, -1, 1}));
  NormalizationLayer batch(options(bnns::normalization::Batch{}));
  batch.apply(2, input, output, LearningPhase::training);
  EXPECT_NEAR(output[0], -3 / std::sqrt(5.0), 1e-6);
  EXPECT_NEAR(output[6], 1 / std::sqrt(5.0), 1e-6);
  NormalizationLayer group(options(bnns::normalization::Group{.group_count = 1}));
  group.apply(2, input, output, LearningPhase::inference);
  const double deviation = std::sqrt((100 + 64 + 1 + 361) / 4.0);
  EXPECT_NEAR(output[0], -10 / deviation, 1e-6);
  bnns::NormalizationLayerOptions by_row =
      options(bnns::normalization::Layer{.normalization_axis = 2});
  by_row.beta = by_row.gamma = std::nullopt;
  NormalizationLayer layer(by_row);
  layer.apply(2, input, output, LearningPhase::training);
  EXPECT_EQ(result(), (std::vector<float>{-1, 1, -1, 1, -1, 1, -1, 1}));
}

TEST_F(CppNormalization, MovingStatistics) {
  Tensor mean = Tensor::filled(0, {2}), variance = Tensor::filled(1, {2});
  bnns::NormalizationLayerOptions moving =
      options(bnns::normalization::Batch{.moving_mean = mean, .moving_variance = variance});
  moving.momentum = 0.5f;
  NormalizationLayer layer(moving);
  layer.apply(2, input, output, LearningPhase::training);
  EXPECT_EQ(mean[0], 2);
  EXPECT_EQ(mean[1], 20);
  EXPECT_EQ(variance[0], 3);
  layer.apply(2, input, output, LearningPhase::inference);
  EXPECT_NEAR(output[0], (1 - 2) / std::sqrt(3.0), 1e-6);
  EXPECT_EQ(mean[0], 2);
}

TEST_F(CppNormalization, Backward) {
  bnns::NormalizationLayerOptions relu = options(bnns::normalization::Batch{});
  relu.activation = bnns::ActivationFunction::rectified_linear();
  NormalizationLayer layer(relu);
  layer.apply(2, input, output, LearningPhase::training);
  const Tensor output_gradient = Tensor::filled(1, Shape::image_chw(2, 1, 2), 2);
  Tensor input_gradient(Shape::image_chw(2, 1, 2), 2);
  Tensor beta_gradient(Shape::vector(2)), gamma_gradient(Shape::vector(2));
  layer.apply_backward(2, {.output = output,
                           .output_gradient = output_gradient,
                           .input_gradient = input_gradient,
                           .beta_gradient = beta_gradient,
                           .gamma_gradient = gamma_gradient});
  EXPECT_EQ(beta_gradient[0], 2);
  EXPECT_NEAR(gamma_gradient[0], 4 / std::sqrt(5.0), 1e-6);
  EXPECT_NEAR(input_gradient[0] + input_gradient[1] + input_gradient[4] + input_gradient[5], 0,
              1e-6);
  EXPECT_NE(input_gradient[0], 0);
}

TEST_F(CppNormalization, Failures) {
  expect_error([&] { NormalizationLayer(options(bnns::normalization::Group{.group_count = 3})); },
               Error::Code::unable_to_create_layer, "divisible");
  NormalizationLayer layer(options(bnns::normalization::Batch{}));
  const bnns::NormalizationBackwardArguments backward = {
      .output = output, .output_gradient = output, .input_gradient = input};
  expect_error([&] { layer.apply_backward(2, backward); }, Error::Code::layer_apply_fail,
               "training");
  bnns::Descriptor nothing = input;
  nothing.data = nullptr;
  expect_error([&] { layer.apply(2, nothing, output, LearningPhase::training); },
               Error::Code::array_descriptor_invalid_data, "input");
  expect_error([&] { layer.apply(0, input, output, LearningPhase::training); },
               Error::Code::invalid_argument, "batch_size");
  const NormalizationLayer moved = std::move(layer);
  expect_error([&] { layer.apply(2, input, output, LearningPhase::training); },
               Error::Code::invalid_argument, "moved");
}

}  // namespace
