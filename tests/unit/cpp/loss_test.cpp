// bnns::LossLayer: values, gradients, weights and failures.
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "support/cpp_expect.h"
#include "openbnns/openbnns.hpp"

namespace {

using bnns::Error;
using bnns::LossLayer;
using bnns::LossReduction;
using bnns::Shape;
using bnns::Tensor;

class CppLoss : public testing::Test {
 protected:
  LossLayer make(const bnns::LossFunction& function, LossReduction reduction) {
    return LossLayer(
        {.input = input, .output = output, .loss_function = function, .loss_reduction = reduction});
  }

  Tensor input = Tensor::from({1, 2, -1, 3}, {2}, 2), labels = Tensor::from({0, 1, 1, 0}, {2}, 2);
  Tensor output{Shape::vector(1)}, gradient{Shape::vector(2), 2};
};

TEST_F(CppLoss, MeanSquareError) {
  LossLayer layer = make(bnns::loss::MeanSquareError{}, LossReduction::mean);
  EXPECT_EQ(layer.loss_function(), BNNSLossFunctionMeanSquareError);
  layer.apply(2, {.input = input, .labels = labels, .output = output, .input_gradient = gradient});
  EXPECT_FLOAT_EQ(output[0], (1 + 1 + 4 + 9) / 4.0f);
  EXPECT_EQ(bnns::to_vector<float>(gradient, 2), (std::vector<float>{0.5f, 0.5f, -1, 1.5f}));
}

TEST_F(CppLoss, SoftmaxCrossEntropy) {
  LossLayer layer = make(bnns::loss::SoftmaxCrossEntropy{}, LossReduction::sum);
  layer.apply(2, {.input = input, .labels = labels, .output = output, .input_gradient = gradient});
  EXPECT_NEAR(output[0], std::log1p(std::exp(-1.0)) + std::log1p(std::exp(4.0)), 1e-5);
  EXPECT_NEAR(gradient[0], 1 / (1 + std::exp(1.0)), 1e-6);
  EXPECT_NEAR(gradient[0] + gradient[1], 0, 1e-6);
}

TEST_F(CppLoss, ParametersReachTheFunction) {
  LossLayer huber = make(bnns::loss::Huber{.huber_delta = 2}, LossReduction::sum);
  huber.apply(2, {.input = input, .labels = labels, .output = output});
  EXPECT_FLOAT_EQ(output[0], 0.5f + 0.5f + 2 + 2 * (3 - 1));
  LossLayer smooth =
      make(bnns::loss::SoftmaxCrossEntropy{.label_smoothing = 1}, LossReduction::sum);
  smooth.apply(1, {.input = input, .labels = labels, .output = output});
  EXPECT_NEAR(output[0], std::log1p(std::exp(-1.0)) + 0.5, 1e-5);
}

TEST_F(CppLoss, BackwardWithOnesIsTheForwardGradient) {
  const std::vector<bnns::LossFunction> functions = {bnns::loss::SoftmaxCrossEntropy{},
                                                     bnns::loss::SigmoidCrossEntropy{},
                                                     bnns::loss::MeanSquareError{},
                                                     bnns::loss::Huber{.huber_delta = 1},
                                                     bnns::loss::Log{},
                                                     bnns::loss::CosineDistance{},
                                                     bnns::loss::Hinge{},
                                                     bnns::loss::MeanAbsoluteError{},
                                                     bnns::loss::CategoricalCrossEntropy{}};
  for (const bnns::LossFunction& function : functions) {
    LossLayer layer = make(function, LossReduction::mean);
    const Tensor weights = Tensor::filled(2, {1}), one = Tensor::filled(1, {1});
    Tensor backward(Shape::vector(2), 2);
    layer.apply(2, {.input = input,
                    .labels = labels,
                    .output = output,
                    .weights = weights,
                    .broadcasts_weights = true,
                    .input_gradient = gradient});
    layer.apply_backward(2, {.input = input,
                             .labels = labels,
                             .weights = weights,
                             .broadcasts_weights = true,
                             .output_gradient = one,
                             .input_gradient = backward});
    for (std::size_t i = 0; i < gradient.count(); ++i) {
      EXPECT_EQ(backward[i], gradient[i]) << function.index();
    }
    EXPECT_NE(gradient[2], 0) << function.index();
  }
}

TEST_F(CppLoss, WeightsPerSampleAndPerElement) {
  const Tensor per_sample = Tensor::from({0, 1}, {1}, 2);
  LossLayer softmax = make(bnns::loss::SoftmaxCrossEntropy{}, LossReduction::sum);
  softmax.apply(2, {.input = input, .labels = labels, .output = output, .weights = per_sample});
  EXPECT_NEAR(output[0], std::log1p(std::exp(4.0)), 1e-5);
  const Tensor per_element = Tensor::from({0, 0, 1, 0}, {2}, 2);
  LossLayer square = make(bnns::loss::MeanSquareError{}, LossReduction::non_zero_weight_mean);
  square.apply(2, {.input = input, .labels = labels, .output = output, .weights = per_element});
  EXPECT_FLOAT_EQ(output[0], 4);
}

// Without a reduction each sample has an upstream gradient, as a batch or as one tensor.
TEST_F(CppLoss, UpstreamGradientPerSample) {
  LossLayer layer = make(bnns::loss::SoftmaxCrossEntropy{}, LossReduction::none);
  Tensor losses(Shape::vector(1), 2), backward(Shape::vector(2), 2);
  layer.apply(2, {.input = input, .labels = labels, .output = losses, .input_gradient = gradient});
  const Tensor batch = Tensor::from({3, 5}, {1}, 2), tensor = Tensor::from({3, 5}, {2});
  for (const Tensor* upstream : {&batch, &tensor}) {
    layer.apply_backward(2, {.input = input,
                             .labels = labels,
                             .output_gradient = *upstream,
                             .input_gradient = backward});
    EXPECT_FLOAT_EQ(backward[0], 3 * gradient[0]);
    EXPECT_FLOAT_EQ(backward[3], 5 * gradient[3]);
  }
}

TEST_F(CppLoss, Yolo) {
  float anchors[] = {1, 1};
  const Shape box = Shape::vector(6);
  const bnns::loss::Yolo yolo = {.huber_delta = 1,
                                 .grid_column_count = 1,
                                 .grid_rows_count = 1,
                                 .anchor_box_count = 1,
                                 .anchor_box_size = 6,
                                 .rescore = false,
                                 .xy_scale = 2,
                                 .wh_scale = 0,
                                 .object_scale = 0,
                                 .no_object_scale = 0,
                                 .classification_scale = 0,
                                 .object_minimum_iou = 0.5f,
                                 .no_object_maximum_iou = 0.5f,
                                 .anchors_data = anchors};
  const Tensor prediction(box), truth = Tensor::from({1, 0.5f, 1, 1, 1, 1}, box);
  LossLayer layer({.input = prediction,
                   .output = output,
                   .loss_function = yolo,
                   .loss_reduction = LossReduction::sum});
  layer.apply(1, {.input = prediction, .labels = truth, .output = output});
  EXPECT_FLOAT_EQ(output[0], 2 * 0.25f);
  expect_error(
      [&] {
        layer.apply(1, {.input = prediction, .labels = truth, .output = output, .weights = truth});
      },
      Error::Code::layer_apply_fail, "YOLO");
}

TEST_F(CppLoss, Failures) {
  expect_error([&] { (void)make(bnns::loss::Huber{.huber_delta = 0}, LossReduction::sum); },
               Error::Code::unable_to_create_layer, "huber_delta");
  LossLayer layer = make(bnns::loss::Hinge{}, LossReduction::sum);
  const bnns::Descriptor empty = bnns::make_descriptor(BNNSDataTypeFloat32, {2});
  const auto invalid = Error::Code::array_descriptor_invalid_data;
  expect_error([&] { layer.apply(2, {.input = empty, .labels = labels, .output = output}); },
               invalid, "input.data");
  expect_error([&] { layer.apply(2, {.input = input, .labels = empty, .output = output}); },
               invalid, "labels.data");
  expect_error([&] { layer.apply(2, {.input = input, .labels = labels, .output = empty}); },
               invalid, "output.data");
  expect_error(
      [&] {
        layer.apply(2, {.input = input, .labels = labels, .output = output, .weights = empty});
      },
      invalid, "weights.data");
  expect_error(
      [&] {
        layer.apply_backward(2, {.input = input,
                                 .labels = labels,
                                 .output_gradient = empty,
                                 .input_gradient = gradient});
      },
      invalid, "output_gradient.data");
  LossLayer moved = std::move(layer);
  expect_error([&] { layer.apply(2, {.input = input, .labels = labels, .output = output}); },
               Error::Code::invalid_argument, "moved from");
}

}  // namespace
