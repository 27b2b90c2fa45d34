// The best values along an axis: what the spec's runner does not see. Exact bits, NaN, orders that
// are the worst for the selection, memory.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "support/call_builder.h"
#include "support/hooks.h"

namespace bnns::test {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
const float kNaN = std::nanf("");

struct Best {
  std::vector<float> values;
  std::vector<int32_t> indices;
};

Best best_of(std::vector<float> x, size_t k, const BNNSFilterParameters* options = nullptr) {
  Best best = {std::vector<float>(k, -7), std::vector<int32_t>(k, -7)};
  const BNNSNDArrayDescriptor in = vector_of(x.size(), x.data());
  BNNSNDArrayDescriptor values = vector_of(k, best.values.data());
  BNNSNDArrayDescriptor indices = vector_of(k, best.indices.data(), BNNSDataTypeInt32);
  EXPECT_EQ(BNNSDirectApplyTopK(k, 0, 1, &in, 0, &values, 0, &indices, 0, options), 0)
      << OpenBNNSGetLastError();
  return best;
}

Best naive(const std::vector<float>& x, size_t k) {
  std::vector<int32_t> order(x.size());
  std::iota(order.begin(), order.end(), 0);
  const auto at = [&](int32_t i) { return x[static_cast<size_t>(i)]; };
  std::stable_sort(order.begin(), order.end(), [&](int32_t a, int32_t b) {
    return !std::isnan(at(b)) && (std::isnan(at(a)) || at(a) > at(b));
  });
  order.resize(k);
  Best best = {{}, order};
  for (const int32_t i : order) best.values.push_back(at(i));
  return best;
}

void expect_equal(const Best& got, const Best& expected) {
  EXPECT_EQ(got.indices, expected.indices);
  // Bit by bit: a zero keeps its sign, a NaN its payload.
  EXPECT_EQ(std::memcmp(got.values.data(), expected.values.data(),
                        expected.values.size() * sizeof(float)),
            0);
}

TEST(TopK, EveryOrderAndLength) {
  std::mt19937 random(3);
  for_targets([&](const char* target) {
    SCOPED_TRACE(target);
    for (const size_t n : {1, 2, 15, 16, 17, 63, 64, 65, 300, 1200, 2500}) {
      std::vector<float> ascending(n), equal(n, 1.5f), mixed(n), few(n);
      std::iota(ascending.begin(), ascending.end(), -20.0f);
      for (float& v : mixed) v = static_cast<float>(random() % 1000) - 500;
      for (float& v : few) v = random() % 2 == 0 ? -0.0f : 0.0f;
      const std::vector<float> descending(ascending.rbegin(), ascending.rend());
      for (const auto& x : {ascending, descending, equal, mixed, few}) {
        for (const size_t k : {size_t{1}, size_t{5}, size_t{32}, size_t{33}, n / 2, n}) {
          if (k >= 1 && k <= n) expect_equal(best_of(x, k), naive(x, k));
        }
      }
    }
  });
}

TEST(TopK, NaNIsAboveAll) {
  std::mt19937 random(4);
  const float payload = std::nanf("77");
  const float numbers[] = {kNaN, payload, -kNaN, kInf, -kInf, 0, -0.0f, 3, -3, 1e-45f, -1e-45f};
  for_targets([&](const char* target) {
    SCOPED_TRACE(target);
    for (size_t n = 1; n <= 130; ++n) {
      std::vector<float> x(n);
      for (float& v : x) v = numbers[random() % std::size(numbers)];
      for (const size_t k : {size_t{1}, (n + 1) / 2, n}) expect_equal(best_of(x, k), naive(x, k));
    }
    std::vector<float> x(2000, kNaN);
    x[7] = 3;
    expect_equal(best_of(x, 40), naive(x, 40));
    expect_equal(best_of(x, 4), naive(x, 4));
  });
  expect_equal(best_of({1, kInf, kNaN, 2}, 3), {{kNaN, kInf, 2}, {2, 1, 3}});
}

TEST(TopK, RowsSideBySide) {
  std::mt19937 random(5);
  for_targets([&](const char* target) {
    SCOPED_TRACE(target);
    constexpr size_t kLength = 130, kK = 7;
    for (const size_t columns : {1, 3, 4, 15, 16, 17, 40}) {
      std::vector<float> x(kLength * columns), values(kK * columns);
      std::vector<int32_t> indices(kK * columns);
      for (float& v : x) v = random() % 40 == 0 ? kNaN : static_cast<float>(random() % 90);
      const BNNSNDArrayDescriptor in = matrix_of(columns, kLength, x.data());
      BNNSNDArrayDescriptor best = matrix_of(columns, kK, values.data());
      BNNSNDArrayDescriptor places = matrix_of(columns, kK, indices.data(), BNNSDataTypeInt32);
      ASSERT_EQ(BNNSDirectApplyTopK(kK, 0, 1, &in, 0, &best, 0, &places, 0, nullptr), 0);
      for (size_t c = 0; c < columns; ++c) {
        std::vector<float> column;
        for (size_t r = 0; r < kLength; ++r) column.push_back(x[r * columns + c]);
        Best got;
        for (size_t j = 0; j < kK; ++j) {
          got.values.push_back(values[j * columns + c]);
          got.indices.push_back(indices[j * columns + c]);
        }
        expect_equal(got, naive(column, kK));
      }
    }
  });
}

std::vector<uint8_t> in_best(std::vector<float> x, std::vector<int32_t> tested, size_t k) {
  const size_t rows = tested.size();
  std::vector<uint8_t> result(rows, 7);
  const BNNSNDArrayDescriptor in = matrix_of(x.size() / rows, rows, x.data());
  const BNNSNDArrayDescriptor test = vector_of(rows, tested.data(), BNNSDataTypeInt32);
  BNNSNDArrayDescriptor out = vector_of(rows, result.data(), BNNSDataTypeBoolean);
  EXPECT_EQ(BNNSDirectApplyInTopK(k, 1, 1, &in, 0, &test, 0, &out, 0, nullptr), 0)
      << OpenBNNSGetLastError();
  return result;
}

TEST(TopK, EqualsOfTheLastAreAmongTheBest) {
  const std::vector<float> x = {5, 3, 3, 3, 1, 5, 3, 3, 3, 1, 5, 3, 3, 3, 1};
  EXPECT_EQ(in_best(x, {0, 3, 4}, 1), (std::vector<uint8_t>{1, 0, 0}));
  EXPECT_EQ(in_best(x, {1, 3, 4}, 2), (std::vector<uint8_t>{1, 1, 0}));
  EXPECT_EQ(in_best(x, {1, 3, 4}, 4), (std::vector<uint8_t>{1, 1, 0}));
  EXPECT_EQ(in_best(x, {1, 3, 4}, 5), (std::vector<uint8_t>{1, 1, 1}));
}

TEST(TopK, TestedNaN) {
  const std::vector<float> x = {kNaN, kInf, 1, kNaN, kNaN, kInf, 1, kNaN, kNaN, kInf, 1, kNaN};
  EXPECT_EQ(in_best(x, {0, 3, 1}, 1), (std::vector<uint8_t>{1, 1, 0}));
  EXPECT_EQ(in_best(x, {0, 1, 2}, 3), (std::vector<uint8_t>{1, 1, 0}));
}

TEST(TopK, NothingForNoSamples) {
  float x[2] = {1, 2}, y[1] = {-7};
  const BNNSNDArrayDescriptor in = vector_of(2, x);
  BNNSNDArrayDescriptor best = vector_of(1, y);
  EXPECT_EQ(BNNSDirectApplyTopK(1, 0, 0, &in, 0, &best, 0, nullptr, 0, nullptr), 0);
  EXPECT_EQ(y[0], -7);
  BNNSNDArrayDescriptor no_data = vector_of(1, nullptr, BNNSDataTypeInt32);
  EXPECT_EQ(BNNSDirectApplyTopK(1, 0, 1, &in, 0, &best, 0, &no_data, 0, nullptr), 0);
  EXPECT_EQ(y[0], 2);
}

TEST(TopK, LongListsTakeMemoryOfTheClient) {
  auto& hooks = ::test::Hooks::instance();
  const BNNSFilterParameters options = {
      .n_threads = 1, .alloc_memory = ::test::Hooks::alloc, .free_memory = ::test::Hooks::release};
  std::vector<float> x(100), y(100, -7);
  std::iota(x.begin(), x.end(), 0.0f);
  hooks.reset();
  best_of(x, 5, &options);
  EXPECT_EQ(hooks.allocations(), 0u);
  best_of(x, 50, &options);
  EXPECT_EQ(hooks.allocations(), 1u);
  EXPECT_EQ(hooks.live(), 0u);
  hooks.fail(2, 2);
  const BNNSNDArrayDescriptor in = vector_of(100, x.data());
  BNNSNDArrayDescriptor best = vector_of(50, y.data());
  EXPECT_EQ(BNNSDirectApplyTopK(50, 0, 1, &in, 0, &best, 0, nullptr, 0, &options), -1);
  EXPECT_NE(std::string(OpenBNNSGetLastError()).find("memory"), std::string::npos);
  EXPECT_EQ(y, std::vector<float>(100, -7));
  hooks.reset();
}

}  // namespace
}  // namespace bnns::test
