// What the spec does not see of arithmetic filters: published values, results and gradients in
// place, one tensor given twice, roles of the output, conditions that are Boolean, functions along
// axes as activation, and threads that apply one filter.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "support/call_builder.h"

namespace bnns::test {
namespace {

using Floats = std::vector<float>;
using Role = BNNSDescriptorType;

// A filter whose tensors all have one descriptor, and its calls on dense data.
struct Arithmetic {
  size_t inputs;
  Filter filter;

  Arithmetic(BNNSArithmeticFunction function, size_t count, const BNNSNDArrayDescriptor& d,
             const BNNSActivation& activation = {}, Role role = BNNSSample)
      : inputs(count) {
    BNNSLayerParametersArithmetic p = {.arithmetic_function = function,
                                       .arithmetic_function_fields = nullptr,
                                       .activation = activation};
    BNNSArithmeticUnary one = {.in = d, .in_type = role, .out = d, .out_type = role};
    BNNSArithmeticBinary two = {
        .in1 = d, .in1_type = role, .in2 = d, .in2_type = role, .out = d, .out_type = role};
    BNNSArithmeticTernary three = {.in1 = d,
                                   .in1_type = role,
                                   .in2 = d,
                                   .in2_type = role,
                                   .in3 = d,
                                   .in3_type = role,
                                   .out = d,
                                   .out_type = role};
    void* const fields[] = {&one, &two, &three};
    p.arithmetic_function_fields = fields[count - 1];
    filter = Filter(BNNSFilterCreateLayerArithmetic(&p, nullptr));
  }

