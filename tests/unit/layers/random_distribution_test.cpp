// Random generators: distributions of what they fill arrays with.
//
// Statistical bounds follow from the sample size alone. Moments may be off by 6 standard errors
// (a correct generator fails once in 5e8 tries), chi-square statistics by what corresponds to 6
// standard deviations (Wilson-Hilferty), distributions by the Kolmogorov-Smirnov distance that is
// exceeded once in 1e9. Seeds are fixed, so that a failure stays.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "support/random_call.h"
#include "support/sanitizers.h"

namespace bnns::test {
namespace {

constexpr double kErrors = 6;
constexpr size_t kSample = ::test::kSanitized ? 20000 : 400000;

double chi_square_limit(double degrees) {
  const double c = 2 / (9 * degrees);
  return degrees * std::pow(1 - c + kErrors * std::sqrt(c), 3);
}

void expect_counts(const std::vector<size_t>& counts, const std::vector<double>& probabilities) {
  double n = 0, statistic = 0;
  for (size_t count : counts) n += static_cast<double>(count);
  for (size_t k = 0; k < counts.size(); ++k) {
    const double expected = n * probabilities[k];
    ASSERT_GT(expected, 20) << "too few samples for class " << k;
    statistic += std::pow(static_cast<double>(counts[k]) - expected, 2) / expected;
  }
  EXPECT_LT(statistic, chi_square_limit(static_cast<double>(counts.size()) - 1));
}

template <class F>
void expect_distribution(std::vector<double> sample, F distribution) {
  std::sort(sample.begin(), sample.end());
  const auto n = static_cast<double>(sample.size());
  double distance = 0;
  for (size_t i = 0; i < sample.size(); ++i) {
    const double f = distribution(sample[i]), below = static_cast<double>(i) / n;
    distance = std::max({distance, std::abs(f - below), std::abs(f - below - 1 / n)});
  }
  EXPECT_LT(distance, std::sqrt(std::log(2e9) / 2 / n));
}

std::vector<double> uniform_sample(uint64_t seed, size_t n, BNNSDataType type, float a, float b) {
  const Generator g(seed);
  Stored y(n, type);
  EXPECT_EQ(BNNSRandomFillUniformFloat(g.get(), y.desc(), a, b), 0) << OpenBNNSGetLastError();
  return y.values();
}

// ---- Uniform floats ----

TEST(Random, UniformDistribution) {
  for (const auto& [a, b] : std::initializer_list<std::pair<float, float>>{
           {0, 1}, {-3, 5}, {1e-30f, 1e-29f}, {-3e38f, 3e38f}, {100, 100.5f}}) {
    const std::vector<double> y = uniform_sample(11, kSample, BNNSDataTypeFloat32, a, b);
    const double from = double{a}, width = double{b} - double{a};
    double sum = 0, squares = 0;
    for (const double v : y) {
      ASSERT_GE(v, from);
      ASSERT_LT(v, double{b});
      const double u = (v - from) / width;
      sum += u;
      squares += (u - 0.5) * (u - 0.5);
    }
    const auto n = static_cast<double>(y.size());
    // Rounding down to floats moves values by less than the spacing at the larger bound.
    const double spacing = std::max(std::abs(from), std::abs(double{b})) * 0x1p-23 / width;
    EXPECT_NEAR(sum / n, 0.5, kErrors / std::sqrt(12 * n) + spacing);
    EXPECT_NEAR(squares / n, 1.0 / 12, kErrors / std::sqrt(180 * n) + spacing);
    std::vector<double> u;
    for (const double v : y) u.push_back((v - from) / width);
    if (spacing < 1e-6) expect_distribution(u, [](double v) { return v; });
  }
}

// Neighbouring elements, and those far apart, are not correlated.
TEST(Random, ElementsAreIndependent) {
  const std::vector<double> y = uniform_sample(12, kSample, BNNSDataTypeFloat32, -1, 1);
  for (const size_t lag : {1, 2, 3, 4, 16, 255, 256, 4096}) {
    double sum = 0;
    for (size_t i = 0; i + lag < y.size(); ++i) sum += y[i] * y[i + lag];
    const auto n = static_cast<double>(y.size() - lag);
    EXPECT_LT(std::abs(sum / n), kErrors / 3 / std::sqrt(n)) << lag;  // variance of a product: 1/9
  }
}

// Of a few values of the type in [a, b) each comes with the share of numbers it stands for.
TEST(Random, HalfOpenInEveryType) {
  struct Range {
    BNNSDataType type;
    float a, b;
    std::vector<double> values;
  };
  const Range ranges[] = {
      {BNNSDataTypeFloat16,
       1,
       1 + 4 / 1024.0f,
       {1, 1 + 1 / 1024.0, 1 + 2 / 1024.0, 1 + 3 / 1024.0}},
      {BNNSDataTypeBFloat16, 1, 1 + 4 / 128.0f, {1, 1 + 1 / 128.0, 1 + 2 / 128.0, 1 + 3 / 128.0}},
      {BNNSDataTypeFloat16, -0x2p-24f, 0x2p-24f, {-0x2p-24, -0x1p-24, 0, 0x1p-24}},
      {BNNSDataTypeFloat32, 0x1p24f, 0x1p24f + 8, {0x1p24, 0x1p24 + 2, 0x1p24 + 4, 0x1p24 + 6}},
      {BNNSDataTypeFloat32,
       -0x1p24f - 8,
       -0x1p24f,
       {-0x1p24 - 8, -0x1p24 - 6, -0x1p24 - 4, -0x1p24 - 2}},
      {BNNSDataTypeFloat16, -2048 - 8, -2048, {-2056, -2054, -2052, -2050}},
  };
  for (const Range& r : ranges) {
    const std::vector<double> y = uniform_sample(13, 40000, r.type, r.a, r.b);
    std::vector<size_t> counts(r.values.size());
    for (const double v : y) {
      const auto found = std::find(r.values.begin(), r.values.end(), v);
      ASSERT_NE(found, r.values.end()) << v;
      ++counts[static_cast<size_t>(found - r.values.begin())];
    }
    expect_counts(counts,
                  std::vector<double>(counts.size(), 1.0 / static_cast<double>(counts.size())));
  }
}

// Bounds that are no values of the type, and bounds beyond it.
TEST(Random, BoundsBetweenAndBeyondValues) {
  for (const auto& [a, b] : std::initializer_list<std::pair<float, float>>{
           {0.1f, 0.3f}, {-0.3f, -0.1f}, {-1.0f / 3, 1.0f / 3}, {1.0001f, 1.01f}, {-1e6f, 1e6f}}) {
    for (const BNNSDataType type : kFloats) {
      const double limit = type == BNNSDataTypeFloat16 ? 65504 : 3.4e38;
      for (const double v : uniform_sample(14, 20000, type, a, b)) {
        ASSERT_GE(v, std::max(double{a}, -limit));
        ASSERT_LT(v, std::min(double{b}, limit));
      }
    }
  }
}

// ---- Integers ----

TEST(Random, IntegersHitEveryValueEvenly) {
  for (const BNNSDataType type : kIntegers) {
    for (const int64_t width : {1, 2, 3, 10, 100}) {
      const Generator g(15);
      Stored y(50000, type);
      ASSERT_EQ(BNNSRandomFillUniformInt(g.get(), y.desc(), 10, 10 + width), 0);
      std::vector<size_t> counts(static_cast<size_t>(width));
      for (const double v : y.values()) {
        ASSERT_GE(v, 10);
        ASSERT_LT(v, 10 + static_cast<double>(width));
        ++counts[static_cast<size_t>(v) - 10];
      }
      if (width > 1)
        expect_counts(counts, std::vector<double>(counts.size(), 1 / static_cast<double>(width)));
      EXPECT_EQ(std::count(counts.begin(), counts.end(), size_t{0}), 0);
    }
  }
}

TEST(Random, IntegerBoundsAreTakenIntoTheType) {
  const auto extremes = [](BNNSDataType type, int64_t a, int64_t b) {
    const Generator g(16);
    Stored y(20000, type);
    EXPECT_EQ(BNNSRandomFillUniformInt(g.get(), y.desc(), a, b), 0) << OpenBNNSGetLastError();
    const std::vector<double> v = y.values();
    return std::pair(*std::min_element(v.begin(), v.end()), *std::max_element(v.begin(), v.end()));
  };
  using Pair = std::pair<double, double>;
  EXPECT_EQ(extremes(BNNSDataTypeInt8, INT64_MIN, INT64_MAX), Pair(-128, 126));
  EXPECT_EQ(extremes(BNNSDataTypeUInt8, -5, 1000), Pair(0, 254));
  EXPECT_EQ(extremes(BNNSDataTypeInt8, -200, -120), Pair(-128, -121));
  EXPECT_EQ(extremes(BNNSDataTypeUInt64, -7, 3), Pair(0, 2));
  const Pair wide = extremes(BNNSDataTypeInt64, INT64_MIN, INT64_MAX);
  EXPECT_LT(wide.first, -0x1p62);
  EXPECT_GT(wide.second, 0x1p62);
}

// A remainder of 64-bit numbers by 3/4 of 2^64 would give the lowest third half of all draws.
TEST(Random, WideIntegersAreNotBiased) {
  const Generator g(17);
  Stored y(60000, BNNSDataTypeInt64);
  constexpr int64_t kQuarter = int64_t{1} << 62;
  ASSERT_EQ(BNNSRandomFillUniformInt(g.get(), y.desc(), -2 * kQuarter, kQuarter), 0);
  std::vector<size_t> counts(3);
  for (const double v : y.values()) ++counts[static_cast<size_t>(v / 0x1p62 + 2)];
  expect_counts(counts, {1 / 3.0, 1 / 3.0, 1 / 3.0});
}

// ---- Normal ----

TEST(Random, NormalDistribution) {
  for (const auto& [mean, stddev] :
       std::initializer_list<std::pair<float, float>>{{0, 1}, {-4, 0.25f}, {1e10f, 3e9f}}) {
    const Generator g(18);
    Stored y(kSample, BNNSDataTypeFloat32);
    ASSERT_EQ(BNNSRandomFillNormalFloat(g.get(), y.desc(), mean, stddev), 0);
    std::vector<double> z;
    double power[4] = {};
    for (const double v : y.values()) {
      z.push_back((v - double{mean}) / double{stddev});
      for (size_t p = 0; p < 4; ++p) power[p] += std::pow(z.back(), p + 1);
    }
    const auto n = static_cast<double>(z.size());
    // Moments 0, 1, 0, 3; variances of the powers 1, 2, 15, 96. Floats round by 2^-24 of the mean.
    const double moment[] = {0, 1, 0, 3}, variance[] = {1, 2, 15, 96};
    for (size_t p = 0; p < 4; ++p)
      EXPECT_NEAR(power[p] / n, moment[p], kErrors * std::sqrt(variance[p] / n) + 1e-6) << p + 1;
    expect_distribution(z, [](double v) { return 0.5 * std::erfc(-v / std::sqrt(2.0)); });
  }
}

TEST(Random, NormalInEveryType) {
  for (const BNNSDataType type : kFloats) {
    const Generator g(19);
    Stored y(kSample, type), constant(100, type);
    ASSERT_EQ(BNNSRandomFillNormalFloat(g.get(), y.desc(), 2, 3), 0);
    double sum = 0;
    for (const double v : y.values()) sum += v;
    const auto n = static_cast<double>(kSample);
    EXPECT_NEAR(sum / n, 2, kErrors * 3 / std::sqrt(n));  // rounding to nearest has no mean
    ASSERT_EQ(BNNSRandomFillNormalFloat(g.get(), constant.desc(), 2, 0), 0);
    EXPECT_EQ(constant.values(), std::vector<double>(100, 2));
  }
}

// ---- Categorical ----

TEST(Random, CategoricalFrequencies) {
  const std::vector<double> weights = {1, 0, 5, 0.5, 3, 0, 0.5};
  for (const BNNSDataType type : kFloats) {
    for (const bool logarithms : {false, true}) {
      const Generator g(20);
      Stored y(kSample, type), p(weights.size(), type);
      std::vector<double> given = weights;
      // Large logarithms, whose exponentials overflow without the maximum taken off.
      for (double& w : given) w = logarithms ? std::log(w) + 1000 : w;
      p.set(given);
      ASSERT_EQ(BNNSRandomFillCategoricalFloat(g.get(), y.desc(), p.desc(), logarithms), 0)
          << OpenBNNSGetLastError();
      std::vector<double> shares;
      double total = 0;
      const std::vector<double> stored = p.values();
      for (const double w : stored) {
        shares.push_back(logarithms ? std::exp(w - 1000) : w);
        total += shares.back();
      }
      std::vector<size_t> counts(weights.size()), possible;
      for (const double v : y.values()) ++counts[static_cast<size_t>(v)];
      std::vector<double> possible_shares;
      for (size_t k = 0; k < counts.size(); ++k) {
        if (shares[k] == 0) {
          EXPECT_EQ(counts[k], 0u) << k;
          continue;
        }
        possible.push_back(counts[k]);
        possible_shares.push_back(shares[k] / total);
      }
      expect_counts(possible, possible_shares);
    }
  }
}

// Certain distributions tell which row every element took: row r gives class r.
void expect_rows(const BNNSNDArrayDescriptor& desc_shape, const BNNSNDArrayDescriptor& given,
                 size_t samples, bool samples_fastest) {
  constexpr size_t kRows = 6, kClasses = 6;
  const bool rows_last = given.layout == BNNSDataLayoutRowMajorMatrix;
  std::vector<float> p(kRows * kClasses), y(kRows * samples);
  for (size_t r = 0; r < kRows; ++r) p[rows_last ? r * kClasses + r : r + kRows * r] = 2;
  BNNSNDArrayDescriptor probabilities = given, desc = desc_shape;
  probabilities.data = p.data();
  desc.data = y.data();
  const Generator g(21);
  ASSERT_EQ(BNNSRandomFillCategoricalFloat(g.get(), &desc, &probabilities, false), 0)
      << OpenBNNSGetLastError();
  for (size_t i = 0; i < y.size(); ++i)
    EXPECT_EQ(y[i], static_cast<float>(samples_fastest ? i / samples : i % kRows)) << i;
}

TEST(Random, CategoricalRows) {
  const auto row_major = [](size_t columns) { return matrix_of(columns, 6); };
  const auto column_major = [](size_t columns) {
    return array(BNNSDataLayoutColumnMajorMatrix, {6, columns});
  };
  expect_rows(row_major(4), row_major(6), 4, true);
  expect_rows(column_major(4), row_major(6), 4, false);
  expect_rows(row_major(4), column_major(6), 4, true);
  expect_rows(vector_of(6), row_major(6), 1, false);
  // Two axes of rows: (i, j) of {2, 3}, the last logical size is the number of classes.
  expect_rows(array(BNNSDataLayout3DLastMajor, {2, 3, 5}), array(BNNSDataLayoutImageCHW, {2, 3, 6}),
              5, false);
  expect_rows(array(BNNSDataLayout2DLastMajor, {2, 3}), array(BNNSDataLayout3DLastMajor, {2, 3, 6}),
              1, false);
}

}  // namespace
}  // namespace bnns::test
