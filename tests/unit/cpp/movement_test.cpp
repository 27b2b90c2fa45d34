// bnns::PaddingLayer, bnns::PermuteLayer, and the functions that move elements.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "openbnns/openbnns.hpp"
#include "support/cpp_expect.h"

namespace {

using bnns::AxisPadding;
using bnns::PaddingLayer;
using bnns::PaddingMode;
using bnns::PermuteLayer;
using bnns::Shape;
using bnns::Tensor;
using Floats = std::vector<float>;

Floats floats(const Tensor& tensor, size_t batch = 1) {
  return bnns::to_vector<float>(tensor, batch);
}

TEST(CppMovement, PaddingOfImages) {
  const std::vector<AxisPadding> size = {{1, 0}, 1};  // a column on the left, a row above and below
  const Shape small = Shape::image_chw(2, 1, 1), large = PaddingLayer::output_shape(small, size);
  EXPECT_EQ(large.size()[0], 3u);
  EXPECT_EQ(large.size()[1], 3u);
  EXPECT_EQ(large.size()[2], 1u);
  const Tensor input = Tensor::from({1, 2, 3, 4}, small, 2);
  Tensor output(large, 2), input_gradient(small, 2);
  PaddingLayer layer(
      {.input = input, .output = output, .mode = PaddingMode::constant_scalar(7), .size = size});
  layer.apply(input, output);
  EXPECT_EQ(floats(output, 2), (Floats{7, 7, 7, 7, 1, 2, 7, 7, 7, 7, 7, 7, 7, 3, 4, 7, 7, 7}));
  layer.apply_backward(
      {.input = {}, .output = {}, .output_gradient = output, .input_gradient = input_gradient});
  EXPECT_EQ(floats(input_gradient, 2), (Floats{1, 2, 3, 4}));
}

TEST(CppMovement, PaddingModes) {
  const Tensor input = Tensor::from({1, 2, 3}, Shape{3}, 1);
  const auto padded = [&](PaddingMode mode) {
    Tensor output(Shape{6});
    PaddingLayer({.input = input, .output = output, .mode = mode, .size = {{1, 2}}})
        .apply(input, output);
    return floats(output);
  };
  EXPECT_EQ(padded({}), (Floats{0, 1, 2, 3, 0, 0}));
  EXPECT_EQ(padded(PaddingMode::constant_bit_pattern(0x3F800000)), (Floats{1, 1, 2, 3, 1, 1}));
  EXPECT_EQ(padded(PaddingMode::reflect()), (Floats{2, 1, 2, 3, 2, 1}));
  EXPECT_EQ(padded(PaddingMode::symmetric()), (Floats{1, 1, 2, 3, 3, 2}));
}

// The constant is a number of the layer's type.
TEST(CppMovement, PaddingOfIntegers) {
  std::vector<int8_t> x = {1, 2}, y(3);
  const auto input = bnns::make_descriptor(std::span(x), Shape{2});
  const auto output = bnns::make_descriptor(std::span(y), Shape{3});
  PaddingLayer layer({.input = input,
                      .output = output,
                      .mode = PaddingMode::constant_scalar(-3),
                      .size = {{0, 1}}});
  layer.apply(input, output);
  EXPECT_EQ(y, (std::vector<int8_t>{1, 2, -3}));
}

TEST(CppMovement, Permute) {
  const Tensor input = Tensor::from({1, 2, 3, 4, 5, 6}, Shape::image_chw(3, 2, 1), 1);
  Tensor output(Shape::image_chw(2, 3, 1)), input_gradient(Shape::image_chw(3, 2, 1));
  PermuteLayer layer({.input = input, .output = output, .permutation = {1, 0, 2}});
  layer.apply(1, input, output);
  EXPECT_EQ(floats(output), (Floats{1, 4, 2, 5, 3, 6}));
  layer.apply_backward(
      1, {.input = {}, .output = {}, .output_gradient = output, .input_gradient = input_gradient});
  EXPECT_EQ(floats(input_gradient), floats(input));
}

TEST(CppMovement, Functions) {
  const Tensor vector = Tensor::from({1, 2, 3}, Shape{3}, 1);
  Tensor twice(Shape{6}), sum(Shape{3});
  bnns::tile(vector, twice);
  EXPECT_EQ(floats(twice), (Floats{1, 2, 3, 1, 2, 3}));
  bnns::tile_backward(twice, sum);
  EXPECT_EQ(floats(sum), (Floats{2, 4, 6}));

  const Tensor matrix = Tensor::from({1, 2, 3, 4, 5, 6, 7, 8, 9}, Shape{3, 3}, 1);
  Tensor band(Shape{3, 3});
  bnns::copy_band_part(matrix, band, 0, std::nullopt);
  EXPECT_EQ(floats(band), (Floats{1, 2, 3, 0, 5, 6, 0, 0, 9}));

  const Shape deep = Shape::tensor_first_major<4>({1, 4, 1, 1});
  const Shape wide = Shape::tensor_first_major<4>({1, 1, 2, 2});
  const Tensor channels = Tensor::from({1, 2, 3, 4}, deep, 1);
  Tensor pixels(wide), back(deep);
  bnns::shuffle(bnns::ShuffleType::depth_to_space_nchw, channels, pixels);
  EXPECT_EQ(floats(pixels), (Floats{1, 2, 3, 4}));
  bnns::shuffle(bnns::ShuffleType::space_to_depth_nchw, pixels, back);
  EXPECT_EQ(floats(back), (Floats{1, 2, 3, 4}));
}

TEST(CppMovement, Failures) {
  const Tensor input(Shape{3});
  Tensor output(Shape{4});
  const auto reason = [](const auto& call) -> std::string {
    try {
      call();
    } catch (const bnns::Error& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_NE(reason([&] {
              PaddingLayer({.input = input, .output = output, .size = {1}});
            }).find("output.size[0] is 4"),
            std::string::npos);
  EXPECT_NE(reason([&] {
              PaddingLayer({.input = input, .output = output, .size = {1, 1}});
            }).find("size has 2 entries"),
            std::string::npos);
  const AxisPadding endless = {SIZE_MAX, 5};
  EXPECT_NE(reason([&] { PaddingLayer::output_shape(Shape{3}, {endless}); }).find("size[0] has"),
            std::string::npos);
  EXPECT_NE(reason([&] {
              PermuteLayer({.input = input, .output = output, .permutation = {1, 0}});
            }).find("permutation has 2 entries"),
            std::string::npos);
  EXPECT_NE(reason([&] { bnns::tile(input, output); }).find("output.size[0] is 4"),
            std::string::npos);
  EXPECT_THROW(bnns::tile_backward(input, Tensor(Shape{2})), bnns::Error);
  EXPECT_THROW(bnns::shuffle(bnns::ShuffleType::pixel_shuffle_nchw, input, output), bnns::Error);
  EXPECT_THROW(bnns::copy_band_part(input, output, 1, 1), bnns::Error);
}

}  // namespace
