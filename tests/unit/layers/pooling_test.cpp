// Pooling filters: published numbers, and what the spec runner does not reach.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "support/pooling_call.h"

namespace bnns::test {
namespace {

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();

struct Geometry {
  size_t width, height, out_width, out_height, kernel, stride, pad = 0;
};

BNNSLayerParametersPooling parameters(BNNSPoolingFunction function, const Geometry& g) {
  const bool un_max = function == BNNSPoolingFunctionUnMax;
  BNNSLayerParametersPooling p = {};
  p.i_desc = image_of(g.width, g.height, 1);
  p.o_desc = image_of(g.out_width, g.out_height, 1);
  if (un_max) std::swap(p.i_desc, p.o_desc);
  p.pooling_function = function;
  p.k_width = p.k_height = g.kernel;
  p.x_stride = p.y_stride = g.stride;
  p.x_padding = p.y_padding = g.pad;
  return p;
}

Filter make(const BNNSLayerParametersPooling& p, const BNNSFilterParameters* options = nullptr) {
  Filter filter(BNNSFilterCreateLayerPooling(&p, options));
  EXPECT_TRUE(filter) << OpenBNNSGetLastError();
  return filter;
}

Filter make(BNNSPoolingFunction function, const Geometry& g) {
  return make(parameters(function, g));
}

using Floats = std::vector<float>;
using Indices = std::vector<size_t>;

Floats forward(const Filter& filter, const Floats& in, size_t out_size, size_t* indices = nullptr) {
  Floats out(out_size, -99);
  EXPECT_EQ(BNNSPoolingFilterApplyBatch(filter.get(), 1, in.data(), 0, out.data(), 0, indices, 0),
            0)
      << OpenBNNSGetLastError();
  return out;
}

// ---- Published numbers ----

TEST(Pooling, PaddedMax) {
  for_targets([](const char*) {
    const Filter filter = make(BNNSPoolingFunctionMax, {2, 2, 3, 3, 2, 1, 1});
    EXPECT_EQ(forward(filter, {1, 2, 3, 4}, 9), (Floats{1, 2, 2, 3, 4, 4, 3, 4, 4}));
  });
}

TEST(Pooling, PaddedAverage) {
  for_targets([](const char*) {
    const Filter filter = make(BNNSPoolingFunctionAverage, {2, 2, 2, 2, 2, 2, 1});
    EXPECT_EQ(forward(filter, {1, 2, 3, 4}, 4), (Floats{0.25f, 0.5f, 0.75f, 1}));
    const Filter inside =
        make(BNNSPoolingFunctionAverageCountExcludePadding, {2, 2, 2, 2, 2, 2, 1});
    EXPECT_EQ(forward(inside, {1, 2, 3, 4}, 4), (Floats{1, 2, 3, 4}));
  });
}

TEST(Pooling, IndicesForthAndBack) {
  Floats in(32), out(8);
  for (size_t i = 0; i < 16; ++i) {
    in[i] = static_cast<float>(i + 1);
    in[i + 16] = -in[i];
  }
  for_targets([&](const char*) {
    const Filter filter = make(BNNSPoolingFunctionMax, {4, 4, 2, 2, 2, 2});
    Indices indices(8);
    std::vector<uint32_t> small(8);
    ASSERT_EQ(BNNSPoolingFilterApplyBatch(filter.get(), 2, in.data(), 16, out.data(), 4,
                                          indices.data(), 4),
              0);
    EXPECT_EQ(out, (Floats{6, 8, 14, 16, -1, -3, -9, -11}));
    EXPECT_EQ(indices, (Indices{5, 7, 13, 15, 0, 2, 8, 10}));
    ASSERT_EQ(BNNSPoolingFilterApplyBatchEx(filter.get(), 2, in.data(), 0, out.data(), 0,
                                            BNNSDataTypeUInt32, small.data(), 0),
              0);
    EXPECT_EQ(Indices(small.begin(), small.end()), indices);

    Floats dy = {1, 2, 3, 4}, dx(16, -99);
    BNNSNDArrayDescriptor in_delta = image_of(4, 4, 1, dx.data());
    BNNSNDArrayDescriptor out_delta = image_of(2, 2, 1, dy.data());
    ASSERT_EQ(
        BNNSPoolingFilterApplyBackwardBatch(filter.get(), 1, nullptr, 0, &in_delta, 0, nullptr, 0,
                                            &out_delta, 0, nullptr, indices.data(), 0),
        0);
    EXPECT_EQ(dx, (Floats{0, 0, 0, 0, 0, 1, 0, 2, 0, 0, 0, 0, 0, 3, 0, 4}));
  });
}

TEST(Pooling, UnMaxOfMax) {
  const Floats in = {1, 1, 1, 9, 1, 9, 9, 1, 1, 1, 1, 1, 1, 9, 1, 9};
  Indices indices(9);
  const Filter max = make(BNNSPoolingFunctionMax, {4, 4, 3, 3, 2, 1});
  const Filter un_max = make(BNNSPoolingFunctionUnMax, {4, 4, 3, 3, 2, 1});
  const Floats pooled = forward(max, in, 9, indices.data());
  EXPECT_EQ(forward(un_max, pooled, 16, indices.data()),
            (Floats{0, 0, 0, 9, 0, 9, 9, 0, 0, 0, 0, 0, 0, 9, 0, 9}));
}

TEST(Pooling, WindowsMustBeginInside) {
  const BNNSLayerParametersPooling p = parameters(BNNSPoolingFunctionMax, {1, 1, 4, 4, 2, 1});
  EXPECT_EQ(BNNSFilterCreateLayerPooling(&p, nullptr), nullptr);
}

// ---- Special numbers ----

TEST(Pooling, NanWinsWithAValidIndex) {
  for_targets([](const char*) {
    const Filter filter = make(BNNSPoolingFunctionMax, {4, 2, 2, 1, 2, 2});
    Indices indices(2);
    const Floats out =
        forward(filter, {kNaN, kNaN, 1, kNaN, kNaN, kNaN, kInf, 3}, 2, indices.data());
    EXPECT_TRUE(std::isnan(out[0]) && std::isnan(out[1]));
    EXPECT_EQ(indices, (Indices{0, 3}));
  });
}

TEST(Pooling, MinusInfinityIsACell) {
  for_targets([](const char*) {
    const Filter filter = make(BNNSPoolingFunctionMax, {2, 2, 3, 3, 2, 1, 1});
    Indices indices(9, 99);
    EXPECT_EQ(forward(filter, Floats(4, -kInf), 9, indices.data()), Floats(9, -kInf));
    EXPECT_EQ(indices, (Indices{0, 0, 1, 0, 0, 1, 2, 2, 3}));
  });
}

// The cell that a scan of window (i, j) finds; in.size() if there is none.
size_t first_maximum(const Floats& in, const Geometry& g, size_t i, size_t j) {
  size_t best = in.size();
  for (size_t y = j * g.stride; y < j * g.stride + g.kernel; ++y) {
    for (size_t x = i * g.stride; x < i * g.stride + g.kernel; ++x) {
      if (x < g.pad || x >= g.pad + g.width || y < g.pad || y >= g.pad + g.height) continue;
      const size_t cell = (y - g.pad) * g.width + x - g.pad;
      if (best == in.size() || in[cell] > in[best] ||
          (std::isnan(in[cell]) && !std::isnan(in[best])))
        best = cell;
    }
  }
  return best;
}

// Rows of all lengths, windows that end with the image or hang over it; few values, so that many
// are equal.
TEST(Pooling, FirstMaximumOfWindowsThatShareCells) {
  const Floats kinds[] = {{0, 1, 2}, {-kInf, -kInf, -1}, {-kInf, 0, kInf}, {0, 1, kNaN}, {kNaN}};
  for_targets([&](const char* target) {
    for (size_t n = 0; n < 5 * 2 * 2 * 40; ++n) {
      const size_t width = 4 + n / 20, height = 3 + n % 9, pad = n / 5 % 2;
      const size_t most_x = (width + pad + 1) / 2, most_y = (height + pad + 1) / 2;
      const Geometry g = {width, height, most_x - n / 10 % 2, most_y - n / 10 % 2, 3, 2, pad};
      SCOPED_TRACE(testing::Message() << target << ", case " << n);
      const Floats& values = kinds[n % 5];
      Floats in(width * height);
      for (size_t i = 0; i < in.size(); ++i)
        in[i] = values[(i * 2654435761u + n * 40503u) / 4096 % values.size()];
      if (n % 5 == 4) in.assign(in.size(), 1), in[n * 7 % in.size()] = kNaN;
      const size_t windows = g.out_width * g.out_height;
      Indices indices(windows, 99);
      std::vector<uint32_t> small(windows, 99);
      const Filter filter = make(BNNSPoolingFunctionMax, g);
      const Floats out = forward(filter, in, windows, indices.data());
      Floats again(windows);
      ASSERT_EQ(BNNSPoolingFilterApplyBatchEx(filter.get(), 1, in.data(), 0, again.data(), 0,
                                              BNNSDataTypeUInt32, small.data(), 0),
                0);
      const Floats plain = forward(filter, in, windows);
      for (size_t k = 0; k < windows; ++k) {
        const size_t cell = first_maximum(in, g, k % g.out_width, k / g.out_width);
        ASSERT_EQ(indices[k], cell) << "window " << k;
        ASSERT_EQ(small[k], cell) << "window " << k;
        for (const float y : {out[k], again[k], plain[k]})
          ASSERT_TRUE(y == in[cell] || (std::isnan(y) && std::isnan(in[cell]))) << "window " << k;
      }
    }
  });
}

// The taps of window i that are inside an axis.
size_t taps_inside(size_t i, size_t cells, const Geometry& g) {
  const size_t begin = i * g.stride, end = begin + g.kernel;
  return std::min(end, g.pad + cells) - std::max(begin, g.pad);
}

// Adds what an average gives to the cells of each window.
void add_average(const Floats& dy, const Geometry& g, bool inside, size_t row, Floats& dx) {
  for (size_t k = 0; k < dy.size(); ++k) {
    const size_t i = k % g.out_width, j = k / g.out_width;
    const size_t taps =
        inside ? taps_inside(i, g.width, g) * taps_inside(j, g.height, g) : g.kernel * g.kernel;
    for (size_t y = j * g.stride; y < j * g.stride + g.kernel; ++y) {
      for (size_t x = i * g.stride; x < i * g.stride + g.kernel; ++x) {
        if (x - g.pad < g.width && y - g.pad < g.height)
          dx[(y - g.pad) * row + x - g.pad] += dy[k] / static_cast<float>(taps);
      }
    }
  }
}

// Rows of all lengths, windows that end before the image, with it or hang over it; whole numbers
// that all counts of taps divide, and a NaN or an infinity that must stay in its window.
TEST(Pooling, GradientOfAveragesThatShareCells) {
  for_targets([](const char* target) {
    for (size_t n = 0; n < 8 * 3 * 75; ++n) {
      const bool inside = n % 2 != 0, accumulate = n / 2 % 2 != 0;
      const size_t pad = n / 4 % 2, less = n / 8 % 3, width = 5 + n / 24, height = 5 + n % 7;
      const Geometry g = {
          width, height, (width + pad + 1) / 2 - less, (height + pad + 1) / 2 - less, 3, 2, pad};
      const size_t row = width + (n % 5 == 0 ? 3 : 0);
      SCOPED_TRACE(testing::Message() << target << ", case " << n);
      Floats dy(g.out_width * g.out_height), dx(row * height + 5, 7);
      for (size_t k = 0; k < dy.size(); ++k)
        dy[k] = 36 * static_cast<float>((k * 2654435761u + n * 40503u) / 4096 % 201) - 3600;
      if (n % 11 == 0) dy[n % dy.size()] = inside ? -kInf : kNaN;
      Floats expected = dx;
      for (size_t k = 0; !accumulate && k < width * height; ++k)
        expected[k / width * row + k % width] = 0;
      add_average(dy, g, inside, row, expected);
      const Filter filter = make(inside ? BNNSPoolingFunctionAverageCountExcludePadding
                                        : BNNSPoolingFunctionAverageCountIncludePadding,
                                 g);
      BNNSNDArrayDescriptor in_delta = image_of(width, height, 1, dx.data());
      const size_t strides[] = {1, row, row * height};
      std::copy_n(strides, 3, in_delta.stride);
      in_delta.flags = accumulate ? BNNSNDArrayFlagBackpropAccumulate : BNNSNDArrayFlagBackpropSet;
      BNNSNDArrayDescriptor out_delta = image_of(g.out_width, g.out_height, 1, dy.data());
      ASSERT_EQ(BNNSFilterApplyBackwardBatch(filter.get(), 1, nullptr, 0, &in_delta, 0, nullptr, 0,
                                             &out_delta, 0, nullptr, nullptr),
                0);
      for (size_t k = 0; k < dx.size(); ++k)
        ASSERT_TRUE(dx[k] == expected[k] || (std::isnan(dx[k]) && std::isnan(expected[k]))) << k;
    }
  });
}

TEST(Pooling, WindowsOutsideGiveNothing) {
  for (const auto function :
       {BNNSPoolingFunctionMax, BNNSPoolingFunctionAverageCountIncludePadding,
        BNNSPoolingFunctionAverageCountExcludePadding, BNNSPoolingFunctionL2Norm}) {
    SCOPED_TRACE(function);
    // Windows of 2 at a stride of 2 with 2 cells of padding: those at the border see padding alone.
    const Filter filter = make(function, {2, 2, 3, 3, 2, 2, 2});
    Indices indices(9, 99);
    const Floats in = {-1, -1, -1, -1};
    const Floats out = forward(filter, in, 9, indices.data());
    Floats dy(9, 5), dx(4, -99);
    for (size_t i = 0; i < 9; ++i) EXPECT_EQ(i != 4, out[i] == 0) << i;
    BNNSNDArrayDescriptor in_delta = image_of(2, 2, 1, dx.data());
    BNNSNDArrayDescriptor out_delta = image_of(3, 3, 1, dy.data());
    const bool max = function == BNNSPoolingFunctionMax;
    EXPECT_EQ(indices, Indices(9, max ? 0 : 99));
    for (const size_t* given :
         {static_cast<const size_t*>(nullptr), static_cast<const size_t*>(indices.data())}) {
      ASSERT_EQ(BNNSPoolingFilterApplyBackwardBatch(filter.get(), 1, in.data(), 0, &in_delta, 0,
                                                    nullptr, 0, &out_delta, 0, nullptr, given, 0),
                0);
      const float share = max ? 5 : function == BNNSPoolingFunctionL2Norm ? -2.5f : 1.25f;
      EXPECT_EQ(dx, max ? (Floats{share, 0, 0, 0}) : Floats(4, share));
    }
  }
}

// ---- Calls ----

TEST(Pooling, IndicesAreBelieved) {
  // Inside the plane, but not in their windows: the gradient goes where they point.
  const Filter filter = make(BNNSPoolingFunctionMax, {4, 4, 2, 2, 2, 2});
  for (const auto flag : {BNNSNDArrayFlagBackpropSet, BNNSNDArrayFlagBackpropAccumulate}) {
    Floats dy = {1, 2, 3, 4}, dx(16, 10);
    BNNSNDArrayDescriptor in_delta = image_of(4, 4, 1, dx.data());
    in_delta.flags = flag;
    BNNSNDArrayDescriptor out_delta = image_of(2, 2, 1, dy.data());
    const Indices indices = {0, 2, 15, 15};
    ASSERT_EQ(
        BNNSPoolingFilterApplyBackwardBatch(filter.get(), 1, nullptr, 0, &in_delta, 0, nullptr, 0,
                                            &out_delta, 0, nullptr, indices.data(), 0),
        0);
    Floats expected(16, flag == BNNSNDArrayFlagBackpropSet ? 0 : 10);
    expected[0] += 1;
    expected[2] += 2;
    expected[15] += 7;
    EXPECT_EQ(dx, expected);
  }
}

TEST(Pooling, IndicesFarFromTheirWindowsAreBelieved) {
  // A plane large enough to be cleared in several steps, all of them before the last cell.
  const Filter filter = make(BNNSPoolingFunctionMax, {40, 40, 38, 38, 3, 1});
  const size_t windows = 38 * 38, last = 40 * 40 - 1;
  Floats dy(windows, 1), dx(last + 1, 10), expected(last + 1, 0);
  BNNSNDArrayDescriptor in_delta = image_of(40, 40, 1, dx.data());
  BNNSNDArrayDescriptor out_delta = image_of(38, 38, 1, dy.data());
  Indices indices(windows, last);
  indices.back() = 0;
  ASSERT_EQ(BNNSPoolingFilterApplyBackwardBatch(filter.get(), 1, nullptr, 0, &in_delta, 0, nullptr,
                                                0, &out_delta, 0, nullptr, indices.data(), 0),
            0);
  expected[last] = static_cast<float>(windows - 1);
  expected[0] = 1;
  EXPECT_EQ(dx, expected);
}

TEST(Pooling, GradientsInAnotherLayout) {
  const Filter filter = make(BNNSPoolingFunctionAverage, {4, 2, 2, 1, 2, 2});
  Floats dy = {4, 8}, dx(16, 7);
  BNNSNDArrayDescriptor in_delta = vector_of(8, dx.data());
  in_delta.stride[0] = 2;
  BNNSNDArrayDescriptor out_delta = matrix_of(1, 2, dy.data());
  ASSERT_EQ(BNNSFilterApplyBackwardBatch(filter.get(), 1, nullptr, 0, &in_delta, 0, nullptr, 0,
                                         &out_delta, 0, nullptr, nullptr),
            0)
      << OpenBNNSGetLastError();
  EXPECT_EQ(dx, (Floats{1, 7, 1, 7, 2, 7, 2, 7, 1, 7, 1, 7, 2, 7, 2, 7}));
}

TEST(Pooling, NothingWantedIsFine) {
  const Filter filter = make(BNNSPoolingFunctionMax, {4, 4, 2, 2, 2, 2});
  EXPECT_EQ(BNNSPoolingFilterApplyBackwardBatch(filter.get(), 1, nullptr, 0, nullptr, 0, nullptr, 0,
                                                nullptr, 0, nullptr, nullptr, 0),
            0);
  EXPECT_EQ(BNNSPoolingFilterApplyBatch(filter.get(), 0, nullptr, 0, nullptr, 0, nullptr, 0), 0);
}

TEST(Pooling, FunctionsWithoutIndicesIgnoreThem) {
  const Filter filter = make(BNNSPoolingFunctionL2Norm, {2, 2, 1, 1, 2, 2});
  size_t index = 77;
  EXPECT_EQ(forward(filter, {1, 1, 3, 5}, 1, &index), (Floats{6}));
  EXPECT_EQ(index, 77u);
}

TEST(Pooling, BiasOfTheClientIsReadAtEveryCall) {
  Floats bias = {1};
  BNNSLayerParametersPooling p = parameters(BNNSPoolingFunctionMax, {2, 2, 1, 1, 2, 2});
  p.bias = vector_of(1, bias.data());
  const BNNSFilterParameters client = client_pointers();
  const Filter borrowed = make(p, &client), copied = make(p);
  bias[0] = 10;
  EXPECT_EQ(forward(borrowed, {1, 2, 3, 4}, 1), (Floats{14}));
  EXPECT_EQ(forward(copied, {1, 2, 3, 4}, 1), (Floats{5}));
}

TEST(Pooling, FusedNoise) {
  for (const auto function : {BNNSActivationFunctionGumbel, BNNSActivationFunctionGumbelMax}) {
    BNNSLayerParametersPooling p = parameters(BNNSPoolingFunctionMax, {8, 8, 4, 4, 2, 2});
    p.activation = activation(function, 1, 0.5f);
    const Filter filter = make(p);
    const Floats first = forward(filter, Floats(64, 1), 16),
                 second = forward(filter, Floats(64, 1), 16);
    EXPECT_NE(first, second);
    for (const float v : first) EXPECT_TRUE(std::isfinite(v));
  }
}

TEST(Pooling, BitsDoNotDependOnThreads) {
  constexpr size_t kChannels = 33, kSide = 30, kHalf = 15, kBatch = 3;
  Floats in(kBatch * kChannels * kSide * kSide), dy(kBatch * kChannels * kHalf * kHalf);
  for (size_t i = 0; i < in.size(); ++i) in[i] = std::sin(static_cast<float>(i));
  for (size_t i = 0; i < dy.size(); ++i) dy[i] = std::cos(static_cast<float>(i));
  for (uint32_t function = 0; function <= BNNSPoolingFunctionL2Norm; ++function) {
    if (function == BNNSPoolingFunctionUnMax) continue;
    Floats first_dx, first_db;
    for (size_t threads = 1; threads <= 4; ++threads) {
      Floats bias(kChannels), dx(in.size()), db(kChannels);
      BNNSLayerParametersPooling p = parameters(static_cast<BNNSPoolingFunction>(function),
                                                {kSide, kSide, kHalf, kHalf, 3, 2, 1});
      p.i_desc.size[2] = p.o_desc.size[2] = kChannels;
      p.bias = vector_of(kChannels, bias.data());
      BNNSFilterParameters options = {};
      options.n_threads = threads;
      const Filter filter = make(p, &options);
      BNNSNDArrayDescriptor in_delta = p.i_desc, out_delta = p.o_desc, bias_delta = p.bias;
      in_delta.data = dx.data();
      out_delta.data = dy.data();
      bias_delta.data = db.data();
      ASSERT_EQ(
          BNNSPoolingFilterApplyBackwardBatch(filter.get(), kBatch, in.data(), 0, &in_delta, 0,
                                              nullptr, 0, &out_delta, 0, &bias_delta, nullptr, 0),
          0);
      if (threads == 1) first_dx = dx, first_db = db;
      EXPECT_EQ(dx, first_dx);
      EXPECT_EQ(db, first_db);
    }
  }
}

}  // namespace
}  // namespace bnns::test
