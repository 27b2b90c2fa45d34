// The fused activation: rows and views of any strides give the bits of contiguous ones, gaps stay
// untouched, and the predicates agree with the table of functions.
#include "ops/activation/fused.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace bnns::impl {
namespace {

constexpr size_t kWidth = 11, kHeight = 5, kBatch = 3;
constexpr float kGap = 77;

FusedActivation fused(BNNSActivationFunction function, float alpha = 0.5f, float beta = 0.25f,
                      uint32_t axes = 1) {
  return {*find_activation(function), {.alpha = alpha, .beta = beta}, axes};
}

std::vector<float> random_values(size_t n, unsigned seed) {
  std::mt19937 engine(seed);
  std::uniform_real_distribution<float> uniform(-2, 2);
  std::vector<float> values(n);
  for (float& value : values) value = uniform(engine);
  return values;
}

View sample(size_t inner, size_t row) {
  View view = {.rank = 2, .extent = {kWidth, kHeight}, .stride = {inner, row}};
  view.count = kWidth * kHeight;
  view.span = 1 + (kWidth - 1) * inner + (kHeight - 1) * row;
  return view;
}

// A batch with gaps, and where its elements lie.
struct Strided {
  View one = sample(2, 25);
  size_t step = 140;
  std::vector<float> memory = std::vector<float>(step * kBatch, kGap);

  float& at(size_t i) {
    return memory[i % kWidth * 2 + i / kWidth % kHeight * 25 + i / (kWidth * kHeight) * step];
  }
  View view() const { return with_samples(one, memory.data(), kBatch, step); }
  void read(const std::vector<float>& values) {
    for (size_t i = 0; i < values.size(); ++i) at(i) = values[i];
  }
  bool holds(const std::vector<float>& values) {
    std::vector<float> expected(memory.size(), kGap);
    expected.swap(memory);
    read(values);
    return expected == memory;
  }
};

const BNNSActivationFunction kFunctions[] = {
    BNNSActivationFunctionRectifiedLinear, BNNSActivationFunctionTanh, BNNSActivationFunctionELU,
    BNNSActivationFunctionSoftmax, BNNSActivationFunctionLogSoftmax};

TEST(FusedActivation, RowsAndViewsAgree) {
  const std::vector<float> x = random_values(kBatch * kHeight * kWidth, 1),
                           dy = random_values(x.size(), 2);
  for (const auto function : kFunctions) {
    const FusedActivation f = fused(function);
    std::vector<float> y = x, g(x.size());
    f.forward({y.data(), kWidth}, kBatch * kHeight, kWidth);
    f.multiply_by_slope({y.data(), kWidth}, {const_cast<float*>(dy.data()), kWidth},
                        {g.data(), kWidth}, kBatch * kHeight, kWidth);
    for (const size_t threads : {1u, 2u, 3u}) {
      Strided out, delta;
      out.read(x);
      f.forward(threads, out.view(), 0);
      EXPECT_TRUE(out.holds(y)) << f.info().name;
      delta.read(dy);
      f.multiply_by_slope(threads, out.view(), delta.view(), delta.view());  // in place
      EXPECT_TRUE(delta.holds(g)) << f.info().name;
    }
  }
}

// Rows with gaps between them.
TEST(FusedActivation, RowsLeaveGapsAlone) {
  constexpr size_t kStep = kWidth + 3;
  const std::vector<float> x = random_values(kHeight * kWidth, 3);
  for (const auto function : kFunctions) {
    const FusedActivation f = fused(function);
    std::vector<float> packed = x, apart(kHeight * kStep, kGap), expected = apart;
    for (size_t i = 0; i < x.size(); ++i) apart[i / kWidth * kStep + i % kWidth] = x[i];
    f.forward({packed.data(), kWidth}, kHeight, kWidth);
    f.forward({apart.data(), kStep}, kHeight, kWidth);
    for (size_t i = 0; i < x.size(); ++i) expected[i / kWidth * kStep + i % kWidth] = packed[i];
    EXPECT_EQ(apart, expected) << f.info().name;
  }
}

// Softmax along the second axis of a sample: columns add up to 1.
TEST(FusedActivation, OtherAxes) {
  const FusedActivation f = fused(BNNSActivationFunctionSoftmax, 0, 0, 2);
  std::vector<float> y = random_values(kBatch * kHeight * kWidth, 4);
  f.forward(2, with_samples(sample(1, kWidth), y.data(), kBatch, kWidth * kHeight), 0);
  for (size_t n = 0; n < kBatch; ++n) {
    for (size_t x = 0; x < kWidth; ++x) {
      float sum = 0;
      for (size_t row = 0; row < kHeight; ++row) sum += y[(n * kHeight + row) * kWidth + x];
      EXPECT_NEAR(sum, 1, kHeight * 0x1p-23f);
    }
  }
}

TEST(FusedActivation, RandomOnesUseTheirStream) {
  for (const auto function : {BNNSActivationFunctionGumbel, BNNSActivationFunctionGumbelMax}) {
    const FusedActivation f = fused(function, 1, 1e-7f);
    const std::vector<float> x = random_values(kBatch * kHeight * kWidth, 5);
    const auto drawn = [&](size_t threads, uint64_t stream) {
      Strided y;
      y.read(x);
      f.forward(threads, y.view(), stream);
      return y.memory;
    };
    EXPECT_TRUE(f.is_random());
    EXPECT_EQ(drawn(1, 7), drawn(3, 7));
    EXPECT_NE(drawn(1, 7), drawn(1, 8));
  }
}

TEST(FusedActivation, KnowsItsKind) {
  const FusedActivation identity = fused(BNNSActivationFunctionIdentity);
  EXPECT_TRUE(identity.is_identity() && identity.is_element() && identity.slope_known());
  const FusedActivation relu = fused(BNNSActivationFunctionRectifiedLinear);
  EXPECT_TRUE(relu.is_rectifier() && relu.is_element() && relu.slope_known());
  const FusedActivation softmax = fused(BNNSActivationFunctionSoftmax);
  EXPECT_TRUE(softmax.is_along_axes() && !softmax.is_element() && !softmax.is_random());
  const FusedActivation gumbel = fused(BNNSActivationFunctionGumbelMax);
  EXPECT_TRUE(gumbel.is_random() && !gumbel.is_along_axes() && !gumbel.ignores_input());
  EXPECT_TRUE(fused(BNNSActivationFunctionGumbel).ignores_input());
  EXPECT_TRUE(fused(BNNSActivationFunctionIntegerLinearSaturate).is_integer());
  EXPECT_TRUE(fused(BNNSActivationFunctionLeakyRectifiedLinear, 0.5f).slope_known());
  EXPECT_FALSE(fused(BNNSActivationFunctionLeakyRectifiedLinear, -0.5f).slope_known());
  EXPECT_FALSE(fused(BNNSActivationFunctionGELU).slope_known());
}

}  // namespace
}  // namespace bnns::impl
