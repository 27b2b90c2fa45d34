// Nearest neighbours: what the spec's runner does not see. Samples that come in pieces, outputs
// that are not wanted, copies of a sample, numbers at the ends of the range, NaN, several threads
// on one table, memory.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "support/call_builder.h"
#include "support/hooks.h"

namespace bnns::test {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kMax = std::numeric_limits<float>::max();
const float kNaN = std::nanf("");

class Table {
 public:
  Table(unsigned samples, unsigned features, unsigned neighbors,
        BNNSDataType type = BNNSDataTypeFloat32, const BNNSFilterParameters* options = nullptr)
      : k_(neighbors),
        handle_(BNNSCreateNearestNeighbors(samples, features, neighbors, type, options)) {}
  Table(const Table&) = delete;
  ~Table() { BNNSDestroyNearestNeighbors(handle_); }

  BNNSNearestNeighbors get() const { return handle_; }
  void load(unsigned n, const std::vector<float>& rows) {
    EXPECT_EQ(BNNSNearestNeighborsLoad(handle_, n, rows.data()), 0) << OpenBNNSGetLastError();
  }
  std::vector<int> indices(int sample, size_t rows = 1) const {
    std::vector<int> found(rows * k_, -7);
    EXPECT_EQ(BNNSNearestNeighborsGetInfo(handle_, sample, found.data(), nullptr), 0);
    return found;
  }
  std::vector<float> distances(int sample, size_t rows = 1) const {
    std::vector<float> found(rows * k_, -7);
    EXPECT_EQ(BNNSNearestNeighborsGetInfo(handle_, sample, nullptr, found.data()), 0);
    return found;
  }

