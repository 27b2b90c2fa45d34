// The matrix product behind the layers: every way an operand can be given, odd sizes, strides,
// equal bits for any number of threads, exact integers, and the error of long sums.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "math/half.h"
#include "support/gemm_matrix.h"

namespace bnns::impl {
namespace {

// All four cases of transposed operands, with gaps between rows, plain and packed beforehand.
void check_shape(const GemmShape& s) {
  const GemmKernels& kernels = *gemm_kernels();
  Matrix a(s.m, s.k, 3), b(s.k, s.n, 1);
  a.fill_integers(static_cast<unsigned>(s.m));
  b.fill_integers(static_cast<unsigned>(s.n + 100));
  const Matrix a_turned = a.transposed(2), b_turned = b.transposed(5);
  const std::vector<double> expected = right(a, b);
  for (int i = 0; i < 4; ++i) {
    const bool ta = (i & 1) != 0, tb = (i & 2) != 0;
    const Side left = plain(ta ? a_turned : a, ta), other = plain(tb ? b_turned : b, tb);
    PackedMatrix packed_a(Memory(), kernels, GemmSide::kA, s.m, s.k);
    PackedMatrix packed_b(Memory(), kernels, GemmSide::kB, s.n, s.k);
    packed_a.pack(kernels, 1, left.how, left.data);
    packed_b.pack(kernels, 1, other.how, other.data);
    for (int packed = 0; packed < 4; ++packed) {
      Matrix c(s.m, s.n, 2);
      run(1, s, (packed & 1) != 0 ? panels(packed_a) : left,
          (packed & 2) != 0 ? panels(packed_b) : other, {.data = c.values.data(), .row = c.row});
      expect_equal(c, expected, name(s) + " case " + std::to_string(i * 4 + packed));
      if (testing::Test::HasFatalFailure()) return;
    }
  }
}

TEST(Gemm, IntegersAreExactAtOddSizes) {
  for (size_t i = 1; i <= 40; ++i) {
    check_shape({i, 1 + i * 7 % 40, 1 + i * 11 % 40});
    check_shape({1 + i * 13 % 40, i, 1 + i * 3 % 40});
    check_shape({1 + i * 5 % 40, 1 + i * 17 % 40, i});
    if (HasFatalFailure()) return;
  }
}

TEST(Gemm, IntegersAreExactAtEdgesOfBlocks) {
  for (size_t k : {31u, 32u, 33u, 64u, 513u, 1024u, 1025u, 4095u, 4097u, 9000u})
    check_shape({13, 35, k});
  for (const GemmShape& s : {GemmShape{121, 65, 300},
                             {700, 33, 257},
                             {19, 1500, 300},
                             {1, 2000, 40},
                             {3, 1100, 33},
                             {500, 1050, 2},
                             {130, 300, 5000},
                             {1025, 530, 17}})
    check_shape(s);
}

// Few rows meet B, few columns A: neither is packed, unless its rows share the sets of the cache.
// The matrices end with their last value, so that a sanitizer sees reads behind it.
TEST(Gemm, OperandsThatAreReadWhereTheyLie) {
  const GemmKernels& kernels = *gemm_kernels();
  const size_t half = kernels.nr / 2;
  for (const GemmShape& shape : {GemmShape{32, 5 * half, 128}, GemmShape{64, 98 * half, 31},
                                 GemmShape{61, 15 * half, 97}, GemmShape{33, 7 * half, 250}}) {
    for (const size_t gap : {size_t{0}, size_t{3}, 4096 - shape.n}) {
      Matrix a(shape.m, shape.k, gap == 3 ? 5 : 0), b(shape.k, shape.n, gap);
      a.fill_integers(1);
      b.fill_integers(2);
      for (Matrix* m : {&a, &b})
        m->values = std::vector<float>(
            m->values.begin(), m->values.end() - static_cast<ptrdiff_t>(m->row - m->columns));
      const Side left = plain(a, false), right_side = plain(b, false);
      const GemmPlan plan(kernels, shape, left.how, right_side.how);
      EXPECT_EQ(plan.b_in_place, gap <= 3);
      EXPECT_EQ(plan.a_in_place, shape.n <= 128);
      for (const size_t threads : {1u, 3u}) {
        Matrix c(shape.m, shape.n, 2);
        run(threads, shape, left, right_side, {.data = c.values.data(), .row = c.row});
        expect_equal(c, right(a, b), "gap " + std::to_string(gap));
      }
    }
  }
}

TEST(Gemm, AlphaBetaAndBiases) {
  const GemmShape shapes[] = {{1, 9, 20}, {5, 40, 300}, {37, 41, 19}, {40, 64, 600}};
  for (const GemmShape& s : shapes) {
    for (const bool transposed : {false, true}) {
      Matrix a(s.m, s.k), b(s.k, s.n), c(s.m, s.n, 1), row_bias(1, s.m), column_bias(1, s.n);
      a.fill_integers(1);
      b.fill_integers(2);
      c.fill_integers(3);
      row_bias.fill_integers(4);
      column_bias.fill_integers(5);
      std::vector<double> expected = right(a, b);
      for (size_t m = 0; m < s.m; ++m) {
        for (size_t n = 0; n < s.n; ++n) {
          double& e = expected[m * s.n + n];
          e = 0.5 * e + 3 * static_cast<double>(c.at(m, n)) +
              static_cast<double>(row_bias.at(0, m) + column_bias.at(0, n));
        }
      }
      const Matrix turned = b.transposed();
      run(1, s, plain(a, false), plain(transposed ? turned : b, transposed),
          {.data = c.values.data(),
           .row = c.row,
           .epilogue = {.row = {.bias = row_bias.values.data()},
                        .column = {.bias = column_bias.values.data()},
                        .alpha = 0.5f,
                        .beta = 3,
                        .accumulate = true}});
      expect_equal(c, expected, name(s));
    }
  }
}

TEST(Gemm, WhatIsNotAccumulatedIsNotRead) {
  for (const GemmShape& s : {GemmShape{1, 9, 20}, {37, 41, 19}, {40, 64, 600}}) {
    Matrix a(s.m, s.k), b(s.k, s.n), c(s.m, s.n);
    a.fill_integers(1);
    b.fill_integers(2);
    std::fill(c.values.begin(), c.values.end(), NAN);
    run(1, s, plain(a, false), plain(b, false),
        {.data = c.values.data(), .row = c.row, .epilogue = {.beta = 2}});
    expect_equal(c, right(a, b), name(s));
  }
}

// A matrix that packs itself, with a formula instead of memory.
struct Formula {
  size_t width;
  static float value(size_t line, size_t k) {
    return static_cast<float>((line * 5 + k * 3) % 11) - 5;
  }
  static void pack(const void* context, size_t first, size_t count, size_t k0, size_t depth,
                   float* panel) {
    const size_t width = static_cast<const Formula*>(context)->width;
    for (size_t k = 0; k < depth; ++k)
      for (size_t i = 0; i < width; ++i)
        panel[k * width + i] = i < count ? value(first + i, k0 + k) : 0;
  }
};

TEST(Gemm, PackersOnEitherSide) {
  const GemmKernels& kernels = *gemm_kernels();
  for (const GemmShape& s : {GemmShape{7, 9, 5}, {64, 200, 290}, {33, 1000, 30}, {300, 20, 5000}}) {
    Matrix a(s.m, s.k), b(s.k, s.n);
    for (size_t k = 0; k < s.k; ++k) {
      for (size_t m = 0; m < s.m; ++m) a.at(m, k) = Formula::value(m, k);
      for (size_t n = 0; n < s.n; ++n) b.at(k, n) = Formula::value(n, k);
    }
    const Formula left = {kernels.mr}, other = {kernels.nr};
    const GemmPacker pack_a = {Formula::pack, &left}, pack_b = {Formula::pack, &other};
    const Side as[] = {{{.packer = &pack_a}}, plain(a, false)};
    const Side bs[] = {{{.packer = &pack_b}}, plain(b, false)};
    for (const Side& x : as) {
      for (const Side& y : bs) {
        Matrix c(s.m, s.n);
        run(2, s, x, y, {.data = c.values.data(), .row = c.row});
        expect_equal(c, right(a, b), name(s));
      }
    }
  }
}

TEST(Gemm, SmallTypesAreConvertedWhilePacking) {
  const GemmShape s = {45, 70, 150};
  Matrix a(s.m, s.k), b(s.k, s.n);
  a.fill_integers(1);
  b.fill_integers(2);
  const Matrix a_turned = a.transposed(), b_turned = b.transposed();
  const auto encode = [](const Matrix& m, auto to) {
    std::vector<decltype(to(0.0f))> stored;
    for (float v : m.values) stored.push_back(to(v));
    return stored;
  };
  const auto check = [&](BNNSDataType type, auto to, float scale, float bias) {
    for (const bool turned : {false, true}) {
      const auto left = encode(turned ? a_turned : a, to),
                 other = encode(turned ? b_turned : b, to);
      const auto operand = [&](const auto& stored, size_t row) {
        return Side{{.row = row, .transposed = turned, .type = type, .scale = scale, .bias = bias},
                    stored.data()};
      };
      Matrix c(s.m, s.n);
      run(1, s, operand(left, turned ? s.m : s.k), operand(other, turned ? s.k : s.n),
          {.data = c.values.data(), .row = c.row});
      expect_equal(c, right(a, b), std::to_string(type));
    }
  };
  check(BNNSDataTypeFloat16, float_to_half, 1, 0);
  check(BNNSDataTypeBFloat16, float_to_bfloat, 1, 0);
  // Stored as 2 (v + 8), read as x / 2 - 8.
  check(
      BNNSDataTypeInt8, [](float v) { return static_cast<int8_t>(2 * (v + 8)); }, 0.5f, -8);
  check(
      BNNSDataTypeUInt8, [](float v) { return static_cast<uint8_t>(2 * (v + 8)); }, 0.5f, -8);
}

// A function that shows if it was applied twice, not at all or to a sum that was not complete.
TEST(Gemm, ActivationOfEveryElementOnceAndComplete) {
  const FusedActivation triple = linear(3);
  for (const GemmShape& s : {GemmShape{1, 9, 20}, {100, 90, 300}, {500, 2100, 9}, {20, 30, 5000}}) {
    Matrix a(s.m, s.k), b(s.k, s.n), c(s.m, s.n, 4), bias(1, s.n);
    a.fill_integers(1);
    b.fill_integers(2);
    bias.fill_integers(3);
    run(2, s, plain(a, false), plain(b, false),
        {.data = c.values.data(),
         .row = c.row,
         .epilogue = {.column = {.bias = bias.values.data()}}},
        &triple);
    std::vector<double> expected = right(a, b);
    for (size_t i = 0; i < expected.size(); ++i)
      expected[i] = 3 * (expected[i] + static_cast<double>(bias.at(0, i % s.n)));
    expect_equal(c, expected, name(s));
  }
}

TEST(Gemm, BitsDoNotDependOnThreads) {
  for (const GemmShape& s : {GemmShape{1, 3000, 700},
                             {3, 5003, 333},
                             {6, 900, 800},
                             {64, 200, 1000},
                             {300, 300, 300},
                             {1000, 64, 300},
                             {40, 60, 9000},
                             {1200, 70, 40}}) {
    for (int i = 0; i < 4; ++i) {
      const bool ta = (i & 1) != 0, tb = (i & 2) != 0;
      Matrix a(ta ? s.k : s.m, ta ? s.m : s.k), b(tb ? s.n : s.k, tb ? s.k : s.n);
      a.fill_uniform(1, -1, 1);
      b.fill_uniform(2, -1, 1);
      Matrix one(s.m, s.n);
      run(1, s, plain(a, ta), plain(b, tb), {.data = one.values.data(), .row = one.row});
      for (size_t threads : {2u, 3u}) {
        Matrix many(s.m, s.n);
        run(threads, s, plain(a, ta), plain(b, tb), {.data = many.values.data(), .row = many.row});
        ASSERT_EQ(many.values, one.values) << name(s) << " case " << i;
      }
    }
  }
}

// In eps of the sum of absolute products.
double worst_error(const GemmShape& s, const Matrix& a, const Matrix& b) {
  Matrix c(s.m, s.n), a_size = a, b_size = b;
  for (float& v : a_size.values) v = std::abs(v);
  for (float& v : b_size.values) v = std::abs(v);
  const std::vector<double> expected = right(a, b), size = right(a_size, b_size);
  const Matrix turned = b.transposed();
  double worst = 0;
  for (const bool transposed : {false, true}) {
    run(1, s, plain(a, false), plain(transposed ? turned : b, transposed),
        {.data = c.values.data(), .row = c.row});
    for (size_t i = 0; i < expected.size(); ++i) {
      const double error = std::abs(static_cast<double>(c.values[i]) - expected[i]);
      worst = std::max(worst, error / size[i] * 0x1p23);
    }
  }
  return worst;
}

TEST(Gemm, LongSumsErrByAtMostOneEps) {
  for (size_t k : {25u, 288u, 1000u, 4608u, 60000u}) {
    for (size_t m : {1u, 6u, 16u}) {
      const GemmShape s = {m, 18, k};
      Matrix a(s.m, s.k), b(s.k, s.n);
      a.fill_uniform(1, -1, 1);
      b.fill_uniform(2, -1, 1);
      EXPECT_LE(worst_error(s, a, b), 1) << name(s);
    }
  }
}

// What can be proved, in eps. An addition errs by half an eps of its result: in a chain of n terms
// of one sign by (1 + 2 + ... + n) / n / 2, in a tree by one half for each level.
double proved_chain(size_t chain) {
  return static_cast<double>(chain + 1) / 4;
}
double proved_tree(size_t chain, size_t terms) {
  const double levels = std::ceil(std::log2(static_cast<double>(terms) / chain + 1));
  return proved_chain(chain) + (levels + 1) / 2;
}

TEST(Gemm, PositiveTermsErrByNoMoreThanATree) {
  for (size_t k : {25u, 288u, 1000u, 4608u, 60000u}) {
    for (size_t m : {1u, 6u, 16u}) {
      const GemmShape s = {m, 18, k};
      Matrix a(s.m, s.k), b(s.k, s.n);
      a.fill_uniform(3, 0, 1);
      b.fill_uniform(4, 0, 1);
      EXPECT_LE(worst_error(s, a, b), proved_tree(kGemmChain, k)) << name(s);
    }
  }
}

// Equal terms round the same way again and again: a single running sum errs by thousands of eps.
// Pairs join exactly, so that one chain and the rounding of the result are left: below one eps with
// the short chains of products that are not packed, not always so with the longer ones of tiles,
// whose first chain is shorter, too, and joins with a rounding; these values leave room for that.
TEST(Gemm, SumsOfEqualTerms) {
  for (size_t k : {25u, 288u, 4608u, 60000u}) {
    for (const float value : {0.1f, 0.3f, 1 / 3.0f, 0.7f, 1e-3f}) {
      for (size_t m : {1u, 6u, 16u}) {
        const GemmShape s = {m, 17, k};
        Matrix a(s.m, s.k), b(s.k, s.n);
        std::fill(a.values.begin(), a.values.end(), value);
        const double bound = m > 8 ? proved_chain(kGemmChain) + 0.5 : 1;
        for (const float other : {value, 1.0f, 0.9f}) {
          std::fill(b.values.begin(), b.values.end(), other);
          EXPECT_LE(worst_error(s, a, b), bound) << name(s) << " of " << value << " * " << other;
        }
      }
    }
  }
}

}  // namespace
}  // namespace bnns::impl
