// Shapes, descriptors, owning arrays and the functions on them.
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "support/cpp_expect.h"
#include "openbnns/openbnns.hpp"

namespace {

using bnns::BasicTensor;
using bnns::DataLayout;
using bnns::Error;
using bnns::Shape;
using bnns::Tensor;

TEST(CppShape, ListsMakeFirstMajorShapes) {
  EXPECT_EQ(Shape({5}).layout(), DataLayout::vector);
  EXPECT_EQ(Shape({5, 4}).layout(), DataLayout::matrix_first_major);
  EXPECT_EQ((Shape{2, 3, 4}), Shape::tensor_first_major<3>({2, 3, 4}));
  EXPECT_EQ((Shape{1, 2, 3, 4, 5, 6, 7, 8}).layout(), DataLayout::tensor_8d_first_major);
  EXPECT_EQ(Shape::tensor_last_major<5>({1, 2, 3, 4, 5}).layout(),
            DataLayout::tensor_5d_last_major);
}

TEST(CppShape, RefusesWhatNoLayoutHas) {
  const std::vector<std::size_t> none, nine(9, 1), two = {2, 3}, one = {1};
  expect_error([&] { Shape shape(none); }, Error::Code::invalid_argument, "1 to 8");
  expect_error([&] { Shape shape(nine); }, Error::Code::invalid_argument, "1 to 8");
  expect_error([&] { Shape shape(two, DataLayout::vector); }, Error::Code::invalid_argument,
               "rank");
  expect_error([&] { Shape shape(two, std::nullopt, one); }, Error::Code::invalid_argument,
               "strides");
}

TEST(CppShape, BatchStrideIsWhatASampleSpans) {
  EXPECT_EQ(Shape::image_chw(4, 3, 2).batch_stride(), 24u);
  EXPECT_EQ(Shape::matrix_row_major(4, 3, {1, 4}).batch_stride(), 12u);
  EXPECT_EQ(Shape::matrix_row_major(4, 3, {1, 10}).batch_stride(), 30u);
  EXPECT_EQ(Shape::matrix_row_major(4, 3, {0, 10}).batch_stride(), 30u);
  EXPECT_EQ(Shape::matrix_row_major(4, 3, {2, 0}).batch_stride(), 24u);
  EXPECT_EQ(Shape::vector(5, 3).batch_stride(), 15u);
  EXPECT_EQ(Shape::vector(5, 3).dense_count(), 5u);
  // First-major: the fastest axis is the last size and the first stride.
  EXPECT_EQ(Shape::matrix_first_major(4, 3, {1, 5}).batch_stride(), 20u);
  EXPECT_EQ(Shape::matrix_last_major(4, 3, {1, 5}).batch_stride(), 15u);
}

TEST(CppShape, OverflowThrows) {
  const std::size_t huge = std::numeric_limits<std::size_t>::max() / 2;
  expect_error([&] { (void)Shape::matrix_row_major(huge, 3).batch_stride(); },
               Error::Code::invalid_argument, "overflows");
  expect_error([&] { Tensor tensor(Shape::vector(huge)); }, Error::Code::invalid_argument,
               "overflows");
}

TEST(CppDescriptor, HoldsTheShape) {
  const Shape shape = Shape::image_chw(4, 3, 2, {1, 8, 32});
  const bnns::Descriptor descriptor = bnns::make_descriptor(BNNSDataTypeInt8, shape);
  EXPECT_EQ(bnns::shape_of(descriptor), shape);
  EXPECT_EQ(descriptor.data, nullptr);
  EXPECT_EQ(descriptor.data_type, BNNSDataTypeInt8);
  EXPECT_EQ(descriptor.table_data_type, BNNSDataTypeInt8);
  EXPECT_EQ(descriptor.data_scale, 1);
  EXPECT_EQ(descriptor.data_bias, 0);
}

TEST(CppDescriptor, CountMustMatch) {
  std::vector<float> values(24);
  const std::span<float> span(values);
  EXPECT_EQ(bnns::make_descriptor(span, Shape::vector(6), 4).data, values.data());
  expect_error([&] { (void)bnns::make_descriptor(span, Shape::vector(6)); },
               Error::Code::array_descriptor_invalid_data, "batch stride");
  expect_error([&] { (void)bnns::make_descriptor(span, Shape::vector(6), 0); },
               Error::Code::invalid_argument, "batch_size");
  expect_error([&] { (void)bnns::make_descriptor(std::span<float>(), Shape::vector(6)); },
               Error::Code::array_descriptor_invalid_data, "NULL");
}

TEST(CppDescriptor, DataTypes) {
  static_assert(bnns::data_type_of<float> == BNNSDataTypeFloat32);
  static_assert(bnns::data_type_of<std::int8_t> == BNNSDataTypeInt8);
  static_assert(bnns::data_type_of<std::uint64_t> == BNNSDataTypeUInt64);
  static_assert(bnns::data_type_of<bool> == BNNSDataTypeBoolean);
  static_assert(!bnns::Scalar<double>);
  const BasicTensor<std::int32_t> tensor = BasicTensor<std::int32_t>::from({1, 2, 3, 4}, {2}, 2);
  EXPECT_EQ(bnns::to_vector<std::int32_t>(tensor, 2), (std::vector<std::int32_t>{1, 2, 3, 4}));
  expect_error([&] { (void)bnns::to_vector<float>(tensor); }, Error::Code::invalid_argument,
               "type");
}

TEST(CppTensor, SamplesAndElements) {
  Tensor tensor = Tensor::from({1, 2, 3, 4, 5, 6}, Shape::vector(3), 2);
  EXPECT_EQ(tensor.count(), 6u);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(tensor.data()) % 64, 0u);
  EXPECT_EQ(tensor.sample(1)[0], 4);
  tensor.sample(1)[0] = 9;
  EXPECT_EQ(tensor[3], 9);
  EXPECT_EQ(tensor.at(5), 6);
  expect_error([&] { (void)tensor.at(6); }, Error::Code::invalid_argument, "element");
  expect_error([&] { (void)tensor.sample(2); }, Error::Code::invalid_argument, "sample");
  expect_error([&] { tensor.copy_from(std::vector<float>(5)); }, Error::Code::invalid_argument,
               "number of values");
  expect_error([&] { Tensor empty(Shape::vector(3), 0); }, Error::Code::invalid_argument,
               "batch_size");
}