 private:
  size_t k_;
  BNNSNearestNeighbors handle_;
};

using Ints = std::vector<int>;
using Floats = std::vector<float>;

TEST(NearestNeighbors, SamplesComeInPieces) {
  Table table(5, 1, 3);
  EXPECT_EQ(BNNSNearestNeighborsGetInfo(table.get(), -1, nullptr, nullptr), 0);
  int untouched = 5;
  EXPECT_EQ(BNNSNearestNeighborsGetInfo(table.get(), -1, &untouched, nullptr), 0);
  EXPECT_EQ(untouched, 5);
  table.load(1, {0});
  EXPECT_EQ(table.indices(0), (Ints{0, -1, -1}));
  EXPECT_EQ(table.distances(0), (Floats{0, kInf, kInf}));
  table.load(2, {1, 2});
  EXPECT_EQ(table.indices(-1, 3), (Ints{0, 1, 2, 1, 0, 2, 2, 1, 0}));
  EXPECT_EQ(BNNSNearestNeighborsLoad(table.get(), 0, nullptr), 0);
  table.load(2, {10, 11});
  EXPECT_EQ(table.indices(3), (Ints{3, 4, 2}));
  EXPECT_EQ(table.distances(3), (Floats{0, 1, 8}));
  const float more[] = {1};
  EXPECT_EQ(BNNSNearestNeighborsLoad(table.get(), 1, more), -1);
  EXPECT_EQ(table.indices(3), (Ints{3, 4, 2}));
}

TEST(NearestNeighbors, ASampleComesBeforeItsCopies) {
  Table table(5, 2, 5);
  table.load(5, {1, 1, 0, 0, 1, 1, 5, 5, 1, 1});
  EXPECT_EQ(table.indices(4), (Ints{4, 0, 2, 1, 3}));
  EXPECT_EQ(table.indices(0), (Ints{0, 2, 4, 1, 3}));
  EXPECT_EQ(table.distances(2)[2], 0);
}

TEST(NearestNeighbors, NaNIsFarthest) {
  for_targets([](const char* target) {
    SCOPED_TRACE(target);
    Table table(40, 1, 40);
    Floats x(40);
    std::iota(x.begin(), x.end(), 0.0f);
    x[3] = kNaN;
    x[30] = kInf;
    table.load(40, x);
    const Ints found = table.indices(0);
    EXPECT_EQ(found[1], 1);
    EXPECT_EQ(found[37], 39);
    EXPECT_EQ(found[38], 30);
    EXPECT_EQ(found[39], 3);
    EXPECT_TRUE(std::isnan(table.distances(0)[39]));
    EXPECT_EQ(table.distances(0)[38], kInf);
    // All are NaN or infinitely far from these; they are 0 from themselves all the same.
    EXPECT_EQ(table.indices(3)[0], 3);
    EXPECT_EQ(table.indices(3)[1], 0);
    EXPECT_EQ(table.distances(3)[0], 0);
    EXPECT_EQ(table.distances(30)[0], 0);
    EXPECT_EQ(table.distances(30)[1], kInf);
  });
}

TEST(NearestNeighbors, SquaresThatAreNoFloats) {
  for_targets([](const char* target) {
    SCOPED_TRACE(target);
    // 3-4-5 triangles, exact in every step.
    for (const int exponent : {120, 100, 60, 30, -50, -100, -140}) {
      const float unit = std::ldexp(1.0f, exponent);
      Table table(3, 2, 3);
      table.load(3, {0, 0, 3 * unit, -4 * unit, 8 * unit, -16 * unit});
      EXPECT_EQ(table.indices(1), (Ints{1, 0, 2})) << exponent;
      EXPECT_EQ(table.distances(1), (Floats{0, 5 * unit, 13 * unit})) << exponent;
    }
    Table table(2, 1, 2);
    table.load(2, {kMax, -kMax});
    EXPECT_EQ(table.distances(1)[1], kInf);
    EXPECT_EQ(table.indices(1)[1], 0);
  });
}

// One sample far away, or tiny numbers beside others, change no distance between the rest.
TEST(NearestNeighbors, SamplesOfVeryDifferentSize) {
  for_targets([](const char* target) {
    SCOPED_TRACE(target);
    for (const float far : {1e5f, 1e10f, 1e20f, 1e30f, 3e38f}) {
      for (const float unit : {1.0f, 1e-25f, 0x1p-148f}) {
        Table table(21, 1, 4);
        table.load(3, {0, 2 * unit, unit});
        table.load(18, Floats(18, far));
        EXPECT_EQ(table.indices(0), (Ints{0, 2, 1, 3})) << far << " " << unit;
        EXPECT_EQ(table.distances(0), (Floats{0, unit, 2 * unit, far})) << far << " " << unit;
        EXPECT_EQ(table.indices(-1, 21)[3 * 4 + 1], 4) << "a copy of a far one";
        EXPECT_EQ(table.distances(-1, 21)[1], unit);
      }
    }
    // Small ones side by side, whose differences are smaller still.
    Table table(4, 1, 4);
    const float step = 0x1p-100f, base = 0x1p-80f;
    table.load(4, {base + 3 * step, base, 1e5f, base + step});
    EXPECT_EQ(table.indices(1), (Ints{1, 3, 0, 2}));
    EXPECT_EQ(table.distances(1), (Floats{0, step, 3 * step, 1e5f}));
  });
}

// Many features of which some are huge; the distances are small whole numbers of a power of two.
TEST(NearestNeighbors, WideTablesOfManyFeatures) {
  for_targets([](const char* target) {
    SCOPED_TRACE(target);
    constexpr unsigned kCount = 37, kFeatures = 131;
    for (const int exponent : {-60, 110}) {
      Floats x(kCount * kFeatures, std::ldexp(1.0f, exponent));
      for (unsigned i = 0; i < kCount; ++i)
        for (const unsigned f : {0u, 70u, 128u, 130u})
          x[i * kFeatures + f] = std::ldexp(static_cast<float>(1 + i), exponent);
      Table table(kCount, kFeatures, 3);
      table.load(kCount, x);
      const float unit = std::ldexp(2.0f, exponent);
      EXPECT_EQ(table.indices(20), (Ints{20, 19, 21}));
      EXPECT_EQ(table.distances(20), (Floats{0, unit, unit}));
      const Ints all = table.indices(-1, kCount);
      EXPECT_EQ(Ints(all.end() - 3, all.end()), (Ints{36, 35, 34}));
    }
  });
}

Floats scattered(size_t n) {
  Floats values(n);
  uint32_t state = 1;
  for (float& v : values) {
    state = state * 1664525 + 1013904223;
    v = static_cast<float>(state >> 8) * 0x1p-22f - 2;
  }
  return values;
}

TEST(NearestNeighbors, DistancesAreSymmetric) {
  for_targets([](const char* target) {
    SCOPED_TRACE(target);
    constexpr unsigned kCount = 45;
    Table table(kCount, 130, kCount);
    table.load(kCount, scattered(kCount * 130));
    const Ints places = table.indices(-1, kCount);
    const Floats distances = table.distances(-1, kCount);
    Floats matrix(kCount * kCount);
    for (size_t i = 0; i < kCount; ++i) {
      for (size_t j = 0; j < kCount; ++j) {
        const auto place = static_cast<size_t>(places[i * kCount + j]);
        matrix[i * kCount + place] = distances[i * kCount + j];
      }
    }
    for (size_t i = 0; i < kCount; ++i) {
      for (size_t j = 0; j < i; ++j) EXPECT_EQ(matrix[i * kCount + j], matrix[j * kCount + i]);
    }
  });
}

TEST(NearestNeighbors, ManyThreadsAskOneTable) {
  constexpr unsigned kCount = 300;
  for (const unsigned k : {7u, 80u}) {
    Table table(kCount, 9, k);
    table.load(kCount, scattered(kCount * 9));
    const Ints expected = table.indices(-1, kCount);
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&, t] {
        for (int i = t; i < 40; i += 4) {
          const auto first = static_cast<ptrdiff_t>(i) * k;
          EXPECT_EQ(table.indices(i), Ints(expected.begin() + first, expected.begin() + first + k));
          EXPECT_EQ(table.indices(-1, kCount), expected);
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
  }
}

::test::Hooks& hooks() {
  return ::test::Hooks::instance();
}

BNNSFilterParameters hooked(size_t threads) {
  return {.n_threads = threads,
          .alloc_memory = ::test::Hooks::alloc,
          .free_memory = ::test::Hooks::release};
}

TEST(NearestNeighbors, AWarmTableAllocatesNothing) {
  constexpr unsigned kCount = 300;
  const Floats samples = scattered(kCount * 9);
  for (const unsigned k : {7u, 80u}) {
    hooks().reset();
    const BNNSFilterParameters options = hooked(2);
    {
      Table table(kCount, 9, k, BNNSDataTypeFloat32, &options);
      table.load(kCount, samples);
      const Ints expected = table.indices(-1, kCount);
      const size_t warm = hooks().allocations();
      EXPECT_EQ(table.indices(-1, kCount), expected);
      table.indices(5);
      EXPECT_EQ(hooks().allocations(), warm);
    }
    EXPECT_EQ(hooks().live(), 0u);
    EXPECT_EQ(hooks().mistakes(), 0u);
  }
}

TEST(NearestNeighbors, AnyAllocationMayFail) {
  constexpr unsigned kCount = 100, kNeighbors = 50;
  const Floats samples = scattered(kCount * 3);
  const BNNSFilterParameters options = hooked(1);
  bool failed = true;
  for (size_t n = 1; failed; ++n) {
    ASSERT_LT(n, 20u);
    hooks().reset();
    hooks().fail(n, n);
    BNNSNearestNeighbors knn =
        BNNSCreateNearestNeighbors(kCount, 3, kNeighbors, BNNSDataTypeFloat32, &options);
    failed = knn == nullptr;
    if (knn != nullptr) {
      EXPECT_EQ(BNNSNearestNeighborsLoad(knn, kCount, samples.data()), 0);
      Ints found(kNeighbors, -7);
      failed = BNNSNearestNeighborsGetInfo(knn, 2, found.data(), nullptr) != 0;
      if (failed) {
        EXPECT_EQ(found, Ints(kNeighbors, -7));
        EXPECT_EQ(BNNSNearestNeighborsGetInfo(knn, 2, found.data(), nullptr), 0);
      }
      EXPECT_EQ(found[0], 2);
    }
    if (failed) {
      EXPECT_NE(std::string(OpenBNNSGetLastError()).find("memory"), std::string::npos);
    }
    BNNSDestroyNearestNeighbors(knn);
    EXPECT_EQ(hooks().live(), 0u);
  }
}

}  // namespace
}  // namespace bnns::test
