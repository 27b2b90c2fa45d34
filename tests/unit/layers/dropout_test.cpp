// What the spec cannot see of dropout, because it looks at the first call of a filter: the streams
// of further calls, of other filters and of seed 0; which call backward belongs to; frequencies.
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "support/call_builder.h"
#include "support/hooks.h"

namespace bnns::test {
namespace {

using ::test::Hooks;
using Floats = std::vector<float>;
constexpr size_t kSize = 1000;

struct Settings {
  float rate = 0.5f;
  uint32_t seed = 5;
  uint8_t control = 0;
  size_t size = kSize;
};

Filter make_dropout(const Settings& s, const BNNSFilterParameters* options = nullptr) {
  BNNSLayerParametersDropout p = {};
  p.i_desc = p.o_desc = vector_of(s.size);
  p.rate = s.rate;
  p.seed = s.seed;
  p.control = s.control;
  return Filter(BNNSFilterCreateLayerDropout(&p, options));
}

Floats apply(const Filter& filter, size_t batch = 1, size_t size = kSize) {
  const Floats x(batch * size, 1.0f);
  Floats y(batch * size);
  EXPECT_EQ(BNNSFilterApplyBatch(filter.get(), batch, x.data(), 0, y.data(), 0), 0)
      << OpenBNNSGetLastError();
  return y;
}

// The gradient of ones; empty if the call was refused.
Floats backward(const Filter& filter, size_t batch = 1) {
  Floats dy(batch * kSize, 1.0f), dx(batch * kSize);
  BNNSNDArrayDescriptor in = vector_of(kSize, dx.data()), out = vector_of(kSize, dy.data());
  if (BNNSFilterApplyBackwardBatch(filter.get(), batch, nullptr, 0, &in, 0, nullptr, 0, &out, 0,
                                   nullptr, nullptr) != 0)
    return {};
  return dx;
}

TEST(Dropout, EveryCallDrawsAnewAndEveryFilterOfASeedAlike) {
  const Filter one = make_dropout({}), other = make_dropout({}), third = make_dropout({.seed = 6});
  const Floats first = apply(one), second = apply(one);
  EXPECT_NE(first, second);
  EXPECT_EQ(apply(other), first);
  EXPECT_EQ(apply(other), second);
  EXPECT_NE(apply(third), first);
}

TEST(Dropout, SeedZeroIsAnotherOneForEveryFilter) {
  const Filter one = make_dropout({.seed = 0}), other = make_dropout({.seed = 0});
  const Floats first = apply(one);
  EXPECT_NE(apply(one), first);
  EXPECT_NE(apply(other), first);
}

TEST(Dropout, ABatchDrawsForEverySample) {
  const Filter filter = make_dropout({});
  const Floats y = apply(filter, 2);
  EXPECT_NE(Floats(y.begin(), y.begin() + kSize), Floats(y.begin() + kSize, y.end()));
  EXPECT_EQ(backward(filter, 2), y);
}

TEST(Dropout, BackwardBelongsToTheLastForwardCall) {
  const Filter filter = make_dropout({});
  EXPECT_EQ(backward(filter), Floats()) << "there was no forward call";
  apply(filter);
  const Floats y = apply(filter);
  EXPECT_EQ(backward(filter), y);
  EXPECT_EQ(BNNSFilterApply(filter.get(), y.data(), nullptr), -1);
  EXPECT_EQ(BNNSFilterApplyBatch(filter.get(), 0, nullptr, 0, nullptr, 0), 0);
  EXPECT_EQ(OpenBNNSFilterReserve(filter.get(), 50, 2), 0);
  EXPECT_EQ(backward(filter), y) << "neither of these is a forward call";
  EXPECT_EQ(backward(filter, 2), Floats()) << "of another batch";
}

// A call for which there is no memory draws nothing.
TEST(Dropout, AFailedCallTakesNoNumbers) {
  Hooks::instance().reset();
  const BNNSFilterParameters options = {0, 1, Hooks::alloc, Hooks::release};
  {
    const Filter filter = make_dropout({}, &options), other = make_dropout({});
    Hooks::instance().fail(0, SIZE_MAX);
    const Floats x(kSize, 1.0f);
    Floats y(kSize, 7.0f);
    EXPECT_EQ(BNNSFilterApply(filter.get(), x.data(), y.data()), -1);
    EXPECT_EQ(y, Floats(kSize, 7.0f));
    Hooks::instance().fail_none();
    EXPECT_EQ(apply(filter), apply(other));
  }
  EXPECT_EQ(Hooks::instance().live(), 0u);
}

// The count of kept elements lies within five standard deviations; so does that of equal neighbours
// in one call and of equal decisions in two calls.
TEST(Dropout, Frequencies) {
  constexpr size_t kMany = 400000;
  for (const float rate : {0.0f, 0.01f, 0.1f, 0.5f, 0.75f, 0.99f}) {
    SCOPED_TRACE(rate);
    const Filter filter = make_dropout({.rate = rate, .size = kMany});
    const Floats a = apply(filter, 1, kMany), b = apply(filter, 1, kMany);
    const auto scale = static_cast<float>(1 / (1 - double{rate}));
    size_t kept = 0, neighbours = 0, again = 0;
    for (size_t i = 0; i < kMany; ++i) {
      ASSERT_TRUE(a[i] == 0 || a[i] == scale);
      kept += a[i] != 0;
      neighbours += a[i] == a[(i + 1) % kMany];
      again += a[i] == b[i];
    }
    const auto expect_frequency = [&](size_t count, double p, const char* what) {
      const double n = static_cast<double>(kMany), deviation = std::sqrt(n * p * (1 - p));
      EXPECT_NEAR(static_cast<double>(count), n * p, 5 * deviation + 0.1) << what;
    };
    const double p = 1 - double{rate}, equal = p * p + (1 - p) * (1 - p);
    expect_frequency(kept, p, "kept");
    // Each element is part of two pairs, which doubles the variance at most.
    EXPECT_NEAR(static_cast<double>(neighbours) / kMany, equal, 10 / std::sqrt(double{kMany}));
    expect_frequency(again, equal, "in two calls");
  }
}

// Dropping is choosing 0, not multiplying by it.
TEST(Dropout, NanAndInfinityAreDroppedToo) {
  const Filter filter = make_dropout({});
  Floats x(kSize);
  for (size_t i = 0; i < kSize; ++i) x[i] = i % 2 == 0 ? NAN : -INFINITY;
  Floats y(kSize);
  ASSERT_EQ(BNNSFilterApply(filter.get(), x.data(), y.data()), 0);
  size_t dropped = 0;
  for (size_t i = 0; i < kSize; ++i) {
    dropped += y[i] == 0;
    EXPECT_TRUE(y[i] == 0 || (i % 2 == 0 ? std::isnan(y[i]) : y[i] == -INFINITY));
  }
  EXPECT_GT(dropped, 400u);
  EXPECT_LT(dropped, 600u);
}

}  // namespace
}  // namespace bnns::test
