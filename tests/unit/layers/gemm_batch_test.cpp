// Batches of products: every form a product can have, operands that are shared, the epilogue of
// single products, and equal bits for any number of threads.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "math/half.h"
#include "support/gemm_matrix.h"

namespace bnns::impl {
namespace {

constexpr int kForms = 4;  // A transposed or not, B transposed or not

// `count` matrices below each other, with a gap between them.
struct Stack {
  size_t rows, step;
  Matrix all;

  Stack(size_t count, size_t r, size_t c, size_t gap = 1)
      : rows(r), step((r + gap) * (c + gap)), all(count * (r + gap), c, gap) {}
  Matrix item(size_t i) const {
    Matrix m(rows, all.columns);
    for (size_t r = 0; r < rows; ++r)
      for (size_t c = 0; c < all.columns; ++c) m.at(r, c) = all.values[i * step + r * all.row + c];
    return m;
  }
};

struct BatchCase {
  GemmShape shape;
  size_t count;
  bool share_a = false, share_b = false;
};

std::string name(const BatchCase& c, int form) {
  return name(c.shape) + " times " + std::to_string(c.count) + " form " + std::to_string(form) +
         (c.share_a ? " one A" : "") + (c.share_b ? " one B" : "");
}

// Small, of a middle size and large; few and many; dot, axpy and packed products.
const BatchCase kCases[] = {{{3, 5, 7}, 11},
                            {{3, 5, 7}, 700},
                            {{1, 200, 60}, 9},
                            {{20, 30, 40}, 11},
                            {{50, 60, 300}, 3},
                            {{50, 60, 300}, 17, true, false},
                            {{50, 60, 300}, 17, false, true},
                            {{64, 64, 1500}, 5},
                            {{200, 150, 600}, 3},
                            {{13, 35, 5000}, 18},
                            {{3, 5, 7}, 40, true, true}};

struct Operands {
  BatchCase c;
  bool ta, tb;
  Stack a, b;

