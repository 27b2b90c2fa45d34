// Views: collapsed(), batched() and Walker against plain enumeration of the elements in the order
// of memory, over many shapes and strides.
#include "core/view.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "core/batch.h"
#include "support/sanitizers.h"
#include "support/workload.h"

namespace bnns::impl {
namespace {

View make_view(const std::vector<size_t>& extent, const std::vector<size_t>& stride) {
  View view;
  view.rank = extent.size();
  view.count = 1;
  view.span = 1;
  for (size_t k = 0; k < view.rank; ++k) {
    view.extent[k] = extent[k];
    view.stride[k] = stride[k];
    view.count *= extent[k];
    view.span += (extent[k] - 1) * stride[k];
  }
  return view;
}

// Offsets of all elements, the fastest axis first.
std::vector<size_t> enumerate(const View& view) {
  std::vector<size_t> offsets = {0};
  for (size_t k = 0; k < view.rank; ++k) {
    const std::vector<size_t> below = offsets;
    offsets.clear();
    for (size_t i = 0; i < view.extent[k]; ++i) {
      for (size_t offset : below) offsets.push_back(offset + i * view.stride[k]);
    }
  }
  return offsets;
}

// The same elements from `first` on, by a walker that takes at most `step` of a run at a time.
std::vector<size_t> walk(const View& view, size_t first, size_t step) {
  std::vector<size_t> offsets;
  Walker walker(view, first);
  for (size_t left = view.count - first; left > 0;) {
    const size_t n = std::min({left, step, walker.run()});
    if (n == 0) return {};
    for (size_t i = 0; i < n; ++i) offsets.push_back(walker.offset() + i * walker.stride());
    walker.advance(n);
    left -= n;
  }
  return offsets;
}

// Random views of up to eight axes: packed, padded and strided ones, axes of one element.
std::vector<View> many_views() {
  test::Noise noise(3);
  std::vector<View> views;
  for (int i = 0; i < (test::kSanitized ? 300 : 3000); ++i) {
    const size_t rank = 1 + noise.bits() % 8;
    std::vector<size_t> extent, stride;
    size_t packed = 1 + (noise.bits() % 4 == 0 ? noise.bits() % 3 : 0);
    for (size_t k = 0; k < rank; ++k) {
      extent.push_back(1 + noise.bits() % (rank > 4 ? 3 : 6));
      stride.push_back(packed);
      packed *= extent.back();
      if (noise.bits() % 3 == 0) packed += noise.bits() % 4;
    }
    views.push_back(make_view(extent, stride));
  }
  return views;
}

void expect_collapsed(const View& view) {
  ASSERT_GE(view.rank, 1u);
  for (size_t k = 0; k + 1 < view.rank; ++k)
    EXPECT_NE(view.stride[k + 1], view.stride[k] * view.extent[k]) << "two axes form one line";
  for (size_t k = 0; k < view.rank; ++k)
    EXPECT_TRUE(view.extent[k] > 1 || view.rank == 1) << "an axis of one element";
}

TEST(Collapsed, HasTheSameElementsInFewerAxes) {
  for (const View& view : many_views()) {
    const View result = collapsed(view);
    ASSERT_EQ(enumerate(result), enumerate(view));
    EXPECT_EQ(result.count, view.count);
    EXPECT_EQ(result.span, view.span);
    EXPECT_LE(result.rank, view.rank);
    expect_collapsed(result);
  }
}

TEST(Collapsed, DenseIsOneLine) {
  const View view = collapsed(make_view({3, 1, 4, 5, 1}, {1, 3, 3, 12, 60}));
  EXPECT_EQ(view.rank, 1u);
  EXPECT_EQ(view.extent[0], 60u);
  EXPECT_EQ(view.stride[0], 1u);
  EXPECT_TRUE(view.is_dense());
}

TEST(Collapsed, OneElement) {
  const View view = collapsed(make_view({1, 1}, {5, 7}));
  EXPECT_EQ(view.rank, 1u);
  EXPECT_EQ(view.extent[0], 1u);
  EXPECT_EQ(view.count, 1u);
}

TEST(Batched, IsSampleBySample) {
  float data[1] = {};
  for (const View& view : many_views()) {
    for (size_t batch : {1, 2, 5}) {
      for (size_t step : {view.span, view.span + 3}) {
        const View result = batched(view, data, batch, step);
        std::vector<size_t> right;
        for (size_t b = 0; b < batch; ++b) {
          for (size_t offset : enumerate(view)) right.push_back(b * step + offset);
        }
        ASSERT_EQ(enumerate(result), right);
        EXPECT_EQ(result.data, data);
        EXPECT_EQ(result.count, view.count * batch);
        EXPECT_EQ(result.span, *std::max_element(right.begin(), right.end()) + 1);
        expect_collapsed(result);
      }
    }
  }
}

TEST(Batched, Interleaved) {
  const View view = make_view({4, 3}, {6, 24});
  const View result = batched(view, nullptr, 6, 1);
  std::vector<size_t> right;
  for (size_t b = 0; b < 6; ++b) {
    for (size_t offset : enumerate(view)) right.push_back(b + offset);
  }
  EXPECT_EQ(enumerate(result), right);
  EXPECT_EQ(result.span, 72u);
}

TEST(Batch, PartBeginsWithItsFirstSample) {
  alignas(8) char data[256] = {};
  View sample = make_view({3, 2}, {1, 4});
  for (BNNSDataType type : {BNNSDataTypeInt8, BNNSDataTypeBFloat16, BNNSDataTypeFloat32}) {
    sample.type = type;
    const Batch batch = make_batch(sample, data, 5, 9), part = batch.part(2, 3);
    EXPECT_EQ(part.at<char>(0) - data, static_cast<ptrdiff_t>(2 * 9 * type_bytes(type)));
    EXPECT_EQ(part.sample, &sample);
    EXPECT_EQ(part.size, 3u);
    EXPECT_EQ(part.step, 9u);
  }
}

TEST(Walker, VisitsEveryElementFromAnyStart) {
  test::Noise noise(4);
  for (const View& view : many_views()) {
    const View line = collapsed(view);
    const std::vector<size_t> all = enumerate(view);
    for (size_t first : {size_t{0}, view.count / 2, view.count - 1, noise.bits() % view.count}) {
      const std::vector<size_t> rest(all.begin() + static_cast<ptrdiff_t>(first), all.end());
      for (size_t step : {SIZE_MAX, size_t{1}, size_t{2}})
        ASSERT_EQ(walk(line, first, step), rest) << "from " << first;
    }
  }
}

TEST(InnerStride, BelongsToTheFirstAxisThatHasNeighbours) {
  EXPECT_EQ(make_view({3, 4}, {2, 6}).inner_stride(), 2u);
  EXPECT_EQ(make_view({1, 4}, {2, 6}).inner_stride(), 6u);
  EXPECT_EQ(make_view({1, 1}, {2, 6}).inner_stride(), 1u);
}

}  // namespace
}  // namespace bnns::impl
