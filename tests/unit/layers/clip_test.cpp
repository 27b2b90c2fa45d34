// Clipping and norms: what the spec's runner does not see. Numbers at the ends of the range, values
// in other shapes, tensors that are clipped where they lie, many tensors at once.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "support/call_builder.h"

namespace bnns::test {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kMax = std::numeric_limits<float>::max();
const float kNaN = std::nanf("");

float norm_of(std::vector<float> x) {
  float y = -1;
  const BNNSNDArrayDescriptor src = vector_of(x.size(), x.data());
  BNNSNDArrayDescriptor dest = vector_of(1, &y);
  EXPECT_EQ(BNNSComputeNorm(&dest, &src, BNNSL2Norm, 0), 0) << OpenBNNSGetLastError();
  return y;
}

std::vector<float> clipped(std::vector<float> x, float max_norm) {
  std::vector<float> y(x.size(), -1);
  const BNNSNDArrayDescriptor src = vector_of(x.size(), x.data());
  BNNSNDArrayDescriptor dest = vector_of(y.size(), y.data());
  EXPECT_EQ(BNNSClipByNorm(&dest, &src, max_norm, 0), 0) << OpenBNNSGetLastError();
  return y;
}

TEST(Clip, NormsWhoseSquaresAreNoFloats) {
  for_targets([](const char* target) {
    SCOPED_TRACE(target);
    // 3-4-5 triangles, exact in every step.
    for (const int exponent : {126, 100, -60, -140, -147}) {
      const float unit = std::ldexp(1.0f, exponent - 3);
      EXPECT_EQ(norm_of({3 * unit, 4 * unit}), 5 * unit) << exponent;
      EXPECT_EQ(clipped({3 * unit, -4 * unit}, 5 * unit),
                (std::vector<float>{3 * unit, -4 * unit}));
    }
    EXPECT_FLOAT_EQ(norm_of(std::vector<float>(10000, 1e30f)), 1e32f);
    EXPECT_EQ(norm_of({kMax, kMax}), kInf);
    // A factor far below the smallest float still gives floats.
    const std::vector<float> y = clipped({3e38f, -1.5e38f}, 1e-30f);
    EXPECT_FLOAT_EQ(y[0], 1e-30f * 2 / std::sqrt(5.0f));
    EXPECT_FLOAT_EQ(y[1], -1e-30f / std::sqrt(5.0f));
  });
}

TEST(Clip, ZeroNormAndZeroLimit) {
  EXPECT_EQ(norm_of({0, 0, -0.0f}), 0);
  EXPECT_EQ(clipped({0, 0}, 1), (std::vector<float>{0, 0}));
  EXPECT_EQ(clipped({0, 0}, 0), (std::vector<float>{0, 0}));
  EXPECT_EQ(clipped({3, -4}, 0), (std::vector<float>{0, 0}));
}

TEST(Clip, NaNAndInfinityFlowThrough) {
  EXPECT_TRUE(std::isnan(norm_of({1, kNaN, 2})));
  EXPECT_EQ(norm_of({1, -kInf, 2}), kInf);
  for (const float y : clipped({1, kNaN, 2}, 1)) EXPECT_TRUE(std::isnan(y));
  const std::vector<float> y = clipped({1, kInf, 2}, 1);
  EXPECT_EQ(y[0], 0);
  EXPECT_TRUE(std::isnan(y[1]));
  std::vector<float> x = {kNaN, -kInf, kInf, 0.5f};
  BNNSNDArrayDescriptor d = vector_of(4, x.data());
  ASSERT_EQ(BNNSClipByValue(&d, &d, -1, 1), 0);
  EXPECT_TRUE(std::isnan(x[0]));
  EXPECT_EQ(x[1], -1);
  EXPECT_EQ(x[2], 1);
  EXPECT_EQ(x[3], 0.5f);
  // Half of infinity is infinity on every target; a given norm hides it.
  for_targets([](const char* target) {
    std::vector<float> v(21, kInf);
    BNNSNDArrayDescriptor tensor = vector_of(v.size(), v.data());
    BNNSNDArrayDescriptor* dest = &tensor;
    const BNNSNDArrayDescriptor* src = &tensor;
    ASSERT_EQ(BNNSClipByGlobalNorm(&dest, &src, 1, 1, 2), 0);
    EXPECT_EQ(v, std::vector<float>(21, kInf)) << target;
  });
}

TEST(Clip, BackwardOfZeroNormIsZero) {
  std::vector<float> x = {0, 0, 3, 4}, y = {0, 5}, dy = {7, 10}, dx(4, 1);
  BNNSNDArrayDescriptor in_delta = matrix_of(2, 2, dx.data());
  const BNNSNDArrayDescriptor out_delta = vector_of(2, dy.data());
  ASSERT_EQ(BNNSComputeNormBackward(x.data(), &in_delta, y.data(), &out_delta, BNNSL2Norm, 2), 0);
  EXPECT_EQ(dx, (std::vector<float>{0, 0, 6, 8}));
  in_delta.flags = BNNSNDArrayFlagBackpropAccumulate;
  ASSERT_EQ(BNNSComputeNormBackward(x.data(), &in_delta, y.data(), &out_delta, BNNSL2Norm, 2), 0);
  EXPECT_EQ(dx, (std::vector<float>{0, 0, 12, 16}));
  // Without data the gradient is not wanted.
  in_delta.data = nullptr;
  EXPECT_EQ(BNNSComputeNormBackward(x.data(), &in_delta, y.data(), &out_delta, BNNSL2Norm, 2), 0);
  EXPECT_EQ(dx, (std::vector<float>{0, 0, 12, 16}));
}

// The norms over the channels of {3, 2, 4} in every dense array of six elements: x runs fastest. Of
// a FirstMajor source the last axis does.
TEST(Clip, NormsInDenseArraysOfOtherShapes) {
  std::vector<float> x(24);
  for (size_t i = 0; i < 6; ++i) x[i] = static_cast<float>(i + 1);
  const BNNSNDArrayDescriptor image = array(BNNSDataLayoutImageCHW, {3, 2, 4}, x.data());
  const BNNSNDArrayDescriptor first = array(BNNSDataLayout3DFirstMajor, {4, 2, 3}, x.data());
  const std::vector<float> expected = {1, 2, 3, 4, 5, 6};
  for (const auto& [src, flags] : {std::pair(&image, 4u), std::pair(&first, 1u)}) {
    for (BNNSNDArrayDescriptor dest :
         {vector_of(6), array(BNNSDataLayoutImageCHW, {3, 2, 1}),
          array(BNNSDataLayout4DFirstMajor, {1, 3, 1, 2}),
          array(BNNSDataLayout2DFirstMajor, {6, 1}),
          array(BNNSDataLayoutConvolutionWeightsOIHrWr, {6, 1, 1, 1})}) {
      std::vector<float> y(6);
      dest.data = y.data();
      ASSERT_EQ(BNNSComputeNorm(&dest, src, BNNSL2Norm, flags), 0) << OpenBNNSGetLastError();
      EXPECT_EQ(y, expected);
    }
  }
}

// Thousands of tensors, each clipped where it lies, sources shared by two destinations among them.
TEST(Clip, ManyTensors) {
  constexpr size_t kCount = 3000;
  std::vector<float> x(kCount, 2), copy(kCount);
  std::vector<BNNSNDArrayDescriptor> in_place, other;
  for (size_t i = 0; i < kCount; ++i) {
    in_place.push_back(vector_of(1, &x[i]));
    other.push_back(vector_of(1, &copy[i]));
  }
  std::vector<BNNSNDArrayDescriptor*> dest;
  std::vector<const BNNSNDArrayDescriptor*> src;
  for (size_t i = 0; i < kCount; ++i) {
    dest.push_back(&other[i]);
    src.push_back(&in_place[i / 2]);  // every source twice
  }
  // The norm of 3000 twos is 2 sqrt(3000).
  const auto half = static_cast<float>(std::sqrt(3000.0));
  ASSERT_EQ(BNNSClipByGlobalNorm(dest.data(), src.data(), kCount, half, 0), 0)
      << OpenBNNSGetLastError();
  for (const float v : copy) ASSERT_FLOAT_EQ(v, 1);
  for (size_t i = 0; i < kCount; ++i) src[i] = dest[i] = &in_place[i];
  ASSERT_EQ(BNNSClipByGlobalNorm(dest.data(), src.data(), kCount, half, 0), 0)
      << OpenBNNSGetLastError();
  for (const float v : x) ASSERT_FLOAT_EQ(v, 1);
  EXPECT_EQ(BNNSClipByGlobalNorm(nullptr, nullptr, 0, 1, 0), 0);
}

// One tensor written by two, or read by one and written by another, anywhere in the list.
TEST(Clip, TensorsOfOneCallMustBeApart) {
  std::vector<float> x(40, 1), y(40, 1);
  const auto refused = [&](BNNSNDArrayDescriptor d0, BNNSNDArrayDescriptor s0,
                           BNNSNDArrayDescriptor d1, BNNSNDArrayDescriptor s1, const char* a,
                           const char* b) {
    BNNSNDArrayDescriptor* dest[] = {&d0, &d1};
    const BNNSNDArrayDescriptor* src[] = {&s0, &s1};
    const std::vector<float> before_x = x, before_y = y;
    EXPECT_NE(BNNSClipByGlobalNorm(dest, src, 2, 0.5f, 0), 0);
    const std::string reason = OpenBNNSGetLastError();
    EXPECT_NE(reason.find(a), std::string::npos) << reason;
    EXPECT_NE(reason.find(b), std::string::npos) << reason;
    EXPECT_EQ(x, before_x);
    EXPECT_EQ(y, before_y);
  };
  const auto at = [](float* p, size_t n) { return vector_of(n, p); };
  refused(at(&y[0], 4), at(&x[0], 4), at(&y[3], 4), at(&x[4], 4), "dest[0]", "dest[1]");
  refused(at(&y[0], 4), at(&x[0], 4), at(&x[2], 4), at(&x[8], 4), "src[0]", "dest[1]");
  refused(at(&x[8], 4), at(&x[0], 4), at(&y[0], 4), at(&x[11], 4), "dest[0]", "src[1]");
  refused(at(&x[0], 4), at(&x[0], 4), at(&y[0], 4), at(&x[3], 4), "dest[0]", "src[1]");
  refused(at(&y[0], 4), at(&x[0], 4), at(&x[20], 4), at(&x[21], 4), "dest[1]", "src[1]");
  refused(at(&y[0], 20), at(&x[0], 20), at(&y[5], 1), at(&x[30], 1), "dest[0]", "dest[1]");
}

TEST(Clip, TensorsOfDifferentTypesShareANorm) {
  uint16_t half[] = {0x4200, 0x4400}, brain[] = {0x4140};  // 3, 4; 12
  BNNSNDArrayDescriptor a = vector_of(2, half, BNNSDataTypeFloat16);
  BNNSNDArrayDescriptor b = vector_of(1, brain, BNNSDataTypeBFloat16);
  BNNSNDArrayDescriptor* dest[] = {&a, &b};
  const BNNSNDArrayDescriptor* src[] = {&a, &b};
  ASSERT_EQ(BNNSClipByGlobalNorm(dest, src, 2, 6.5f, 0), 0) << OpenBNNSGetLastError();
  EXPECT_EQ(half[0], 0x3E00);   // 1.5
  EXPECT_EQ(half[1], 0x4000);   // 2
  EXPECT_EQ(brain[0], 0x40C0);  // 6
}

}  // namespace
}  // namespace bnns::test
