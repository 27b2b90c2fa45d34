// What the C++ classes refuse before memory is touched: samples that are not there, shapes and
// types a layer was not made for. Tensors have exactly the memory they say; a guard behind them
// would not see more than the sanitizers do.
#include <gtest/gtest.h>

#include <cstdint>
#include <type_traits>
#include <vector>

#include "support/cpp_expect.h"
#include "openbnns/openbnns.hpp"

namespace {

using namespace bnns;
constexpr auto kInvalid = Error::Code::invalid_argument;

class CppMisuse : public testing::Test {
 protected:
  void refuse(const auto& call, const char* part) { expect_error(call, kInvalid, part); }

  Tensor x{Shape::vector(3), 8}, y{Shape::vector(2), 8};
  Tensor dx{Shape::vector(3), 8}, dy{Shape::vector(2), 8};
  Tensor few{Shape::vector(2), 4}, few_inputs{Shape::vector(3), 4};
  FullyConnectedLayer layer{{.input = x,
                             .output = y,
                             .weights = Tensor(Shape::matrix_row_major(3, 2)),
                             .bias = Tensor::from({1, 2}, {2})}};
};

TEST_F(CppMisuse, TooFewSamples) {
  refuse([&] { layer.apply(8, x, few); }, "output has 4 samples, the call is for 8");
  refuse([&] { layer.apply(8, few_inputs, y); }, "input has 4 samples, the call is for 8");
  refuse([&] { layer.apply(x, few); }, "output has 4 samples, input has 8");
  refuse([&] { layer.apply_backward(8, {.input = few_inputs, .output_gradient = dy}); },
         "input has 4 samples");
  refuse([&] { layer.apply_backward(8, {.input = x, .output = few, .output_gradient = dy}); },
         "output has 4 samples");
  refuse([&] { layer.apply_backward(8, {.input = x, .output_gradient = few}); },
         "output_gradient has 4 samples");
  refuse(
      [&] {
        layer.apply_backward(8, {.input = x, .output_gradient = dy, .input_gradient = few_inputs});
      },
      "input_gradient has 4 samples");
  layer.apply(4, x, few);  // fewer than there are is a partial batch
}

TEST_F(CppMisuse, OtherShapes) {
  Tensor two(Shape::vector(2), 8), turned(Shape::matrix_row_major(1, 2), 8);
  refuse([&] { layer.apply(8, two, y); }, "input has the shape {2}, the layer was made for {3}");
  refuse([&] { layer.apply(8, x, x); }, "output has the shape {3}, the layer was made for {2}");
  Tensor gaps(Shape::vector(3, 2), 8);
  refuse([&] { layer.apply(8, gaps, y); }, "these sizes with other strides");
  layer.apply(8, x, turned);  // one column of two is the same memory as a vector of two
}

TEST_F(CppMisuse, AnImageIsAVectorOnlyWithoutGaps) {
  Tensor image(Shape::image_chw(3, 1, 1), 8), gaps(Shape::image_chw(1, 3, 1, {1, 2, 6}), 8);
  layer.apply(8, image, y);
  refuse([&] { layer.apply(8, gaps, y); }, "input has the shape {1, 3, 1}");
  ActivationLayer wide({.function = ActivationFunction::abs(),
                        .input = Shape::image_chw(4, 2, 1),
                        .output = Shape::image_chw(4, 2, 1)});
  Tensor high(Shape::image_chw(2, 4, 1));
  refuse([&] { wide.apply(1, high, high); }, "{2, 4, 1}, the layer was made for {4, 2, 1}");
}

TEST_F(CppMisuse, OtherTypes) {
  BasicTensor<std::int8_t> bytes(Shape::vector(3), 8);
  BasicTensor<std::int32_t> integers(Shape::vector(2), 8);
  refuse([&] { layer.apply(8, bytes, y); }, "input is Int8, the layer was made for Float32");
  refuse([&] { layer.apply(8, x, integers); }, "output is Int32, the layer was made for Float32");
}

TEST_F(CppMisuse, SamplesOfRawMemoryAreTakenAtTheirWord) {
  std::vector<float> memory(2 * 8);
  const Descriptor raw = make_descriptor(BNNSDataTypeFloat32, Shape::vector(2), memory.data());
  layer.apply(8, x, raw);
  layer.apply(x, raw);
  const Descriptor input = make_descriptor(BNNSDataTypeFloat32, Shape::vector(3), x.data());
  refuse([&] { layer.apply(input, raw); }, "give batch_size");
  const Descriptor four =
      make_descriptor(std::span(memory).first(8), Shape::vector(2), 4);  // a span says how many
  refuse([&] { layer.apply(8, x, four); }, "output has 4 samples");
}

TEST_F(CppMisuse, AllSamplesWithoutABatchSize) {
  x.copy_from(std::vector<float>(24, 1.0f));
  layer.apply(x, y);
  EXPECT_EQ(y[14], 1);
  EXPECT_EQ(y[15], 2);
  layer.apply_backward({.input = x, .output = y, .output_gradient = dy, .input_gradient = dx});
}

TEST_F(CppMisuse, Losses) {
  Tensor loss(Shape::vector(1));
  LossLayer mean({.input = y, .output = loss, .loss_function = loss::SoftmaxCrossEntropy{}});
  LossLayer each({.input = y,
                  .output = loss,
                  .loss_function = loss::MeanSquareError{},
                  .loss_reduction = LossReduction::none});
  BasicTensor<std::int64_t> numbers(Shape::vector(2), 8);
  refuse([&] { mean.apply(8, {.input = y, .labels = numbers, .output = loss}); },
         "labels is Int64, the layer was made for Float32");
  refuse([&] { mean.apply(8, {.input = y, .labels = few, .output = loss}); },
         "labels has 4 samples");
  refuse([&] { mean.apply(8, {.input = x, .labels = y, .output = loss}); }, "input has the shape");
  refuse([&] { each.apply(8, {.input = y, .labels = dy, .output = loss}); },
         "output has 1 values, the call needs 16");
  refuse([&] { mean.apply(8, {.input = y, .labels = dy, .output = loss, .weights = loss}); },
         "weights has 1 values, the call needs 8");
  refuse([&] { mean.apply(8, {.input = y, .labels = dy, .output = loss, .input_gradient = few}); },
         "input_gradient has 4 samples");
  refuse(
      [&] {
        each.apply_backward(
            8, {.input = y, .labels = dy, .output_gradient = loss, .input_gradient = dy});
      },
      "output_gradient has 1 values, the call needs 16");
  mean.apply({.input = y, .labels = dy, .output = loss});
  Tensor all(Shape::vector(16));
  each.apply(8, {.input = y, .labels = dy, .output = all});
}

TEST_F(CppMisuse, Pooling) {
  Tensor image(Shape::image_chw(4, 4, 1), 2), pooled(Shape::image_chw(2, 2, 1), 2);
  std::vector<std::size_t> indices(4);
  PoolingLayer layer({.type = pooling::Max{.indices = {.numbers = indices}},
                      .input = image,
                      .output = pooled,
                      .kernel_size = 2});
  layer.apply(1, image, pooled);
  refuse([&] { layer.apply(2, image, pooled); }, "indices are 4 numbers, 2 samples have 4 each");
  refuse([&] { layer.apply(2, pooled, pooled); }, "input has the shape {2, 2, 1}");
  refuse([&] { layer.apply_backward(1, {.input = pooled, .output_gradient = pooled}); },
         "input has the shape {2, 2, 1}");
  BasicTensor<std::uint32_t> few_indices(Shape::image_chw(2, 2, 1), 1);
  PoolingLayer with_descriptor({.type = pooling::Max{.indices = {.descriptor = few_indices}},
                                .input = image,
                                .output = pooled,
                                .kernel_size = 2});
  refuse([&] { with_descriptor.apply(2, image, pooled); }, "indices has 1 samples");
}

TEST_F(CppMisuse, Normalization) {
  Tensor image(Shape::image_chw(4, 4, 1), 2), one(Shape::image_chw(4, 4, 1));
  NormalizationLayer layer({.type = normalization::Batch{}, .input = image, .output = image});
  refuse([&] { layer.apply(2, image, one, LearningPhase::training); }, "output has 1 samples");
  refuse([&] { layer.apply(2, x, image, LearningPhase::training); }, "input has the shape {3}");
  layer.apply(image, image, LearningPhase::training);
  refuse([&] { layer.apply_backward(2, {.output = image, .output_gradient = one}); },
         "output_gradient has 1 samples");
}

// The C functions know no batch: samples behind the first would be passed over.
TEST_F(CppMisuse, OneSampleOnly) {
  RandomGenerator generator({.seed = 1});
  refuse([&] { copy(x, dx); }, "source has 8 samples, this takes one");
  refuse([&] { clip(0, 1, x, dx); }, "input has 8 samples");
  refuse([&] { clip_by_global_norm(1, {x}, {dx}); }, "an input has 8 samples");
  refuse([&] { generator.fill_uniform(x, 0, 1); }, "output has 8 samples");
  copy(x.flat(), dx.flat());
  const SGDMomentumOptimizer sgd = {.learning_rate = 1};
  refuse([&] { sgd.step({y}, {dy}, {few}); }, "has 8 samples");
  refuse([&] { FullyConnectedLayer wrong({.input = x, .output = y, .weights = x}); },
         "has 8 samples");
  refuse([&] { (void)to_vector<float>(x, 9); }, "8 samples, the call is for 9");
}

}  // namespace