  bool apply(size_t batch, std::array<const void*, 3> in, void* out) const {
    const size_t strides[3] = {};
    return BNNSArithmeticFilterApplyBatch(filter.get(), batch, inputs, in.data(), strides, out,
                                          0) == 0;
  }
  bool backward(size_t batch, const void** in, std::array<BNNSNDArrayDescriptor*, 3> deltas,
                const void* out, BNNSNDArrayDescriptor& dy) const {
    const size_t strides[3] = {};
    return BNNSArithmeticFilterApplyBackwardBatch(filter.get(), batch, inputs, in, strides,
                                                  deltas.data(), strides, out, 0, &dy, 0) == 0;
  }
};

constexpr size_t inputs_of(uint32_t function) {
  switch (function) {
    case BNNSArithmeticAdd:
    case BNNSArithmeticSubtract:
    case BNNSArithmeticMultiply:
    case BNNSArithmeticDivide:
    case BNNSArithmeticPow:
    case BNNSArithmeticMultiplyNoNaN:
    case BNNSArithmeticDivideNoNaN:
    case BNNSArithmeticMinimum:
    case BNNSArithmeticMaximum:
    case BNNSArithmeticFloorDivide:
    case BNNSArithmeticTruncDivide:
    case BNNSArithmeticTruncRemainder:
      return 2;
    case BNNSArithmeticMultiplyAdd:
    case BNNSArithmeticSelect:
      return 3;
    default:
      return 1;
  }
}

TEST(Arithmetic, PublishedValues) {
  const Arithmetic add(BNNSArithmeticAdd, 2, vector_of(3));
  const Floats a = {1, 2, 3, 10, 20, 30}, b = {.5f, .5f, .5f, -1, -2, -3};
  Floats y(6), da(3, -99), db(3, -99), dy = {1, 2, 3};
  ASSERT_TRUE(add.apply(2, {a.data(), b.data()}, y.data())) << OpenBNNSGetLastError();
  EXPECT_EQ(y, (Floats{1.5f, 2.5f, 3.5f, 9, 18, 27}));
  BNNSNDArrayDescriptor d = vector_of(3, dy.data()), d1 = vector_of(3, da.data()),
                        d2 = vector_of(3, db.data());
  ASSERT_TRUE(add.backward(1, nullptr, {&d1, &d2}, nullptr, d)) << OpenBNNSGetLastError();
  EXPECT_EQ(da, dy);
  EXPECT_EQ(db, dy);

  const Arithmetic square(BNNSArithmeticSquare, 1, vector_of(4));
  const Floats x = {-3, -1, 2, 4};
  y.resize(4);
  ASSERT_TRUE(square.apply(1, {x.data()}, y.data()));
  EXPECT_EQ(y, (Floats{9, 1, 4, 16}));
}

TEST(Arithmetic, WorkedValues) {
  const float inf = std::numeric_limits<float>::infinity(), nan = std::nanf("");
  struct Row {
    BNNSArithmeticFunction function;
    float a, b, y;
  };
  const Row rows[] = {{BNNSArithmeticRound, 2.5f, 0, 2},
                      {BNNSArithmeticRound, -1.5f, 0, -2},
                      {BNNSArithmeticCeil, -1.5f, 0, -1},
                      {BNNSArithmeticFloor, -1.5f, 0, -2},
                      {BNNSArithmeticSign, -3, 0, -1},
                      {BNNSArithmeticSign, 0, 0, 0},
                      {BNNSArithmeticMultiplyNoNaN, nan, 0, 0},
                      {BNNSArithmeticMultiplyNoNaN, inf, -0.0f, 0},
                      {BNNSArithmeticMultiplyNoNaN, 0, inf, nan},
                      {BNNSArithmeticDivideNoNaN, nan, 0, 0},
                      {BNNSArithmeticDivide, 1, 0, inf},
                      {BNNSArithmeticFloorDivide, -7, 2, -4},
                      {BNNSArithmeticTruncDivide, -7, 2, -3},
                      {BNNSArithmeticTruncRemainder, -7, 2, -1},
                      {BNNSArithmeticTruncRemainder, 7, -2, 1},
                      {BNNSArithmeticTruncRemainder, 1e30f, 3, std::fmod(1e30f, 3.0f)},
                      {BNNSArithmeticTruncRemainder, 5, inf, 5},
                      {BNNSArithmeticPow, -2, 3, -8},
                      {BNNSArithmeticPow, -8, 1.0f / 3, nan},
                      {BNNSArithmeticPow, 0, 0, 1},
                      {BNNSArithmeticMinimum, nan, 1, nan},
                      {BNNSArithmeticMinimum, 1, nan, nan},
                      {BNNSArithmeticMaximum, 1, nan, nan},
                      {BNNSArithmeticSquareRoot, -1, 0, nan},
                      {BNNSArithmeticLog, 0, 0, -inf},
                      {BNNSArithmeticReciprocalSquareRoot, 0.25f, 0, 2}};
  for_targets([&](const char* target) {
    for (const Row& row : rows) {
      const Arithmetic f(row.function, inputs_of(row.function), vector_of(1));
      float y = 77;
      ASSERT_TRUE(f.apply(1, {&row.a, &row.b}, &y)) << OpenBNNSGetLastError();
      EXPECT_TRUE(y == row.y || (std::isnan(y) && std::isnan(row.y)))
          << target << ": function " << row.function << " of " << row.a << ", " << row.b << ": "
          << y;
    }
  });
}

Floats numbers(size_t n, float first) {
  Floats values(n);
  for (size_t i = 0; i < n; ++i) values[i] = 0.25f + std::fmod(first * static_cast<float>(i), 0.7f);
  return values;
}

// Every function may write over each of its inputs.
TEST(Arithmetic, ForwardInPlace) {
  constexpr size_t kCount = 37, kBatch = 3;
  for (uint32_t function = 0; function <= BNNSArithmeticErf; ++function) {
    const size_t inputs = inputs_of(function);
    const Arithmetic f(static_cast<BNNSArithmeticFunction>(function), inputs, vector_of(kCount));
    const Floats x[3] = {numbers(kCount * kBatch, 0.31f), numbers(kCount * kBatch, 0.43f),
                         numbers(kCount * kBatch, 0.57f)};
    Floats y(kCount * kBatch);
    ASSERT_TRUE(f.apply(kBatch, {x[0].data(), x[1].data(), x[2].data()}, y.data()));
    for (size_t k = 0; k < inputs; ++k) {
      Floats in_place = x[k];
      std::array<const void*, 3> in = {x[0].data(), x[1].data(), x[2].data()};
      in[k] = in_place.data();
      ASSERT_TRUE(f.apply(kBatch, in, in_place.data())) << OpenBNNSGetLastError();
      for (size_t i = 0; i < y.size(); ++i)
        EXPECT_TRUE(in_place[i] == y[i] || std::isnan(y[i])) << function << " input " << k;
    }
  }
}

// The gradient over that of the output: with and without activation, for the functions that may.
TEST(Arithmetic, GradientInPlace) {
  enum When { kNever, kIdentity, kAlways };
  const auto when = [](uint32_t function) {
    switch (function) {
      case BNNSArithmeticAdd:
      case BNNSArithmeticSubtract:
      case BNNSArithmeticCeil:
      case BNNSArithmeticFloor:
      case BNNSArithmeticRound:
      case BNNSArithmeticSign:
      case BNNSArithmeticNegate:
        return kAlways;
      case BNNSArithmeticSquareRoot:
      case BNNSArithmeticReciprocalSquareRoot:
      case BNNSArithmeticTanh:
      case BNNSArithmeticExp:
      case BNNSArithmeticExp2:
      case BNNSArithmeticReciprocal:
        return kIdentity;
      default:
        return kNever;
    }
  };
  constexpr size_t kCount = 700, kBatch = 2;
  for (uint32_t function = 0; function <= BNNSArithmeticErf; ++function) {
    for (const bool identity : {true, false}) {
      const size_t inputs = inputs_of(function);
      const Arithmetic f(
          static_cast<BNNSArithmeticFunction>(function), inputs, vector_of(kCount),
          activation(identity ? BNNSActivationFunctionIdentity : BNNSActivationFunctionSigmoid));
      const Floats x[3] = {numbers(kCount * kBatch, 0.31f), numbers(kCount * kBatch, 0.43f),
                           numbers(kCount * kBatch, 0.57f)};
      const void* in[3] = {x[0].data(), x[1].data(), x[2].data()};
      Floats y(kCount * kBatch), dy = numbers(kCount * kBatch, 0.77f);
      ASSERT_TRUE(f.apply(kBatch, {in[0], in[1], in[2]}, y.data()));
      Floats apart[3], other(kCount * kBatch);
      BNNSNDArrayDescriptor deltas[3], out_delta = vector_of(kCount, dy.data());
      for (size_t k = 0; k < 3; ++k) {
        apart[k].resize(kCount * kBatch);
        deltas[k] = vector_of(kCount, apart[k].data());
      }
      ASSERT_TRUE(
          f.backward(kBatch, in, {&deltas[0], &deltas[1], &deltas[2]}, y.data(), out_delta));
      for (size_t k = 0; k < inputs; ++k) {
        Floats both = dy;
        BNNSNDArrayDescriptor over = vector_of(kCount, both.data()),
                              rest = vector_of(kCount, other.data());
        BNNSNDArrayDescriptor d[3] = {rest, rest, rest};
        d[k].data = both.data();
        d[k == 2 ? 0 : 2].data = nullptr;
        const bool done = f.backward(kBatch, in, {&d[0], &d[1], &d[2]}, y.data(), over);
        const bool may = when(function) == kAlways || (when(function) == kIdentity && identity);
        EXPECT_EQ(done, may) << function << " " << OpenBNNSGetLastError();
        EXPECT_EQ(both, may ? apart[k] : dy) << function << " input " << k;
      }
    }
  }
}

// y = x * x and y = x + x with one tensor for both inputs: the gradient is the sum.
TEST(Arithmetic, OneTensorGivenTwice) {
  constexpr size_t kCount = 600;
  const Floats x = numbers(kCount, 0.31f), dy = numbers(kCount, 0.43f);
  for (const bool accumulate : {false, true}) {
    for (const auto function : {BNNSArithmeticMultiply, BNNSArithmeticAdd}) {
      const Arithmetic f(function, 2, vector_of(kCount));
      Floats dx(kCount, 1), g = dy;
      BNNSNDArrayDescriptor d = vector_of(kCount, dx.data()),
                            out_delta = vector_of(kCount, g.data());
      if (accumulate) d.flags = BNNSNDArrayFlagBackpropAccumulate;
      BNNSNDArrayDescriptor same = d;
      const void* in[3] = {x.data(), x.data()};
      ASSERT_TRUE(f.backward(1, in, {&d, &same}, nullptr, out_delta)) << OpenBNNSGetLastError();
      for (size_t i = 0; i < kCount; ++i) {
        const float one = function == BNNSArithmeticAdd ? dy[i] : dy[i] * x[i];
        EXPECT_EQ(dx[i], accumulate ? 1 + one + one : one + one);
      }
      if (function != BNNSArithmeticAdd || accumulate) continue;
      // The same over the gradient of the output.
      d.data = same.data = g.data();
      ASSERT_TRUE(f.backward(1, nullptr, {&d, &same}, nullptr, out_delta));
      for (size_t i = 0; i < kCount; ++i) EXPECT_EQ(g[i], dy[i] + dy[i]);
    }
  }
}

TEST(Arithmetic, OneParameterGivenTwice) {
  const Arithmetic f(BNNSArithmeticMultiply, 2, vector_of(3), {}, BNNSParameter);
  const Floats x = {1, 2, 3};
  Floats dx(3, -99), dy = {1, 10, 100};
  BNNSNDArrayDescriptor d = vector_of(3, dx.data()), same = d, out_delta = vector_of(3, dy.data());
  const void* in[3] = {x.data(), x.data()};
  // The output has no samples, so neither has its gradient, whatever the batch size.
  ASSERT_TRUE(f.backward(5, in, {&d, &same}, nullptr, out_delta)) << OpenBNNSGetLastError();
  EXPECT_EQ(dx, (Floats{2, 40, 600}));
  Guarded<float> y{Space{3}};
  ASSERT_TRUE(f.apply(5, {x.data(), x.data()}, y.data()));
  EXPECT_EQ(y[2], 9);
  EXPECT_TRUE(y.untouched_except([](size_t) { return true; }));
}

TEST(Arithmetic, BooleanCondition) {
  BNNSArithmeticTernary fields = {.in1 = vector_of(4, nullptr, BNNSDataTypeBoolean),
                                  .in1_type = BNNSSample,
                                  .in2 = vector_of(4),
                                  .in2_type = BNNSSample,
                                  .in3 = vector_of(1),
                                  .in3_type = BNNSParameter,
                                  .out = vector_of(4),
                                  .out_type = BNNSSample};
  const BNNSLayerParametersArithmetic p = {.arithmetic_function = BNNSArithmeticSelect,
                                           .arithmetic_function_fields = &fields};
  const Filter filter(BNNSFilterCreateLayerArithmetic(&p, nullptr));
  ASSERT_TRUE(filter) << OpenBNNSGetLastError();
  const bool truth[4] = {true, false, false, true};
  const Floats b = {1, 2, 3, 4}, c = {9};
  Floats y(4), db(4, -99), dc(1, -99), dy = {1, 10, 100, 1000};
  const void* in[3] = {truth, b.data(), c.data()};
  const size_t strides[3] = {};
  ASSERT_EQ(BNNSArithmeticFilterApplyBatch(filter.get(), 1, 3, in, strides, y.data(), 0), 0);
  EXPECT_EQ(y, (Floats{1, 9, 9, 4}));
  BNNSNDArrayDescriptor d2 = vector_of(4, db.data()), d3 = vector_of(1, dc.data()),
                        out_delta = vector_of(4, dy.data());
  BNNSNDArrayDescriptor* deltas[3] = {nullptr, &d2, &d3};
  ASSERT_EQ(BNNSArithmeticFilterApplyBackwardBatch(filter.get(), 1, 3, in, nullptr, deltas, strides,
                                                   nullptr, 0, &out_delta, 0),
            0)
      << OpenBNNSGetLastError();
  EXPECT_EQ(db, (Floats{1, 0, 0, 1000}));
  EXPECT_EQ(dc, (Floats{110}));
}

// act(a + b) with softmax is the filter of the sum, then that of the softmax.
TEST(Arithmetic, ActivationAlongAxes) {
  for (const auto function : {BNNSActivationFunctionSoftmax, BNNSActivationFunctionLogSoftmax}) {
    const BNNSNDArrayDescriptor shape = matrix_of(7, 5);
    constexpr size_t kCount = 35, kBatch = 3, kAll = kCount * kBatch;
    const Arithmetic fused(BNNSArithmeticMultiply, 2, shape, activation(function)),
        product(BNNSArithmeticMultiply, 2, shape);
    const Filter softmax = make_activation(shape, shape, activation(function));
    const Floats a = numbers(kAll, 0.31f), b = numbers(kAll, 0.43f);
    Floats z(kAll), y(kAll), expected(kAll), dy = numbers(kAll, 0.77f), g(kAll);
    ASSERT_TRUE(fused.apply(kBatch, {a.data(), b.data()}, y.data()));
    ASSERT_TRUE(product.apply(kBatch, {a.data(), b.data()}, z.data()));
    ASSERT_EQ(BNNSFilterApplyBatch(softmax.get(), kBatch, z.data(), 0, expected.data(), 0), 0);
    EXPECT_EQ(y, expected);

    auto described = [&](Floats& data) {
      BNNSNDArrayDescriptor d = shape;
      d.data = data.data();
      return d;
    };
    Floats da(kAll), db(kAll);
    BNNSNDArrayDescriptor out_delta = described(dy), g_delta = described(g), d1 = described(da),
                          d2 = described(db);
    const void* in[3] = {a.data(), b.data()};
    ASSERT_TRUE(fused.backward(kBatch, in, {&d1, &d2}, y.data(), out_delta));
    ASSERT_EQ(BNNSFilterApplyBackwardBatch(softmax.get(), kBatch, nullptr, 0, &g_delta, 0, y.data(),
                                           0, &out_delta, 0, nullptr, nullptr),
              0);
    for (size_t i = 0; i < kAll; ++i) {
      EXPECT_EQ(da[i], g[i] * b[i]);
      EXPECT_EQ(db[i], g[i] * a[i]);
    }
  }
}

}  // namespace
}  // namespace bnns::test
