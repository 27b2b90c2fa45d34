// Descriptors of gradients, whatever the layer: which layouts they may have, and none at all.
#include <gtest/gtest.h>

#include <functional>
#include <vector>

#include "support/call_builder.h"

namespace bnns::test {
namespace {

using Floats = std::vector<float>;

constexpr size_t kWidth = 3, kHeight = 2, kPixels = kWidth * kHeight;

BNNSNDArrayDescriptor image(size_t width, size_t height) {
  return array(BNNSDataLayoutImageCHW, {width, height, 1});
}

// Filters whose only gradient is that of their input.
std::vector<std::pair<const char*, Filter>> filters_of_one_gradient() {
  std::vector<std::pair<const char*, Filter>> filters;
  BNNSLayerParametersPermute permute = {
      .i_desc = image(kWidth, kHeight), .o_desc = image(kHeight, kWidth), .permutation = {1, 0, 2}};
  filters.emplace_back("permute", BNNSFilterCreateLayerPermute(&permute, nullptr));
  BNNSLayerParametersPadding padding = {};
  padding.i_desc = image(kWidth, kHeight);
  padding.o_desc = image(kWidth + 1, kHeight);
  padding.padding_size[0][0] = 1;
  filters.emplace_back("padding", BNNSFilterCreateLayerPadding(&padding, nullptr));
  BNNSLayerParametersResize resize = {.method = BNNSInterpolationMethodNearest,
                                      .i_desc = image(kWidth, kHeight),
                                      .o_desc = image(2 * kWidth, kHeight),
                                      .align_corners = false};
  filters.emplace_back("resize", BNNSFilterCreateLayerResize(&resize, nullptr));
  BNNSLayerParametersGram gram = {
      .alpha = 1, .i_desc = image(kWidth, kHeight), .o_desc = matrix_of(1, 1)};
  filters.emplace_back("gram", BNNSFilterCreateLayerGram(&gram, nullptr));
  BNNSLayerParametersDropout dropout = {.i_desc = image(kWidth, kHeight),
                                        .o_desc = image(kWidth, kHeight),
                                        .rate = 0.5f,
                                        .seed = 1,
                                        .control = 0};
  filters.emplace_back("dropout", BNNSFilterCreateLayerDropout(&dropout, nullptr));
  return filters;
}

TEST(Delta, NothingWantedIsSuccess) {
  for (const auto& [name, filter] : filters_of_one_gradient()) {
    SCOPED_TRACE(name);
    ASSERT_NE(filter.get(), nullptr) << OpenBNNSGetLastError();
    Floats x(kPixels), dy(2 * kPixels + 2);
    auto out_delta = vector_of(dy.size(), dy.data());
    auto in_delta = image(kWidth, kHeight);  // without data
    for (BNNSNDArrayDescriptor* dx : {static_cast<BNNSNDArrayDescriptor*>(nullptr), &in_delta}) {
      EXPECT_EQ(BNNSFilterApplyBackwardBatch(filter.get(), 1, x.data(), 0, dx, 0, nullptr, 0,
                                             &out_delta, 0, nullptr, nullptr),
                0)
          << OpenBNNSGetLastError();
    }
  }
}

// What a backward call gives with gradients that are described in some way.
struct Described {
  const char* name;
  BNNSNDArrayDescriptor dx, dy;
};
Floats input_gradient(const Filter& filter, const Described& as, size_t batch) {
  Floats x(batch * kPixels, 1), dy(batch * (kWidth + 1) * kHeight), dx(batch * kPixels, -99);
  for (size_t i = 0; i < dy.size(); ++i) dy[i] = static_cast<float>(i + 1);
  auto in_delta = as.dx, out_delta = as.dy;
  in_delta.data = dx.data();
  out_delta.data = dy.data();
  EXPECT_EQ(BNNSFilterApplyBackwardBatch(filter.get(), batch, x.data(), 0, &in_delta, 0, nullptr, 0,
                                         &out_delta, 0, nullptr, nullptr),
            0)
      << OpenBNNSGetLastError();
  return dx;
}

// ImageCHW and 3DLastMajor arrange memory alike; a vector has the elements in the order of memory.
TEST(Delta, LayoutsThatArrangeMemoryAlikeAndVectors) {
  BNNSLayerParametersPadding padding = {};
  padding.i_desc = image(kWidth, kHeight);
  padding.o_desc = image(kWidth + 1, kHeight);
  padding.padding_size[0][0] = 1;
  const Filter filter(BNNSFilterCreateLayerPadding(&padding, nullptr));
  const Floats right = input_gradient(filter, {"", padding.i_desc, padding.o_desc}, 2);
  EXPECT_EQ(right, (Floats{2, 3, 4, 6, 7, 8, 10, 11, 12, 14, 15, 16}));
  const auto alike = [](size_t w, size_t h) { return array(BNNSDataLayout3DLastMajor, {w, h, 1}); };
  const auto flat = [](size_t w, size_t h) { return vector_of(w * h); };
  for (const Described& as :
       {Described{"alike", alike(kWidth, kHeight), alike(kWidth + 1, kHeight)},
        {"flat", flat(kWidth, kHeight), flat(kWidth + 1, kHeight)},
        {"mixed", image(kWidth, kHeight), flat(kWidth + 1, kHeight)}}) {
    SCOPED_TRACE(as.name);
    EXPECT_EQ(input_gradient(filter, as, 2), right);
  }
}

// RowMajorMatrix {columns, rows} and 2DFirstMajor {rows, columns} are one matrix.
TEST(Delta, SizesInAnotherOrder) {
  BNNSLayerParametersPermute permute = {.i_desc = matrix_of(kWidth, kHeight),
                                        .o_desc = matrix_of(kHeight, kWidth),
                                        .permutation = {1, 0}};
  const Filter filter(BNNSFilterCreateLayerPermute(&permute, nullptr));
  Floats dy = {1, 2, 3, 4, 5, 6}, dx(kPixels);
  auto out_delta = array(BNNSDataLayout2DFirstMajor, {kWidth, kHeight}, dy.data());
  auto in_delta = array(BNNSDataLayout2DFirstMajor, {kHeight, kWidth}, dx.data());
  ASSERT_EQ(BNNSPermuteFilterApplyBackwardBatch(filter.get(), 1, &in_delta, 0, &out_delta, 0), 0)
      << OpenBNNSGetLastError();
  EXPECT_EQ(dx, (Floats{1, 3, 5, 2, 4, 6}));
  // The transposed matrix has as many elements, but elsewhere.
  in_delta = array(BNNSDataLayout2DLastMajor, {kHeight, kWidth}, dx.data());
  EXPECT_EQ(BNNSPermuteFilterApplyBackwardBatch(filter.get(), 1, &in_delta, 0, &out_delta, 0), -1);
}

// The axis of the items is the last one of the dictionary, whatever the order of the sizes in the
// layout of its gradient.
TEST(Delta, SizesOfADictionaryInAnotherOrder) {
  Floats table(6), dy = {1, 2, 3, 4}, dx(6, -99);
  int8_t ids[] = {2, 0};
  BNNSLayerParametersEmbedding embedding = {};
  embedding.i_desc = vector_of(2);
  embedding.i_desc.data_type = BNNSDataTypeInt8;
  embedding.dictionary = array(BNNSDataLayout2DFirstMajor, {2, 3}, table.data());
  embedding.o_desc = array(BNNSDataLayout2DFirstMajor, {2, 2});
  embedding.padding_idx = SIZE_MAX;
  const Filter filter(BNNSFilterCreateLayerEmbedding(&embedding, nullptr));
  ASSERT_TRUE(filter) << OpenBNNSGetLastError();
  auto out_delta = array(BNNSDataLayout2DFirstMajor, {2, 2}, dy.data());
  for (auto weights_delta :
       {array(BNNSDataLayout2DFirstMajor, {2, 3}), matrix_of(3, 2), vector_of(6)}) {
    weights_delta.data = dx.data();
    ASSERT_EQ(BNNSFilterApplyBackwardBatch(filter.get(), 1, ids, 0, nullptr, 0, nullptr, 0,
                                           &out_delta, 0, &weights_delta, nullptr),
              0)
        << OpenBNNSGetLastError();
    EXPECT_EQ(dx, (Floats{2, 0, 1, 4, 0, 3}));
    dx.assign(6, -99);
  }
}

// A stride along an axis of one element moves nothing but the next sample of a packed batch, in the
// layout that the gradient is described with.
TEST(Delta, SamplesOfAPackedBatchKeepTheirDistance) {
  BNNSLayerParametersPadding padding = {};
  padding.i_desc = padding.o_desc = image(1, 1);
  const Filter filter(BNNSFilterCreateLayerPadding(&padding, nullptr));
  Floats dy = {1, -1, 2}, dx(4, -99);
  auto out_delta = vector_of(1, dy.data()), in_delta = vector_of(1, dx.data());
  out_delta.stride[0] = 2;
  in_delta.stride[0] = 3;
  ASSERT_EQ(BNNSFilterApplyBackwardBatch(filter.get(), 2, nullptr, 0, &in_delta, 0, nullptr, 0,
                                         &out_delta, 0, nullptr, nullptr),
            0)
      << OpenBNNSGetLastError();
  EXPECT_EQ(dx, (Floats{1, -99, -99, 2}));
}

// A vector with gaps could stand for anything.
TEST(Delta, VectorWithGapsIsRefused) {
  BNNSLayerParametersPadding padding = {};
  padding.i_desc = padding.o_desc = image(kWidth, kHeight);
  const Filter filter(BNNSFilterCreateLayerPadding(&padding, nullptr));
  Floats dy(kPixels), dx(2 * kPixels, -99);
  auto out_delta = image(kWidth, kHeight);
  out_delta.data = dy.data();
  auto in_delta = vector_of(kPixels, dx.data());
  in_delta.stride[0] = 2;
  EXPECT_EQ(BNNSFilterApplyBackwardBatch(filter.get(), 1, nullptr, 0, &in_delta, 0, nullptr, 0,
                                         &out_delta, 0, nullptr, nullptr),
            -1);
  EXPECT_EQ(dx, Floats(2 * kPixels, -99));
}

}  // namespace
}  // namespace bnns::test
