// Matrices, and products of them through GemmOp, for the tests of the matrix product.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "ops/activation/fused.h"
#include "ops/gemm/gemm.h"

namespace bnns::impl {

struct Matrix {
  size_t rows, columns, row;
  std::vector<float> values;

  Matrix(size_t r, size_t c, size_t gap = 0)
      : rows(r), columns(c), row(c + gap), values(r * row, -77.0f) {}
  float& at(size_t r, size_t c) { return values[r * row + c]; }
  float at(size_t r, size_t c) const { return values[r * row + c]; }

  // Whole numbers, so that every sum is exact in any order.
  void fill_integers(unsigned seed) {
    std::minstd_rand random(seed + 1);
    for (size_t r = 0; r < rows; ++r)
      for (size_t c = 0; c < columns; ++c) at(r, c) = static_cast<float>(random() % 17) - 8;
  }
  void fill_uniform(unsigned seed, float low, float high) {
    std::mt19937 random(seed + 1);
    std::uniform_real_distribution<float> uniform(low, high);
    for (size_t r = 0; r < rows; ++r)
      for (size_t c = 0; c < columns; ++c) at(r, c) = uniform(random);
  }
  Matrix transposed(size_t gap = 0) const {
    Matrix t(columns, rows, gap);
    for (size_t r = 0; r < rows; ++r)
      for (size_t c = 0; c < columns; ++c) t.at(c, r) = at(r, c);
    return t;
  }
};

// An operand and where it lies.
struct Side {
  GemmOperand how;
  const void* data = nullptr;
};

inline Side plain(const Matrix& m, bool transposed) {
  return {{.row = m.row, .transposed = transposed}, m.values.data()};
}

inline Side panels(const PackedMatrix& packed) {
  return {{.packed = &packed, .has_matrix = false}};
}

inline GemmProblem problem_of(const GemmShape& shape, const Side& a, const Side& b,
                              const GemmTarget& c, const FusedActivation* activation = nullptr) {
  return {
      .shape = shape,
      .a = a.how,
      .b = b.how,
      .c_row = c.row,
      .epilogue = {.alpha = c.epilogue.alpha, .beta = c.epilogue.beta, .activation = activation}};
}

inline GemmData data_of(const Side& a, const Side& b, const GemmTarget& c) {
  return {.a = a.data,
          .b = b.data,
          .c = c.data,
          .row = c.epilogue.row,
          .column = c.epilogue.column,
          .accumulate = c.epilogue.accumulate};
}

// Working memory comes as it is: numbers left in it must not matter. None is asked for: none.
inline Array<float> scratch_of(const GemmOp& op, size_t count) {
  if (op.scratch(count) == 0) return {};
  Array<float> scratch(Memory(), op.scratch(count));
  std::fill_n(scratch.data(), scratch.size(), NAN);
  return scratch;
}

inline void run(size_t threads, const GemmShape& shape, const Side& a, const Side& b,
                const GemmTarget& c, const FusedActivation* activation = nullptr) {
  const GemmOp op(*gemm_kernels(), threads, problem_of(shape, a, b, c, activation));
  op.run(data_of(a, b, c), scratch_of(op, 1).data());
}

inline void run_batch(size_t threads, size_t count, const GemmSteps& steps, const GemmShape& shape,
                      const Side& a, const Side& b, const GemmTarget& c,
                      const FusedActivation* activation = nullptr) {
  const GemmOp op(*gemm_kernels(), threads, problem_of(shape, a, b, c, activation));
  op.run_batch(count, steps, data_of(a, b, c), scratch_of(op, count).data());
}

inline FusedActivation linear(float factor) {
  return FusedActivation(*find_activation(BNNSActivationFunctionLinear), {.alpha = factor});
}

// A B in double.
inline std::vector<double> right(const Matrix& a, const Matrix& b) {
  std::vector<double> c(a.rows * b.columns);
  for (size_t m = 0; m < a.rows; ++m)
    for (size_t k = 0; k < a.columns; ++k)
      for (size_t n = 0; n < b.columns; ++n)
        c[m * b.columns + n] += static_cast<double>(a.at(m, k)) * static_cast<double>(b.at(k, n));
  return c;
}

inline void expect_equal(const Matrix& c, const std::vector<double>& expected,
                         const std::string& what) {
  for (size_t m = 0; m < c.rows; ++m) {
    for (size_t n = 0; n < c.columns; ++n) {
      ASSERT_EQ(static_cast<double>(c.at(m, n)), expected[m * c.columns + n])
          << what << " at " << m << ", " << n;
    }
    for (size_t n = c.columns; n < c.row; ++n)
      ASSERT_EQ(c.values[m * c.row + n], -77.0f) << what << ": written behind row " << m;
  }
}

inline std::string name(const GemmShape& s) {
  return std::to_string(s.m) + "x" + std::to_string(s.n) + "x" + std::to_string(s.k);
}

}  // namespace bnns::impl
