// bnns::PoolingLayer: the functions, indices in both forms, gradients, padding and failures.
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "support/cpp_expect.h"
#include "openbnns/openbnns.hpp"

namespace {

using bnns::ConvolutionPadding;
using bnns::Error;
using bnns::PoolingLayer;
using bnns::Shape;
using bnns::Tensor;
namespace pooling = bnns::pooling;
using Floats = std::vector<float>;

class CppPooling : public testing::Test {
 protected:
  CppPooling() {
    for (std::size_t i = 0; i < 32; ++i)
      input[i] = i < 16 ? static_cast<float>(i + 1) : 15 - static_cast<float>(i);
    for (std::size_t i = 0; i < 8; ++i) output_gradient[i] = static_cast<float>(i + 1);
  }

  PoolingLayer make(const bnns::PoolingType& type) {
    return PoolingLayer(
        {.type = type, .input = input, .output = output, .kernel_size = {2, 2}, .stride = {2, 2}});
  }

  Tensor input{Shape::image_chw(4, 4, 1), 2}, input_gradient{Shape::image_chw(4, 4, 1), 2};
  Tensor output{Shape::image_chw(2, 2, 1), 2}, output_gradient{Shape::image_chw(2, 2, 1), 2};
  // The last cell of each window is the largest in the first sample, the first in the second.
  const std::vector<std::size_t> cells = {5, 7, 13, 15, 0, 2, 8, 10};
};

TEST_F(CppPooling, MaxWithNumbersAsIndices) {
  std::vector<std::size_t> indices(8);
  PoolingLayer layer = make(pooling::Max{.indices = {.numbers = indices}});
  layer.apply(2, input, output);
  EXPECT_EQ(bnns::to_vector<float>(output, 2), (Floats{6, 8, 14, 16, -1, -3, -9, -11}));
  EXPECT_EQ(indices, cells);
  layer.apply_backward(2, {.input = {},
                           .output = {},
                           .output_gradient = output_gradient,
                           .input_gradient = input_gradient});
  for (std::size_t i = 0; i < 8; ++i)
    EXPECT_EQ(input_gradient[i / 4 * 16 + cells[i]], static_cast<float>(i + 1));
}

TEST_F(CppPooling, MaxWithADescriptorOfIndices) {
  std::vector<std::uint32_t> small(8);
  const bnns::Descriptor indices =
      bnns::make_descriptor(std::span(small), Shape::image_chw(2, 2, 1), 2);
  PoolingLayer layer = make(pooling::Max{.indices = {.descriptor = indices}});
  layer.apply(2, input, output);
  EXPECT_EQ(std::vector<std::size_t>(small.begin(), small.end()), cells);

  PoolingLayer back({.type = pooling::UnMax{.indices = {.descriptor = indices}},
                     .input = output,
                     .output = input,
                     .kernel_size = {2, 2},
                     .stride = {2, 2}});
  back.apply(2, output, input_gradient);
  EXPECT_EQ(input_gradient[5], 6);
  EXPECT_EQ(input_gradient[6], 0);
  EXPECT_EQ(input_gradient[16], -1);
}

TEST_F(CppPooling, MaxFindsItsCellsAgain) {
  PoolingLayer layer = make(pooling::Max{});
  layer.apply_backward(2, {.input = input,
                           .output = {},
                           .output_gradient = output_gradient,
                           .input_gradient = input_gradient});
  for (std::size_t i = 0; i < 8; ++i)
    EXPECT_EQ(input_gradient[i / 4 * 16 + cells[i]], static_cast<float>(i + 1));
}

TEST_F(CppPooling, AverageBiasAndActivation) {
  Tensor bias = Tensor::from({-5}, {1}), bias_gradient{Shape::vector(1)};
  PoolingLayer layer({.type = pooling::Average{.count_includes_padding = true},
                      .input = input,
                      .output = output,
                      .bias = bias,
                      .activation = bnns::ActivationFunction::rectified_linear(),
                      .kernel_size = {2, 2},
                      .stride = {2, 2}});
  layer.apply(2, input, output);
  EXPECT_EQ(bnns::to_vector<float>(output, 2), (Floats{0, 0.5f, 6.5f, 8.5f, 0, 0, 0, 0}));
  layer.apply_backward(2, {.input = input,
                           .output = output,
                           .output_gradient = output_gradient,
                           .input_gradient = input_gradient,
                           .bias_gradient = bias_gradient});
  EXPECT_EQ(bias_gradient[0], 2 + 3 + 4);
  EXPECT_EQ(input_gradient[2], 0.5f);
  EXPECT_EQ(input_gradient[0], 0);
}

TEST_F(CppPooling, PaddingOnOneSide) {
  Tensor small = Tensor::from({3, 4}, {2}), wide{Shape::image_chw(3, 1, 1)};
  const auto pooled = [&](const bnns::PoolingType& type, const ConvolutionPadding& padding) {
    PoolingLayer layer(
        {.type = type,
         .input = bnns::make_descriptor(BNNSDataTypeFloat32, Shape::image_chw(2, 1, 1)),
         .output = wide,
         .kernel_size = {2, 1},
         .stride = 1,
         .padding = padding});
    layer.apply(1, small, wide);
    return bnns::to_vector<float>(wide);
  };
  const pooling::Average inside{.count_includes_padding = false},
      all{.count_includes_padding = true};
  EXPECT_EQ(pooled(inside, ConvolutionPadding::asymmetric(1, 0, 0, 0)), (Floats{3, 3.5f, 4}));
  EXPECT_EQ(pooled(all, ConvolutionPadding::symmetric(1, 0)), (Floats{1.5f, 3.5f, 2}));
  EXPECT_EQ(pooled(pooling::L2Norm{}, ConvolutionPadding::symmetric(1, 0)), (Floats{3, 5, 4}));
  expect_error([&] { pooled(all, ConvolutionPadding::zero()); },
               Error::Code::unable_to_create_layer, "3 windows");
}

TEST_F(CppPooling, Failures) {
  PoolingLayer un_max({.type = pooling::UnMax{.indices = {}},
                       .input = output,
                       .output = input,
                       .kernel_size = {2, 2},
                       .stride = {2, 2}});
  expect_error([&] { un_max.apply(1, output, input); }, Error::Code::layer_apply_fail,
               "indices is NULL");
  PoolingLayer layer = make(pooling::L2Norm{});
  expect_error([&] { layer.apply(0, input, output); }, Error::Code::invalid_argument,
               "batch_size is 0");
  const PoolingLayer moved = std::move(layer);
  expect_error([&] { layer.apply(1, input, output); }, Error::Code::invalid_argument, "moved");
  EXPECT_NE(moved.native_handle(), nullptr);
}

}  // namespace
