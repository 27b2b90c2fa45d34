// Reductions: what the spec's runner does not see. Numbers at the ends of the range, NaN, ties,
// indices of every type, products with zeros, weights that are zero.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "support/call_builder.h"

namespace bnns::test {
namespace {

using Floats = std::vector<float>;
constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kMax = std::numeric_limits<float>::max();
const float kNaN = std::nanf("");

BNNSLayerParametersReduction parameters(BNNSReduceFunction function, const Floats& x,
                                        bool columns) {
  BNNSLayerParametersReduction p = {};
  // Across: three copies of x beside each other, so that vectors run over groups.
  const size_t n = x.size();
  p.i_desc = columns ? matrix_of(3, n) : matrix_of(n, 1);
  p.o_desc = columns ? matrix_of(3, 1) : matrix_of(1, 1);
  p.reduce_func = function;
  return p;
}

Floats repeated(const Floats& x, bool columns) {
  if (!columns) return x;
  Floats all;
  for (const float v : x) all.insert(all.end(), 3, v);
  return all;
}

// Along and across; both must agree to the bit of a NaN or a number.
float reduced(BNNSReduceFunction function, const Floats& x, const Floats& weights = {}) {
  float results[2];
  for (const bool columns : {false, true}) {
    Floats in = repeated(x, columns), w = repeated(weights, columns), out(3, -1);
    BNNSLayerParametersReduction p = parameters(function, x, columns);
    p.i_desc.data = in.data();
    p.o_desc.data = out.data();
    if (!weights.empty()) {
      p.w_desc = p.i_desc;
      p.w_desc.data = w.data();
    }
    EXPECT_EQ(BNNSDirectApplyReduction(&p, nullptr), 0) << OpenBNNSGetLastError();
    results[columns] = out[0];
    if (columns) {
      EXPECT_EQ(std::isnan(out[0]) ? 0 : out[0], std::isnan(out[2]) ? 0 : out[2]);
    }
  }
  if (!std::isnan(results[0])) {
    EXPECT_FLOAT_EQ(results[0], results[1]);
  }
  EXPECT_EQ(std::isnan(results[0]), std::isnan(results[1]));
  return results[0];
}

// `y`: the result of the forward pass, if it is given to the backward call.
Floats gradient(BNNSReduceFunction function, const Floats& x, float dy, const Floats& weights = {},
                Floats* weights_gradient = nullptr, const float* y = nullptr) {
  Floats results[2];
  for (const bool columns : {false, true}) {
    Floats in = repeated(x, columns), w = repeated(weights, columns), dx(in.size(), -1);
    Floats dw(in.size(), -1), delta(3, dy), out(3, y == nullptr ? 0 : *y);
    BNNSLayerParametersReduction p = parameters(function, x, columns);
    BNNSNDArrayDescriptor in_delta = p.i_desc, out_delta = p.o_desc, weights_delta = p.i_desc;
    in_delta.data = dx.data();
    out_delta.data = delta.data();
    weights_delta.data = dw.data();
    if (!weights.empty()) {
      p.w_desc = p.i_desc;
      p.w_desc.data = w.data();
    }
    const Filter filter(BNNSFilterCreateLayerReduction(&p, nullptr));
    EXPECT_TRUE(filter) << OpenBNNSGetLastError();
    EXPECT_EQ(BNNSFilterApplyBackwardBatch(filter.get(), 1, in.data(), 0, &in_delta, 0,
                                           y == nullptr ? nullptr : out.data(), 0, &out_delta, 0,
                                           weights.empty() ? nullptr : &weights_delta, nullptr),
              0)
        << OpenBNNSGetLastError();
    const size_t step = columns ? 3 : 1;
    for (size_t i = 0; i < in.size(); i += step) results[columns].push_back(dx[i]);
    if (weights_gradient != nullptr && !columns) *weights_gradient = dw;
  }
  for (size_t i = 0; i < results[0].size(); ++i) {
    EXPECT_EQ(std::isnan(results[0][i]), std::isnan(results[1][i])) << i;
    if (!std::isnan(results[0][i])) {
      EXPECT_FLOAT_EQ(results[0][i], results[1][i]) << i;
    }
  }
  return results[0];
}

TEST(Reduction, LogSumExpDoesNotOverflow) {
  for_targets([](const char* target) {
    SCOPED_TRACE(target);
    EXPECT_FLOAT_EQ(reduced(BNNSReduceFunctionLogSumExp, Floats(100, 1000)),
                    1000 + std::log(100.0f));
    EXPECT_FLOAT_EQ(reduced(BNNSReduceFunctionLogSumExp, {-2000, -2000}), -2000 + std::log(2.0f));
    EXPECT_FLOAT_EQ(reduced(BNNSReduceFunctionLogSumExp, {kMax, kMax}), kMax);
    EXPECT_EQ(reduced(BNNSReduceFunctionLogSumExp, {-kInf, -kInf}), -kInf);
    EXPECT_EQ(reduced(BNNSReduceFunctionLogSumExp, {-kInf, 3}), 3);
    EXPECT_EQ(reduced(BNNSReduceFunctionLogSumExp, {1, kInf, -kInf}), kInf);
    EXPECT_TRUE(std::isnan(reduced(BNNSReduceFunctionLogSumExp, {1, kNaN, kInf})));
    // Parts of a long group with very different maxima.
    Floats steps(20000, -1e4f);
    steps[7] = 500;
    steps[15000] = 500;
    EXPECT_FLOAT_EQ(reduced(BNNSReduceFunctionLogSumExp, steps), 500 + std::log(2.0f));
    EXPECT_EQ(gradient(BNNSReduceFunctionLogSumExp, {1000, -1000, 1000}, 4), (Floats{2, 0, 2}));
    EXPECT_EQ(gradient(BNNSReduceFunctionLogSumExp, {1000, -kInf}, 4), (Floats{4, 0}));
    EXPECT_EQ(gradient(BNNSReduceFunctionLogSumExp, {1000, kInf}, 4)[0], 0);
  });
}

TEST(Reduction, NormsWhoseSquaresAreNoFloats) {
  for_targets([](const char* target) {
    SCOPED_TRACE(target);
    for (const int exponent : {120, 100, -60, -140}) {
      const float unit = std::ldexp(1.0f, exponent);
      EXPECT_EQ(reduced(BNNSReduceFunctionL2Norm, {3 * unit, -4 * unit}), 5 * unit) << exponent;
    }
    EXPECT_EQ(reduced(BNNSReduceFunctionL2Norm, {0, 0, 0}), 0);
    EXPECT_EQ(gradient(BNNSReduceFunctionL2Norm, {0, 0}, 2), (Floats{0, 0}));
    EXPECT_EQ(reduced(BNNSReduceFunctionL2Norm, {1, -kInf}), kInf);
  });
}

TEST(Reduction, GradientsOfTinyNormsAreAsLargeAsOthers) {
  for_targets([](const char* target) {
    SCOPED_TRACE(target);
    for (const int exponent : {100, 0, -100, -120, -126, -147}) {
      SCOPED_TRACE(exponent);
      const float unit = std::ldexp(1.0f, exponent), y = 5 * unit;
      for (const float dy : {1.0f, 5e3f, -1e30f}) {
        Floats x = {3 * unit, -4 * unit, 0}, dw;
        for (const float* out : {static_cast<const float*>(nullptr), &y}) {
          const Floats dx = gradient(BNNSReduceFunctionL2Norm, x, dy, {}, nullptr, out);
          EXPECT_FLOAT_EQ(dx[0], 0.6f * dy);
          EXPECT_FLOAT_EQ(dx[1], -0.8f * dy);
          EXPECT_EQ(dx[2], 0);
        }
        const Floats weighted =
            gradient(BNNSReduceFunctionL2Norm, {3, -4, 7}, dy, {unit, unit, 0}, &dw);
        if (unit < 1) {
          EXPECT_FLOAT_EQ(weighted[0], 0.6f * dy * unit);
          EXPECT_EQ(weighted[2], 0);
          EXPECT_FLOAT_EQ(dw[0], 1.8f * dy);
          EXPECT_EQ(dw[2], 0);
        }
      }
    }
    // One such norm beside others.
    Floats x = {1, 2e-40f, 3, 1, 0, 4}, dx(6, -1), delta = {1, 1, 1};
    BNNSLayerParametersReduction p = {};
    p.i_desc = matrix_of(3, 2);
    p.o_desc = matrix_of(3, 1);
    p.reduce_func = BNNSReduceFunctionL2Norm;
    BNNSNDArrayDescriptor in_delta = p.i_desc, out_delta = p.o_desc;
    in_delta.data = dx.data();
    out_delta.data = delta.data();
    const Filter filter(BNNSFilterCreateLayerReduction(&p, nullptr));
    ASSERT_EQ(BNNSFilterApplyBackwardBatch(filter.get(), 1, x.data(), 0, &in_delta, 0, nullptr, 0,
                                           &out_delta, 0, nullptr, nullptr),
              0)
        << OpenBNNSGetLastError();
    EXPECT_FLOAT_EQ(dx[0], std::sqrt(0.5f));
    EXPECT_EQ(dx[1], 1);
    EXPECT_FLOAT_EQ(dx[2], 0.6f);
    EXPECT_FLOAT_EQ(dx[3], std::sqrt(0.5f));
    EXPECT_EQ(dx[4], 0);
    EXPECT_FLOAT_EQ(dx[5], 0.8f);
  });
}

TEST(Reduction, ProductsNeitherOverflowNorVanishOnTheWay) {
  for_targets([](const char* target) {
    SCOPED_TRACE(target);
    Floats x(64, 1e30f);
    x.insert(x.end(), 64, 1e-30f);
    EXPECT_NEAR(reduced(BNNSReduceFunctionProduct, x), 1, 1e-5);
    x.push_back(0);
    EXPECT_EQ(reduced(BNNSReduceFunctionProduct, x), 0);
    EXPECT_EQ(reduced(BNNSReduceFunctionProduct, Floats(400, 2)), kInf);
    EXPECT_EQ(reduced(BNNSReduceFunctionProduct, Floats(400, 0.5f)), 0);
    EXPECT_EQ(reduced(BNNSReduceFunctionProduct, {-kInf, 2}), -kInf);
    EXPECT_TRUE(std::isnan(reduced(BNNSReduceFunctionProduct, {kInf, 0})));
  });
}

TEST(Reduction, GradientOfProductsIsTheProductOfTheOthers) {
  constexpr auto kProduct = BNNSReduceFunctionProduct;
  EXPECT_EQ(gradient(kProduct, {2, -3, 4}, 1), (Floats{-12, 8, -6}));
  EXPECT_EQ(gradient(kProduct, {2, 0, 4, -1}, 3), (Floats{0, -24, 0, 0}));
  EXPECT_EQ(gradient(kProduct, {2, 0, 4, 0}, 3), (Floats{0, 0, 0, 0}));
  EXPECT_EQ(gradient(kProduct, {kInf, 2}, 1), (Floats{2, kInf}));
  EXPECT_EQ(gradient(kProduct, {-kInf, -2}, 1), (Floats{-2, -kInf}));
  const Floats mixed = gradient(kProduct, {kInf, 0, 5}, 1);
  EXPECT_EQ(mixed[0], 0);
  EXPECT_EQ(mixed[1], kInf);
  EXPECT_TRUE(std::isnan(mixed[2]));
  const Floats with_nan = gradient(kProduct, {kNaN, 2, 0.5f}, 1);
  EXPECT_EQ(with_nan[0], 1);
  EXPECT_TRUE(std::isnan(with_nan[1]) && std::isnan(with_nan[2]));
  // All of them overflow; the others do not.
  EXPECT_EQ(gradient(kProduct, {kMax, kMax, 0x1p-127f}, 1)[0], kMax * 0x1p-127f);
}

TEST(Reduction, ExtremaTakeTheFirstAndNaN) {
  for_targets([](const char* target) {
    SCOPED_TRACE(target);
    for (size_t n = 1; n <= 67; ++n) {
      Floats x(n, -3);
      x[n / 2] = x[n - 1] = 5;
      EXPECT_EQ(reduced(BNNSReduceFunctionMax, x), 5);
      EXPECT_EQ(reduced(BNNSReduceFunctionArgMax, x), static_cast<float>(n / 2));
      EXPECT_EQ(gradient(BNNSReduceFunctionMax, x, 7)[n / 2], 7);
      EXPECT_EQ(reduced(BNNSReduceFunctionArgMin, x), 0);
      x[n - 1] = kNaN;
      EXPECT_TRUE(std::isnan(reduced(BNNSReduceFunctionMax, x)));
      EXPECT_TRUE(std::isnan(reduced(BNNSReduceFunctionMin, x)));
      EXPECT_EQ(reduced(BNNSReduceFunctionArgMax, x), static_cast<float>(n - 1));
      EXPECT_EQ(reduced(BNNSReduceFunctionArgMin, x), static_cast<float>(n - 1));
      x[n / 3] = kNaN;
      EXPECT_EQ(reduced(BNNSReduceFunctionArgMax, x), static_cast<float>(n / 3));
      const Floats dx = gradient(BNNSReduceFunctionMin, x, 7);
      for (size_t i = 0; i < n; ++i) EXPECT_EQ(dx[i], i == n / 3 ? 7 : 0) << i;
    }
    EXPECT_EQ(reduced(BNNSReduceFunctionMax, Floats(5, -kInf)), -kInf);
    EXPECT_EQ(reduced(BNNSReduceFunctionArgMax, Floats(5, -kInf)), 0);
    EXPECT_EQ(reduced(BNNSReduceFunctionArgMin, Floats(5, kInf)), 0);
    // Far behind the first block, and in another part.
    Floats x(70000, 1);
    x[66666] = x[69999] = 2;
    EXPECT_EQ(reduced(BNNSReduceFunctionArgMax, x), 66666);
    EXPECT_EQ(reduced(BNNSReduceFunctionArgMin, x), 0);
  });
}

TEST(Reduction, LogicalFunctionsSeeEveryNumber) {
  for_targets([](const char* target) {
    SCOPED_TRACE(target);
    EXPECT_EQ(reduced(BNNSReduceFunctionLogicalOr, {0, -0.0f, 0}), 0);
    EXPECT_EQ(reduced(BNNSReduceFunctionLogicalOr, {0, 0, 1e-45f}), 1);
    EXPECT_EQ(reduced(BNNSReduceFunctionLogicalOr, {0, kNaN}), 1);
    EXPECT_EQ(reduced(BNNSReduceFunctionLogicalAnd, {1, kNaN, -kInf}), 1);
    EXPECT_EQ(reduced(BNNSReduceFunctionLogicalAnd, {1, 0, 1}), 0);
  });
}

TEST(Reduction, WeightsOfZeroTakeNoPartInTheMean) {
  Floats dw;
  EXPECT_EQ(reduced(BNNSReduceFunctionMeanNonZero, {3, kNaN, 5, kInf}, {2, 0, 1, 0}), 5.5f);
  EXPECT_EQ(reduced(BNNSReduceFunctionMeanNonZero, {3, 4}, {0, 0}), 0);
  EXPECT_EQ(gradient(BNNSReduceFunctionMeanNonZero, {3, kNaN, 5, kInf}, 4, {2, 0, 1, 0}, &dw),
            (Floats{4, 0, 2, 0}));
  EXPECT_EQ(dw, (Floats{6, 0, 10, 0}));
  EXPECT_EQ(gradient(BNNSReduceFunctionMeanNonZero, {3, 4}, 4, {0, 0}, &dw), (Floats{0, 0}));
  EXPECT_EQ(dw, (Floats{0, 0}));
  EXPECT_EQ(reduced(BNNSReduceFunctionMeanNonZero, {3, 0, 6}), 3);  // without weights: the mean
  EXPECT_TRUE(std::isnan(reduced(BNNSReduceFunctionSum, {kInf, 1}, {0, 1})));
}

TEST(Reduction, SumsOfIntegersAreExactAndSaturate) {
  std::vector<int32_t> x(1000, 2000000), y(1, -1);
  BNNSLayerParametersReduction p = {};
  p.i_desc = vector_of(x.size(), x.data(), BNNSDataTypeInt32);
  p.o_desc = vector_of(1, y.data(), BNNSDataTypeInt32);
  p.reduce_func = BNNSReduceFunctionSum;
  ASSERT_EQ(BNNSDirectApplyReduction(&p, nullptr), 0) << OpenBNNSGetLastError();
  EXPECT_EQ(y[0], 2000000000);
  x[999] = 2000001;
  ASSERT_EQ(BNNSDirectApplyReduction(&p, nullptr), 0);
  EXPECT_EQ(y[0], 2000000001);
  x[0] = 200000000;
  ASSERT_EQ(BNNSDirectApplyReduction(&p, nullptr), 0);
  EXPECT_EQ(y[0], INT32_MAX);
  // What passes through a larger sum comes back.
  x[0] = x[1] = INT32_MAX;
  x[2] = INT32_MIN;
  x[3] = INT32_MIN + 2;
  for (size_t i = 4; i < x.size(); ++i) x[i] = i % 2 == 0 ? 1 : -1;
  ASSERT_EQ(BNNSDirectApplyReduction(&p, nullptr), 0);
  EXPECT_EQ(y[0], 0);
  // The number of true values.
  std::vector<uint8_t> truth = {1, 0, 7, 1};
  p.i_desc = vector_of(truth.size(), truth.data(), BNNSDataTypeBoolean);
  ASSERT_EQ(BNNSDirectApplyReduction(&p, nullptr), 0) << OpenBNNSGetLastError();
  EXPECT_EQ(y[0], 3);
}

// The index counts the reduced elements in the order of a dense array of the layout; where the
// first two axes run backwards, coordinates count all the same.
TEST(Reduction, IndicesOverSeveralAxesAndOfRotatedKernels) {
  Floats x = {1, 9, 2, 3, 4, 9};
  std::vector<uint8_t> y(1);
  BNNSLayerParametersReduction p = {};
  p.o_desc =
      array(BNNSDataLayoutConvolutionWeightsOIHrWr, {1, 1, 1, 1}, y.data(), BNNSDataTypeUInt8);
  p.i_desc = array(BNNSDataLayoutConvolutionWeightsOIHW, {3, 2, 1, 1}, x.data());
  p.reduce_func = BNNSReduceFunctionArgMax;
  ASSERT_EQ(BNNSDirectApplyReduction(&p, nullptr), 0) << OpenBNNSGetLastError();
  EXPECT_EQ(y[0], 1);
  p.i_desc.layout = BNNSDataLayoutConvolutionWeightsOIHrWr;  // 9 4 3 / 2 9 1
  ASSERT_EQ(BNNSDirectApplyReduction(&p, nullptr), 0) << OpenBNNSGetLastError();
  EXPECT_EQ(y[0], 0);
}

TEST(Reduction, ChangedWeightsOfTheClientAreSeen) {
  Floats x = {1, 2, 3}, w = {1, 1, 1}, y(1);
  BNNSLayerParametersReduction p = {};
  p.i_desc = vector_of(3);
  p.o_desc = vector_of(1);
  p.w_desc = vector_of(3, w.data());
  p.reduce_func = BNNSReduceFunctionSum;
  const BNNSFilterParameters client = client_pointers();
  const Filter copied(BNNSFilterCreateLayerReduction(&p, nullptr));
  const Filter seen(BNNSFilterCreateLayerReduction(&p, &client));
  w = {1, 10, 100};
  ASSERT_EQ(BNNSFilterApply(copied.get(), x.data(), y.data()), 0);
  EXPECT_EQ(y[0], 6);
  ASSERT_EQ(BNNSFilterApply(seen.get(), x.data(), y.data()), 0);
  EXPECT_EQ(y[0], 321);
}

}  // namespace
}  // namespace bnns::test
