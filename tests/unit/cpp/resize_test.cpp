// bnns::ResizeLayer and bnns::CropResizeLayer.
#include <gtest/gtest.h>

#include <vector>

#include "openbnns/openbnns.hpp"
#include "support/cpp_expect.h"

namespace {

using bnns::CropResizeLayer;
using bnns::ResizeLayer;
using bnns::Shape;
using bnns::Tensor;
using Floats = std::vector<float>;

TEST(CppResize, Nearest) {
  const Tensor input = Tensor::from({1, 2, 3, 4}, Shape::image_chw(2, 2, 1), 1);
  Tensor output(Shape::image_chw(4, 4, 1)), input_gradient(Shape::image_chw(2, 2, 1));
  ResizeLayer layer({.interpolation_method = bnns::InterpolationMethod::nearest_neighbor,
                     .input = input,
                     .output = output});
  layer.apply(1, input, output);
  EXPECT_EQ(bnns::to_vector<float>(output, 1),
            (Floats{1, 1, 2, 2, 1, 1, 2, 2, 3, 3, 4, 4, 3, 3, 4, 4}));
  layer.apply_backward({.output_gradient = output, .input_gradient = input_gradient});
  EXPECT_EQ(bnns::to_vector<float>(input_gradient, 1), (Floats{4, 8, 12, 16}));
}

TEST(CppResize, Linear) {
  const Tensor input = Tensor::from({0, 4, 8, 12}, Shape{2, 2}, 1);
  Tensor between(Shape{2, 4}), corners(Shape{2, 3});
  ResizeLayer({.interpolation_method = bnns::InterpolationMethod::linear,
               .input = Shape{2, 2},
               .output = Shape{2, 4}})
      .apply(input, between);
  EXPECT_EQ(bnns::to_vector<float>(between, 1), (Floats{0, 1, 3, 4, 8, 9, 11, 12}));
  ResizeLayer({.interpolation_method = bnns::InterpolationMethod::linear,
               .input = Shape{2, 2},
               .output = Shape{2, 3},
               .aligns_corners = true})
      .apply(input, corners);
  EXPECT_EQ(bnns::to_vector<float>(corners, 1), (Floats{0, 2, 4, 8, 10, 12}));
}

TEST(CppResize, Failures) {
  EXPECT_THROW(ResizeLayer({.interpolation_method = bnns::InterpolationMethod::linear,
                            .input = Shape{2, 2},
                            .output = Shape{2}}),
               bnns::Error);
}

// The published example: two patterns of 3 x 3, cut out by boxes of centre and size.
TEST(CppCropResize, ForwardAndBackward) {
  Tensor input(Shape::tensor_last_major<4>({6, 5, 1, 1}));
  Tensor output(Shape::tensor_last_major<5>({3, 3, 1, 1, 2}));
  Tensor input_gradient(Shape::tensor_last_major<4>({6, 5, 1, 1}));
  const Tensor boxes = Tensor::from({1, 1, 3, 3, 4, 3, 3, 3}, Shape::matrix_last_major(4, 2), 1);
  for (size_t i = 0; i < 3; ++i) {
    input.values()[1 + 6 * i] = input.values()[6 + i] = 1;
    input.values()[3 + i + 6 * (2 + i)] = input.values()[3 + i + 6 * (4 - i)] = 9;
  }
  const CropResizeLayer layer(
      {.sampling_mode = bnns::LinearSamplingMode::offset_corners,
       .box_coordinate_mode = bnns::BoxCoordinateMode::center_size_width_first});
  layer.apply(input, boxes, output);
  const Floats right = {0, 1, 0, 1, 1, 1, 0, 1, 0, 9, 0, 9, 0, 9, 0, 9, 0, 9};
  EXPECT_EQ(bnns::to_vector<float>(output, 1), right);
  layer.apply_backward(
      {.region_of_interest = boxes, .output_gradient = output, .input_gradient = input_gradient});
  EXPECT_EQ(bnns::to_vector<float>(input_gradient, 1), bnns::to_vector<float>(input, 1));
  EXPECT_THROW(layer.apply_backward({.region_of_interest = boxes,
                                     .output_gradient = output,
                                     .input_gradient = input.shape()}),
               bnns::Error);  // a gradient without memory
  const Tensor five = Tensor(Shape::matrix_last_major(5, 2));
  EXPECT_THROW(layer.apply(input, five, output), bnns::Error);
}

}  // namespace