  Operands(const BatchCase& which, int form, bool integers)
      : c(which),
        ta((form & 1) != 0),
        tb((form & 2) != 0),
        a(c.share_a ? 1 : c.count, ta ? c.shape.k : c.shape.m, ta ? c.shape.m : c.shape.k),
        b(c.share_b ? 1 : c.count, tb ? c.shape.n : c.shape.k, tb ? c.shape.k : c.shape.n) {
    if (integers) {
      a.all.fill_integers(1);
      b.all.fill_integers(2);
    } else {
      a.all.fill_uniform(1, -1, 1);
      b.all.fill_uniform(2, -1, 1);
    }
  }
  GemmSteps steps(const Stack& out) const {
    return {.a = c.share_a ? 0 : a.step, .b = c.share_b ? 0 : b.step, .c = out.step};
  }
  Matrix a_item(size_t i) const { return a.item(c.share_a ? 0 : i); }
  Matrix b_item(size_t i) const { return b.item(c.share_b ? 0 : i); }
  std::vector<double> right_product(size_t i) const {
    const Matrix x = a_item(i), y = b_item(i);
    return right(ta ? x.transposed() : x, tb ? y.transposed() : y);
  }
};

TEST(GemmBatch, IntegersAreExactInEveryForm) {
  for (const BatchCase& c : kCases) {
    for (int form = 0; form < kForms; ++form) {
      const Operands o(c, form, true);
      Stack out(c.count, c.shape.m, c.shape.n);
      run_batch(3, c.count, o.steps(out), c.shape, plain(o.a.all, o.ta), plain(o.b.all, o.tb),
                {.data = out.all.values.data(), .row = out.all.row});
      for (size_t i = 0; i < c.count; ++i) {
        expect_equal(out.item(i), o.right_product(i), name(c, form));
        if (HasFatalFailure()) return;
        // The row behind an item belongs to nobody.
        for (size_t n = 0; n < out.all.row; ++n)
          ASSERT_EQ(out.all.values[i * out.step + c.shape.m * out.all.row + n], -77.0f);
      }
    }
  }
}

TEST(GemmBatch, BitsAreThoseOfSingleProductsForAnyNumberOfThreads) {
  for (const BatchCase& c : kCases) {
    for (int form = 0; form < kForms; ++form) {
      const Operands o(c, form, false);
      Stack expected(c.count, c.shape.m, c.shape.n);
      for (size_t i = 0; i < c.count; ++i) {
        const Side a = {{.row = o.a.all.row, .transposed = o.ta},
                        o.a.all.values.data() + (c.share_a ? 0 : i * o.a.step)};
        const Side b = {{.row = o.b.all.row, .transposed = o.tb},
                        o.b.all.values.data() + (c.share_b ? 0 : i * o.b.step)};
        run(1, c.shape, a, b,
            {.data = expected.all.values.data() + i * expected.step, .row = expected.all.row});
      }
      for (const size_t threads : {1u, 2u, 3u}) {
        Stack out(c.count, c.shape.m, c.shape.n);
        run_batch(threads, c.count, o.steps(out), c.shape, plain(o.a.all, o.ta),
                  plain(o.b.all, o.tb), {.data = out.all.values.data(), .row = out.all.row});
        ASSERT_EQ(out.all.values, expected.all.values) << name(c, form) << ", " << threads;
      }
    }
  }
}

// alpha, beta, both biases with a step of their own, and the activation on top.
TEST(GemmBatch, EpilogueOfSingleProducts) {
  const FusedActivation triple = linear(3);
  for (const BatchCase& c : kCases) {
    const Operands o(c, 2, true);
    const size_t m = c.shape.m, n = c.shape.n;
    Stack out(c.count, m, n);
    Matrix row_bias(c.count, m), column_bias(c.count, n, 5);
    out.all.fill_integers(3);
    row_bias.fill_integers(4);
    column_bias.fill_integers(5);
    const Stack old = out;
    GemmSteps steps = o.steps(out);
    steps.row = row_bias.row;
    steps.column = column_bias.row;
    run_batch(2, c.count, steps, c.shape, plain(o.a.all, o.ta), plain(o.b.all, o.tb),
              {.data = out.all.values.data(),
               .row = out.all.row,
               .epilogue = {.row = {.bias = row_bias.values.data()},
                            .column = {.bias = column_bias.values.data()},
                            .alpha = 0.5f,
                            .beta = 2,
                            .accumulate = true}},
              &triple);
    for (size_t i = 0; i < c.count; ++i) {
      std::vector<double> expected = o.right_product(i);
      const Matrix before = old.item(i);
      for (size_t e = 0; e < expected.size(); ++e) {
        expected[e] = 3 * (0.5 * expected[e] + 2 * static_cast<double>(before.values[e]) +
                           static_cast<double>(row_bias.at(i, e / n) + column_bias.at(i, e % n)));
      }
      expect_equal(out.item(i), expected, name(c, 2));
      if (HasFatalFailure()) return;
    }
  }
}

// Steps count values of the operand's own type.
TEST(GemmBatch, HalfFloats) {
  const BatchCase c = {{20, 30, 40}, 11};
  const Operands o(c, 0, true);
  std::vector<uint16_t> a, b;
  for (const float v : o.a.all.values) a.push_back(float_to_half(v));
  for (const float v : o.b.all.values) b.push_back(float_to_bfloat(v));
  Stack out(c.count, c.shape.m, c.shape.n);
  run_batch(2, c.count, o.steps(out), c.shape,
            {{.row = o.a.all.row, .type = BNNSDataTypeFloat16}, a.data()},
            {{.row = o.b.all.row, .type = BNNSDataTypeBFloat16}, b.data()},
            {.data = out.all.values.data(), .row = out.all.row});
  for (size_t i = 0; i < c.count; ++i) expect_equal(out.item(i), o.right_product(i), "halves");
}

// Weights that a filter packed once serve all products of a batch.
TEST(GemmBatch, PanelsAreShared) {
  const BatchCase c = {{20, 30, 40}, 11, false, true};
  const Operands o(c, 0, true);
  PackedMatrix packed(Memory(), *gemm_kernels(), GemmSide::kB, c.shape.n, c.shape.k);
  const Side b = plain(o.b.all, false);
  packed.pack(*gemm_kernels(), 1, b.how, b.data);
  Stack out(c.count, c.shape.m, c.shape.n);
  run_batch(2, c.count, o.steps(out), c.shape, plain(o.a.all, false), panels(packed),
            {.data = out.all.values.data(), .row = out.all.row});
  for (size_t i = 0; i < c.count; ++i) expect_equal(out.item(i), o.right_product(i), "panels");
}

}  // namespace
}  // namespace bnns::impl