TEST(CppTensor, StartsWithZeros) {
  const Tensor tensor(Shape::vector(100), 3);
  for (const float value : tensor.values()) EXPECT_EQ(value, 0);
}

TEST(CppTensor, MovesKeepTheData) {
  static_assert(!std::is_copy_constructible_v<Tensor>);
  Tensor source = Tensor::filled(7, Shape::vector(3), 2);
  const float* data = source.data();
  Tensor target = std::move(source);
  EXPECT_EQ(target.data(), data);
  EXPECT_EQ(target.batch_size(), 2u);
  EXPECT_EQ(source.data(), nullptr);
  EXPECT_EQ(source.count(), 0u);
  Tensor other(Shape::vector(1));
  other = std::move(target);
  EXPECT_EQ(other.data(), data);
  EXPECT_EQ(other.shape(), Shape::vector(3));
}

TEST(CppFunctions, CopyAndTranspose) {
  const Tensor input = Tensor::from({1, 2, 3, 4, 5, 6}, Shape::matrix_last_major(3, 2));
  BasicTensor<std::int32_t> integers(input.shape());
  bnns::copy(input, integers);
  EXPECT_EQ(bnns::to_vector<std::int32_t>(integers), (std::vector<std::int32_t>{1, 2, 3, 4, 5, 6}));
  Tensor output(Shape::matrix_last_major(2, 3));
  bnns::transpose(input, output, 0, 1);
  EXPECT_EQ(bnns::to_vector<float>(output), (std::vector<float>{1, 4, 2, 5, 3, 6}));
  expect_error([&] { bnns::transpose(input, output, 0, 5); }, Error::Code::layer_apply_fail,
               "transpose: second_transpose_axis is 5");
  EXPECT_EQ(bnns::data_size(input), 24u);
  expect_error([] { (void)bnns::data_size(bnns::Descriptor{}); }, Error::Code::layer_apply_fail,
               "data_size: descriptor.data is NULL");
}

TEST(CppFunctions, ClipAndNorm) {
  const Tensor input = Tensor::from({3, -4}, Shape::vector(2));
  Tensor output(Shape::vector(2)), norm(Shape::vector(1));
  bnns::clip(-1, 2, input, output);
  EXPECT_EQ(bnns::to_vector<float>(output), (std::vector<float>{2, -1}));
  expect_error([&] { bnns::clip(2, 1, input, output); }, Error::Code::layer_apply_fail,
               "clip: lower is 2, upper is 1");
  bnns::clip_by_norm(2.5f, input, output);
  EXPECT_FLOAT_EQ(output[0], 1.5f);
  EXPECT_FLOAT_EQ(output[1], -2);
  bnns::clip_by_global_norm(1, {input}, {output}, 10);
  EXPECT_FLOAT_EQ(output[0], 0.3f);
  expect_error(
      [&] {
        bnns::clip_by_global_norm(1, {input, input}, {output});
      },
      Error::Code::invalid_argument, "outputs");
  bnns::compute_norm(input, norm);
  EXPECT_FLOAT_EQ(norm[0], 5);
  const Tensor upstream = Tensor::filled(10, Shape::vector(1));
  bnns::compute_norm_backward(input, norm, {}, upstream, output);
  EXPECT_FLOAT_EQ(output[0], 6);
  EXPECT_FLOAT_EQ(output[1], -8);
  expect_error([&] { bnns::compute_norm(input, norm, {32}); }, Error::Code::invalid_argument,
               "axis");
}

TEST(CppFunctions, QuantizeAndBack) {
  const Tensor x = Tensor::from({1, 2, 3, 4}, {2}, 2), scale = Tensor::from({10, 20}, {2});
  bnns::BasicTensor<std::int8_t> y(Shape::vector(2), 2);
  Tensor back(Shape::vector(2), 2);
  bnns::quantize(2, {.input = x, .output = y, .axis = 0, .scale = scale});
  EXPECT_EQ(bnns::to_vector<std::int8_t>(y, 2), (std::vector<std::int8_t>{10, 40, 30, 80}));
  bnns::dequantize(2, {.input = y, .output = back, .axis = 0, .scale = scale});
  EXPECT_EQ(bnns::to_vector<float>(back, 2), bnns::to_vector<float>(x, 2));
  bnns::BasicTensor<std::int8_t> one(Shape::vector(2));
  expect_error([&] { bnns::quantize(2, {.input = x, .output = one}); },
               Error::Code::invalid_argument, "output has 1 samples");
}

}  // namespace
