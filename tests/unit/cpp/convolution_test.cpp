// The convolution layer, standard and transposed, and what it shares with fully connected layers.
#include <gtest/gtest.h>

#include <type_traits>
#include <vector>

#include "support/cpp_expect.h"
#include "openbnns/openbnns.hpp"

namespace {

using bnns::ActivationFunction;
using bnns::ConvolutionLayer;
using bnns::ConvolutionPadding;
using bnns::ConvolutionType;
using bnns::Error;
using bnns::Shape;
using bnns::Tensor;

static_assert(std::is_base_of_v<ConvolutionLayer, bnns::FullyConnectedLayer>);
static_assert(std::is_same_v<ConvolutionLayer, bnns::TransposedConvolutionLayer>);
static_assert(std::is_move_constructible_v<ConvolutionLayer>);
static_assert(!std::is_copy_constructible_v<ConvolutionLayer>);

TEST(CppConvolution, SumsOfWindows) {
  const Tensor x = Tensor::from({1, 2, 3, 4, 5, 6, 7, 8, 9}, Shape::image_chw(3, 3, 1));
  const Tensor w = Tensor::filled(1, Shape::convolution_weights_oihw(2, 2, 1, 1));
  Tensor y(Shape::image_chw(2, 2, 1));
  ConvolutionLayer layer({.type = ConvolutionType::standard,
                          .input = x,
                          .output = y,
                          .weights = w,
                          .bias = std::nullopt,
                          .activation = ActivationFunction::identity()});
  layer.apply(1, x, y);
  EXPECT_EQ(bnns::to_vector<float>(y, 1), (std::vector<float>{12, 16, 24, 28}));
}

TEST(CppConvolution, Transposed) {
  const Tensor x = Tensor::filled(1, Shape::image_chw(2, 2, 1));
  const Tensor w = Tensor::filled(1, Shape::convolution_weights_oihw(3, 3, 1, 1));
  Tensor y(Shape::image_chw(4, 4, 1));
  ConvolutionLayer layer({.type = ConvolutionType::transposed,
                          .input = x,
                          .output = y,
                          .weights = w,
                          .bias = std::nullopt,
                          .activation = ActivationFunction::identity(),
                          .stride = {1, 1},
                          .dilation_stride = {1, 1},
                          .padding = ConvolutionPadding::zero(),
                          .group_count = 1});
  layer.apply(1, x, y);
  EXPECT_EQ(bnns::to_vector<float>(y, 1),
            (std::vector<float>{1, 2, 2, 1, 2, 4, 4, 2, 2, 4, 4, 2, 1, 2, 2, 1}));
}

// One row of pixels, kernel 2, one zero on the left: y = (w1 x0, w0 x0 + w1 x1, w0 x1 + w1 x2).
TEST(CppConvolution, Gradients) {
  const Tensor x = Tensor::from({1, 2, 3}, Shape::image_chw(3, 1, 1));
  const Tensor w = Tensor::from({10, 1}, Shape::convolution_weights_oihw(2, 1, 1, 1));
  const Tensor b = Tensor::from({-2}, Shape::vector(1));
  Tensor y(Shape::image_chw(3, 1, 1)), dx(Shape::image_chw(3, 1, 1));
  Tensor dw(Shape::convolution_weights_oihw(2, 1, 1, 1)), db(Shape::vector(1));
  ConvolutionLayer layer({.type = ConvolutionType::standard,
                          .input = x,
                          .output = y,
                          .weights = w,
                          .bias = b,
                          .activation = ActivationFunction::rectified_linear(),
                          .padding = ConvolutionPadding::asymmetric(1, 0, 0, 0)});
  layer.apply(1, x, y);
  EXPECT_EQ(bnns::to_vector<float>(y, 1), (std::vector<float>{0, 10, 21}));
  const Tensor dy = Tensor::from({5, 1, 2}, Shape::image_chw(3, 1, 1));
  layer.apply_backward(1, {.input = x,
                           .output = y,
                           .output_gradient = dy,
                           .input_gradient = dx,
                           .weights_gradient = dw,
                           .bias_gradient = db});
  EXPECT_EQ(bnns::to_vector<float>(dx, 1), (std::vector<float>{10, 21, 2}));
  EXPECT_EQ(bnns::to_vector<float>(dw, 1), (std::vector<float>{5, 8}));
  EXPECT_EQ(db[0], 3);
}

TEST(CppConvolution, Failures) {
  const Tensor x(Shape::image_chw(3, 3, 2)), w(Shape::convolution_weights_oihw(2, 2, 1, 2));
  Tensor y(Shape::image_chw(2, 2, 2));
  const bnns::ConvolutionLayerOptions options = {.type = ConvolutionType::standard,
                                                 .input = x,
                                                 .output = y,
                                                 .weights = w,
                                                 .bias = std::nullopt,
                                                 .activation = ActivationFunction::identity()};
  expect_error([&] { ConvolutionLayer layer(options); }, Error::Code::unable_to_create_layer,
               "weights has 1 input channels");
  bnns::ConvolutionLayerOptions grouped = options;
  grouped.group_count = 2;
  ConvolutionLayer layer(grouped);
  expect_error([&] { layer.apply(0, x, y); }, Error::Code::invalid_argument, "batch_size is 0");
  expect_error(
      [&] {
        layer.apply_backward(1,
                             {.input = x, .output = y, .output_gradient = y, .input_gradient = y});
      },
      Error::Code::layer_apply_fail, "input_gradient");
}

}  // namespace
