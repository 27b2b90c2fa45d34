// bnns::FullyConnectedLayer::sparsify.
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "openbnns/openbnns.hpp"
#include "support/cpp_expect.h"

namespace {

using bnns::BasicTensor;
using bnns::FullyConnectedLayer;
using bnns::Shape;
using bnns::Tensor;
using Floats = std::vector<float>;
using Indices = BasicTensor<std::int32_t>;

// 0 2 0 0
// 0 0 0 3
// 4 0 5 0
const Shape kDense = Shape::matrix_row_major(4, 3);

Floats apply(const bnns::ParameterDescriptor& weights) {
  const Tensor input = Tensor::from({1, 10, 100, 1000}, Shape::vector(4), 1);
  Tensor output(Shape::vector(3));
  FullyConnectedLayer layer({.input = input, .output = output, .weights = weights});
  layer.apply(1, input, output);
  return bnns::to_vector<float>(output, 1);
}

const Floats kRight = {20, 3000, 504};

TEST(CppSparse, Coordinates) {
  const Indices indices = Indices::from({2, 2, 1, 0, 3, 1, 0, 2}, Shape::matrix_row_major(2, 4), 1);
  const Tensor values = Tensor::from({5, 2, 3, 4}, Shape::vector(4), 1);
  const auto weights = FullyConnectedLayer::sparsify(
      {.input_layout = bnns::sparse_layout::Coo{.indices = indices.descriptor()},
       .input_dense_shape = kDense,
       .input_values = values});
  EXPECT_EQ(apply(weights), kRight);
}

TEST(CppSparse, Rows) {
  const Indices columns = Indices::from({1, 3, 0, 2}, Shape::vector(4), 1);
  const Indices starts = Indices::from({0, 1, 2, 4}, Shape::vector(4), 1);
  const Tensor values = Tensor::from({2, 3, 4, 5}, Shape::vector(4), 1);
  const auto weights = FullyConnectedLayer::sparsify(
      {.input_layout = bnns::sparse_layout::Csr{.column_indices = columns.descriptor(),
                                                .row_starts = starts.descriptor()},
       .input_dense_shape = kDense,
       .input_values = values,
       .sparse_parameters = bnns::SparseParameters{.ratio = {4, 12}}});
  EXPECT_EQ(apply(weights), kRight);
}

TEST(CppSparse, Failures) {
  const Indices indices = Indices::from({4, 0}, Shape::vector(2), 1);
  const Tensor values = Tensor::from({1}, Shape::vector(1), 1);
  EXPECT_THROW(FullyConnectedLayer::sparsify(
                   {.input_layout = bnns::sparse_layout::Coo{.indices = indices.descriptor()},
                    .input_dense_shape = kDense,
                    .input_values = values}),
               bnns::Error);
}

}  // namespace
