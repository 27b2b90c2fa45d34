// GumbelMax with an output of one element per row: the index of the winner. One value of a row is
// so far above the others that no noise changes the result, which then is known exactly.
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "support/call_builder.h"
#include "support/random_call.h"

namespace bnns::test {
namespace {

constexpr float kHigh = 1e4f;

BNNSActivation gumbel_max() {
  return activation(BNNSActivationFunctionGumbelMax, 1, 1e-7f);
}

std::vector<float> winners(const BNNSNDArrayDescriptor& in, const BNNSNDArrayDescriptor& out,
                           uint32_t flags, const std::vector<float>& x, size_t batch, size_t count,
                           size_t in_stride = 0, size_t out_stride = 0, size_t threads = 1) {
  BNNSFilterParameters options = {};
  options.n_threads = threads;
  const Filter filter = make_activation(in, out, gumbel_max(), flags, &options);
  EXPECT_TRUE(filter) << OpenBNNSGetLastError();
  std::vector<float> y(count, -7);
  EXPECT_EQ(BNNSFilterApplyBatch(filter.get(), batch, x.data(), in_stride, y.data(), out_stride), 0)
      << OpenBNNSGetLastError();
  return y;
}

TEST(GumbelIndex, VectorsOfABatch) {
  for_targets([](const char* target) {
    SCOPED_TRACE(target);
    for (const size_t n : {2, 3, 16, 17, 512, 513, 3000}) {
      constexpr size_t kBatch = 9;
      std::vector<float> x(kBatch * n), expected;
      for (size_t b = 0; b < kBatch; ++b) {
        const size_t winner = b * 7919 % n;
        x[b * n + winner] = kHigh;
        expected.push_back(static_cast<float>(winner));
      }
      for (const size_t threads : {1, 2, 3}) {
        EXPECT_EQ(winners(vector_of(n), vector_of(1), 0, x, kBatch, kBatch, 0, 0, threads),
                  expected);
      }
    }
  });
}

TEST(GumbelIndex, AnyAxis) {
  // Coordinates (x, y, c); the winners along x, y and c.
  constexpr size_t kX = 3, kY = 4, kC = 5;
  const BNNSNDArrayDescriptor in = array(BNNSDataLayoutImageCHW, {kX, kY, kC});
  const size_t size[] = {kX, kY, kC}, step[] = {1, kX, kX * kY};
  for (size_t axis = 0; axis < 3; ++axis) {
    BNNSNDArrayDescriptor out = in;
    out.size[axis] = 1;
    const size_t rows = kX * kY * kC / size[axis];
    std::vector<float> x(kX * kY * kC), expected;
    for (size_t row = 0; row < rows; ++row) {
      const size_t below = row % step[axis], above = row / step[axis];
      const size_t winner = row * 5 % size[axis];
      x[below + winner * step[axis] + above * step[axis] * size[axis]] = kHigh;
      expected.push_back(static_cast<float>(winner));
    }
    EXPECT_EQ(winners(in, out, 1u << axis, x, 1, rows), expected) << axis;
  }
}

TEST(GumbelIndex, SeveralAxesCountTheFastestFirst) {
  const BNNSNDArrayDescriptor in = array(BNNSDataLayoutImageCHW, {3, 4, 2});
  const BNNSNDArrayDescriptor plane = array(BNNSDataLayoutImageCHW, {1, 1, 2});
  const BNNSNDArrayDescriptor rows = array(BNNSDataLayoutImageCHW, {1, 4, 1});
  std::vector<float> x(24);
  x[7] = x[12 + 11] = kHigh;
  EXPECT_EQ(winners(in, plane, 3, x, 1, 2), (std::vector<float>{7, 11}));
  x.assign(24, 0);
  x[2] = x[3 + 12] = x[6 + 1] = x[9 + 14] = kHigh;
  EXPECT_EQ(winners(in, rows, 5, x, 1, 4), (std::vector<float>{2, 3, 1, 5}));
}

TEST(GumbelIndex, PaddedTensors) {
  BNNSNDArrayDescriptor in = matrix_of(4, 3), out = matrix_of(1, 3);
  in.stride[1] = 6;
  out.stride[1] = 2;
  std::vector<float> x(40, 3 * kHigh);  // what lies between the values must not matter
  std::vector<float> expected(13, -7);
  for (size_t b = 0; b < 2; ++b) {
    for (size_t r = 0; r < 3; ++r) {
      for (size_t i = 0; i < 4; ++i) x[b * 20 + r * 6 + i] = i == (b + r) % 4 ? kHigh : 0;
      expected[b * 7 + r * 2] = static_cast<float>((b + r) % 4);
    }
  }
  EXPECT_EQ(winners(in, out, 1, x, 2, 13, 20, 7), expected);
}

// Rows pair up in the order of memory, so that the output need not have the layout of the input.
TEST(GumbelIndex, OtherLayouts) {
  std::vector<float> x(12);
  x[2] = x[4 + 0] = x[8 + 3] = kHigh;
  const std::vector<float> expected = {2, 0, 3};
  const BNNSNDArrayDescriptor in = matrix_of(4, 3);
  EXPECT_EQ(winners(in, vector_of(3), 1, x, 1, 3), expected);
  EXPECT_EQ(winners(in, array(BNNSDataLayout2DFirstMajor, {3, 1}), 1, x, 1, 3), expected);
  EXPECT_EQ(winners(in, array(BNNSDataLayout3DLastMajor, {1, 3, 1}), 1, x, 1, 3), expected);
  BNNSNDArrayDescriptor wide = vector_of(3);
  wide.stride[0] = 2;
  EXPECT_EQ(winners(in, wide, 1, x, 1, 5), (std::vector<float>{2, -7, 0, -7, 3}));

  const BNNSNDArrayDescriptor image = array(BNNSDataLayoutImageCHW, {1, 1, 12});
  EXPECT_EQ(winners(image, vector_of(1), 4, {0, 0, kHigh, 0, 0, 0, 0, 0, 0, 0, 0, 0}, 1, 1),
            (std::vector<float>{2}));
  EXPECT_EQ(winners(vector_of(12), array(BNNSDataLayout1DFirstMajor, {1}), 0,
                    {0, 0, 0, kHigh, 0, 0, 0, 0, 0, 0, 0, 0}, 1, 1),
            (std::vector<float>{3}));
  // Two rows that lie apart in memory: coordinates (x, y, c), the winners along y.
  const BNNSNDArrayDescriptor planes = array(BNNSDataLayoutImageCHW, {2, 3, 2});
  x.assign(12, 0);
  x[4] = x[1] = x[6 + 2] = x[6 + 5] = kHigh;
  BNNSNDArrayDescriptor pairs = matrix_of(2, 2);
  pairs.stride[1] = 3;
  EXPECT_EQ(winners(planes, pairs, 2, x, 1, 5), (std::vector<float>{2, 0, -7, 1, 2}));
}

TEST(GumbelIndex, RowsThatDoNotFit) {
  const auto made = [](const BNNSNDArrayDescriptor& out, uint32_t flags) {
    return static_cast<bool>(make_activation(matrix_of(4, 3), out, gumbel_max(), flags, nullptr));
  };
  EXPECT_TRUE(made(vector_of(3), 1) && made(vector_of(4), 2) && made(vector_of(1), 3));
  EXPECT_FALSE(made(vector_of(4), 1) || made(vector_of(3), 2) || made(vector_of(2), 3));
  EXPECT_FALSE(made(matrix_of(3, 1), 1) || made(array(BNNSDataLayout2DLastMajor, {1, 4}), 1));
  EXPECT_FALSE(made(vector_of(1), 7));  // joined with the batch there are no rows of a sample
}

TEST(GumbelIndex, AnyTypeOfNumbers) {
  constexpr size_t kCount = 100;
  std::vector<double> x(kCount);
  x[77] = 120;
  std::vector<BNNSDataType> types(std::begin(kFloats), std::end(kFloats));
  types.insert(types.end(), std::begin(kIntegers), std::end(kIntegers));
  for (const BNNSDataType from : types) {
    Stored in(kCount, from);
    in.set(x);
    for (const BNNSDataType to : types) {
      Stored out(1, to);
      BNNSLayerParametersActivation p = {};
      p.i_desc = *in.desc();
      p.o_desc = *out.desc();
      p.activation = gumbel_max();
      EXPECT_EQ(BNNSDirectApplyActivationBatch(&p, nullptr, 1, 0, 0), 0) << OpenBNNSGetLastError();
      EXPECT_EQ(out.values(), (std::vector<double>{77}));
    }
  }
}

TEST(GumbelIndex, LongestRowsOfNarrowTypes) {
  const auto made = [](size_t n, BNNSDataType type) {
    BNNSLayerParametersActivation p = {};
    p.i_desc = vector_of(n);
    p.o_desc = vector_of(1, nullptr, type);
    p.activation = gumbel_max();
    return static_cast<bool>(Filter(BNNSFilterCreateLayerActivation(&p, nullptr)));
  };
  EXPECT_TRUE(made(128, BNNSDataTypeInt8) && !made(129, BNNSDataTypeInt8));
  EXPECT_TRUE(made(256, BNNSDataTypeUInt8) && !made(257, BNNSDataTypeUInt8));
  EXPECT_TRUE(made(257, BNNSDataTypeBFloat16) && !made(258, BNNSDataTypeBFloat16));
  EXPECT_TRUE(made(2049, BNNSDataTypeFloat16) && !made(2050, BNNSDataTypeFloat16));
  const size_t most = size_t{1} << 24;
  EXPECT_TRUE(made(most + 1, BNNSDataTypeFloat32) && !made(most + 2, BNNSDataTypeFloat32));
  EXPECT_TRUE(made(most, BNNSDataTypeInt64) && !made(most + 1, BNNSDataTypeInt64));
}

TEST(GumbelIndex, NaNAndInfinity) {
  const float nan = std::nanf(""), inf = HUGE_VALF;
  const auto winner = [](const std::vector<float>& x) {
    return winners(vector_of(x.size()), vector_of(1), 0, x, 1, 1)[0];
  };
  EXPECT_EQ(winner({0, kHigh, nan, inf, nan}), 2);
  EXPECT_EQ(winner({-inf, 0, -inf}), 1);
  EXPECT_EQ(winner({-inf, -inf}), 0);
}

// As large as the input, the output receives the maximum.
TEST(GumbelIndex, OfNoAxisIsTheMaximum) {
  EXPECT_NE(winners(vector_of(1), vector_of(1), 0, {kHigh}, 1, 1)[0], 0);
  const std::vector<float> y = winners(vector_of(3), vector_of(3), 0, {0, kHigh, 0}, 1, 3);
  EXPECT_TRUE(y[0] == y[1] && y[1] == y[2] && y[0] > kHigh / 2);
}

}  // namespace
}  // namespace bnns::test
