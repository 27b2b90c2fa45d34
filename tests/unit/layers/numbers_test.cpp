// Numbers that break formulas: zeros of both signs, infinities, NaN, subnormals, the largest float,
// logits that overflow, 16-bit floats at their limits. Results are those of the formula.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

#include "support/call_builder.h"
#include "support/call_functions.h"

namespace bnns::test {
namespace {

using Floats = std::vector<float>;
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kMax = std::numeric_limits<float>::max();
constexpr float kMin = std::numeric_limits<float>::min();
constexpr float kTiny = std::numeric_limits<float>::denorm_min();

BNNSActivation parameters(const Function& f) {
  return activation(f.function, static_cast<float>(f.a), static_cast<float>(f.b));
}

double alpha(const Function& f) {
  return static_cast<float>(f.a);
}
double beta(const Function& f) {
  return static_cast<float>(f.b);
}

// 17 copies, so that whole vectors and the rest behind them are reached on every target.
constexpr size_t kCopies = 17;

Floats applied(const Filter& filter, const Floats& x) {
  Floats y(x.size());
  EXPECT_TRUE(filter) << OpenBNNSGetLastError();
  EXPECT_EQ(BNNSFilterApply(filter.get(), x.data(), y.data()), 0) << OpenBNNSGetLastError();
  return y;
}

float forward(const Function& f, float x) {
  const Floats y = applied(make_activation(vector_of(kCopies), vector_of(kCopies), parameters(f)),
                           Floats(kCopies, x));
  for (const float v : y) EXPECT_TRUE(v == y[0] || (std::isnan(v) && std::isnan(y[0])));
  return y[0];
}

// dx of one value; x or y may be null.
float backward(const Function& f, const float* x, const float* y, float dy_value) {
  const Filter filter = make_activation(vector_of(kCopies), vector_of(kCopies), parameters(f));
  const Floats in(kCopies, x ? *x : 0), out(kCopies, y ? *y : 0);
  Floats dy(kCopies, dy_value), dx(kCopies, -99);
  auto in_delta = vector_of(kCopies, dx.data());
  const auto out_delta = vector_of(kCopies, dy.data());
  EXPECT_EQ(
      BNNSFilterApplyBackwardBatch(filter.get(), 1, x ? in.data() : nullptr, 0, &in_delta, 0,
                                   y ? out.data() : nullptr, 0, &out_delta, 0, nullptr, nullptr),
      0)
      << OpenBNNSGetLastError();
  for (const float v : dx) EXPECT_TRUE(v == dx[0] || (std::isnan(v) && std::isnan(dx[0])));
  return dx[0];
}

// Equal within `ulps` units in the last place of the expected float, infinities exactly.
bool close(float got, double expected, int ulps) {
  const auto rounded = static_cast<float>(expected);
  if (std::isnan(expected)) return std::isnan(got);
  if (std::isinf(rounded)) return got == rounded || std::fabs(got) == kMax;
  const double unit = std::max(
      std::ldexp(1.0, std::ilogb(std::max(std::fabs(expected), 1e-300)) - 23), double{kTiny});
  return std::fabs(got - expected) <= ulps * unit;
}

const Floats kFinite = {0.0f,  -0.0f,  kTiny,   -kTiny, 1e-40f, -1e-40f, kMin,
                        -kMin, 1e-20f, -1e-20f, 1.0f,   -1.0f,  100.0f,  -100.0f,
                        1e18f, -1e18f, 1e30f,   -1e30f, kMax,   -kMax};

// The bound of the weakest of the vector functions, docs/numerics.md, plus one rounding for each of
// the products around it.
constexpr int kUlps = 8;

TEST(Numbers, ForwardOfExtremes) {
  for_targets([](const char* target) {
    for (const Function& f : element_functions()) {
      for (const float x : kFinite) {
        const double expected = f.y(x, alpha(f), beta(f));
        // A factor that underflows to a multiple of 2^-149 is multiplied by x.
        const bool underflows = std::fabs(expected) < kMin && std::fabs(x) > 1;
        const int ulps =
            underflows ? kUlps + static_cast<int>(std::min(std::fabs(x), 1000.0f)) : kUlps;
        EXPECT_TRUE(close(forward(f, x), expected, ulps))
            << target << " " << f.name << "(" << x << ") = " << forward(f, x) << ", not "
            << expected;
      }
    }
  });
}

TEST(Numbers, ForwardOfInfinityAndNan) {
  for_targets([](const char* target) {
    for (const Function& f : element_functions()) {
      SCOPED_TRACE(testing::Message() << target << " " << f.name);
      EXPECT_TRUE(std::isnan(forward(f, kNan)));
      EXPECT_TRUE(std::isnan(forward(f, -kNan)));
      EXPECT_TRUE(std::isnan(forward(f, std::bit_cast<float>(0x7F800001u)))) << "signalling";
      for (const float x : {kInf, -kInf}) {
        const double formula = f.y(x, alpha(f), beta(f));
        const float got = forward(f, x);
        // 0 * Inf in the formula: NaN, or what it tends to.
        const double limit = x < 0 ? f.at_minus_inf : std::copysign(f.at_minus_inf, 1.0);
        const bool right =
            std::isnan(formula) ? std::isnan(got) || got == limit : close(got, formula, 2);
        EXPECT_TRUE(right) << "f(" << x << ") = " << got << ", not " << formula;
      }
    }
  });
}

TEST(Numbers, SignOfZero) {
  for (const Function& f : element_functions()) {
    const bool odd =
        f.function == BNNSActivationFunctionIdentity || f.function == BNNSActivationFunctionTanh ||
        f.function == BNNSActivationFunctionErf || f.function == BNNSActivationFunctionLinear ||
        f.function == BNNSActivationFunctionSoftsign;
    if (odd) {
      EXPECT_TRUE(std::signbit(forward(f, -0.0f))) << f.name;
      EXPECT_FALSE(std::signbit(forward(f, 0.0f))) << f.name;
    }
    if (f.function == BNNSActivationFunctionAbs) {
      EXPECT_FALSE(std::signbit(forward(f, -0.0f)));
    }
  }
}

// Kinks lie at 0 in many functions, where the slope is left open.
bool has_kink_at_zero(const Function& f) {
  switch (f.function) {
    case BNNSActivationFunctionRectifiedLinear:
    case BNNSActivationFunctionLeakyRectifiedLinear:
    case BNNSActivationFunctionAbs:
    case BNNSActivationFunctionELU:
    case BNNSActivationFunctionClampedLeakyRectifiedLinear:
    case BNNSActivationFunctionSELU:
    case BNNSActivationFunctionReLU6:
      return true;
    default:
      return false;
  }
}

// y does not tell x left of the minimum; the other branch is taken by definition.
bool is_ambiguous(const Function& f, float x, float y) {
  return (y == 0 && x != 0) ||
         (f.function == BNNSActivationFunctionGELUApproximationSigmoid && x < -0.7511f);
}

bool is_kink(const Function& f, float x) {
  return (x == 0 && has_kink_at_zero(f)) || (f.function == BNNSActivationFunctionClamp && x == -1);
}

TEST(Numbers, BackwardFromInput) {
  for_targets([](const char* target) {
    for (const Function& f : element_functions()) {
      SCOPED_TRACE(testing::Message() << target << " " << f.name);
      for (const float x : kFinite) {
        if (is_kink(f, x)) continue;
        const double slope = f.slope(x, alpha(f), beta(f));
        // In double x * x can overflow to Inf * 0 where the slope has long been 0 or 1.
        const double expected =
            std::isnan(slope) ? (x < 0 ? f.slope_at_minus_inf : f.slope_at_plus_inf) : slope;
        const float got = backward(f, &x, nullptr, 1);
        EXPECT_NEAR(got, expected, 1e-6 * std::max(1.0, std::fabs(expected))) << "at " << x;
        EXPECT_EQ(backward(f, &x, nullptr, 0), 0) << "at " << x;
      }
      for (const float x : {kInf, -kInf}) {
        const double slope = f.slope(x, alpha(f), beta(f));
        const double limit = x < 0 ? f.slope_at_minus_inf : f.slope_at_plus_inf;
        const float got = backward(f, &x, nullptr, 1);
        const bool right =
            std::isnan(slope) ? std::isnan(got) || got == limit : close(got, slope, kUlps);
        EXPECT_TRUE(right) << "slope at " << x << " is " << got << ", not " << slope;
      }
      if (f.smooth) {
        EXPECT_TRUE(std::isnan(backward(f, &kNan, nullptr, 1)));
      }
      const float one = 1.25f;
      const double slope = f.slope(one, alpha(f), beta(f));
      if (slope != 0) {
        EXPECT_TRUE(std::isnan(backward(f, &one, nullptr, kNan)));
        EXPECT_EQ(backward(f, &one, nullptr, kInf), slope > 0 ? kInf : -kInf);
      }
    }
  });
}

TEST(Numbers, BackwardFromOutput) {
  for_targets([](const char* target) {
    for (const Function& f : element_functions()) {
      if (!f.from_output) continue;
      SCOPED_TRACE(testing::Message() << target << " " << f.name);
      for (const float x : kFinite) {
        const float y = forward(f, x);
        if (is_kink(f, x) || is_ambiguous(f, x, y)) continue;
        const double slope = f.slope(x, alpha(f), beta(f));
        EXPECT_NEAR(backward(f, nullptr, &y, 1), std::isnan(slope) ? 1 : slope, 1e-5) << "at " << x;
      }
      for (const float x : {kInf, -kInf}) {
        const float y = forward(f, x);
        const double slope = f.slope(x, alpha(f), beta(f));
        if (std::isnan(y) || std::isnan(slope) || is_ambiguous(f, x, y)) continue;
        EXPECT_NEAR(backward(f, nullptr, &y, 1), slope, 1e-5) << "at " << x;
      }
      if (f.smooth) {
        EXPECT_TRUE(std::isnan(backward(f, nullptr, &kNan, 1)));
      }
    }
  });
}

// ---- Softmax ----

Floats softmax(const Floats& x, BNNSActivationFunction function = BNNSActivationFunctionSoftmax) {
  return applied(make_activation(vector_of(x.size()), vector_of(x.size()), activation(function)),
                 x);
}

TEST(Numbers, SoftmaxOfHugeLogits) {
  for_targets([](const char* target) {
    for (size_t n = 1; n <= 40; ++n) {
      SCOPED_TRACE(testing::Message() << target << " n " << n);
      for (const float huge : {1e4f, 1e30f, kMax}) {
        for (size_t hot = 0; hot < n; hot += 7) {
          Floats x(n, 0), one(n, 0), log(n, -huge);
          x[hot] = huge;
          one[hot] = 1;
          log[hot] = 0;
          EXPECT_EQ(softmax(x), one);
          EXPECT_EQ(softmax(x, BNNSActivationFunctionLogSoftmax), log);
        }
        for (const float same : {huge, -huge, 0.0f, -0.0f, kTiny}) {
          for (const float y : softmax(Floats(n, same)))
            EXPECT_TRUE(close(y, 1.0 / static_cast<double>(n), 2));
        }
      }
    }
  });
}

TEST(Numbers, SoftmaxOfInfinityAndNan) {
  for_targets([](const char* target) {
    for (const auto function : {BNNSActivationFunctionSoftmax, BNNSActivationFunctionLogSoftmax}) {
      for (size_t n = 1; n <= 35; ++n) {
        SCOPED_TRACE(testing::Message() << target << " " << function << " n " << n);
        const bool log = function == BNNSActivationFunctionLogSoftmax;
        for (const float y : softmax(Floats(n, -kInf), function)) EXPECT_TRUE(std::isnan(y));
        for (size_t at = 0; at < n; at += 3) {
          Floats x(n, 1);
          x[at] = kNan;
          for (const float y : softmax(x, function)) EXPECT_TRUE(std::isnan(y));
          x[at] = kInf;
          EXPECT_TRUE(std::isnan(softmax(x, function)[at]));
          if (n == 1) continue;
          x[at] = -kInf;
          const Floats y = softmax(x, function);
          for (size_t i = 0; i < n; ++i) {
            const double share = 1.0 / static_cast<double>(n - 1);
            if (i == at) {
              EXPECT_EQ(y[i], log ? -kInf : 0);
            } else {
              EXPECT_TRUE(close(y[i], log ? std::log(share) : share, 2)) << y[i];
            }
          }
        }
      }
    }
  });
}

// A row with NaN leaves its neighbours alone, whether rows lie along or across memory.
TEST(Numbers, SoftmaxRowsAreApart) {
  for_targets([](const char* target) {
    for (const uint32_t axis : {1u, 2u}) {
      SCOPED_TRACE(testing::Message() << target << " axis " << axis);
      const size_t columns = 19, rows = 21;
      Floats x(columns * rows, 0.5f);
      const size_t bad = 7 * columns + 5;
      x[bad] = kNan;
      const Filter filter = make_activation(matrix_of(columns, rows), matrix_of(columns, rows),
                                            activation(BNNSActivationFunctionSoftmax), axis);
      const Floats y = applied(filter, x);
      for (size_t i = 0; i < y.size(); ++i) {
        const bool same_row = axis == 1 ? i / columns == 7 : i % columns == 5;
        EXPECT_EQ(std::isnan(y[i]), same_row) << i;
        if (!same_row) {
          EXPECT_TRUE(close(y[i], 1.0 / static_cast<double>(axis == 1 ? columns : rows), 2));
        }
      }
    }
  });
}

// ---- Fully connected ----

TEST(Numbers, FullyConnectedKeepsSamplesApart) {
  for_targets([](const char* target) {
    for (const float bad : {kNan, kInf, -kInf}) {
      SCOPED_TRACE(testing::Message() << target << " " << bad);
      const size_t in = 19, out = 7, batch = 9;
      Floats weights(in * out, 1), x(in * batch, 2), y(out * batch, -99);
      BNNSLayerParametersFullyConnected p = {};
      p.i_desc = vector_of(in);
      p.o_desc = vector_of(out);
      p.w_desc = matrix_of(in, out, weights.data());
      const Filter filter(BNNSFilterCreateLayerFullyConnected(&p, nullptr));
      x[4 * in + 18] = bad;
      ASSERT_EQ(BNNSFilterApplyBatch(filter.get(), batch, x.data(), 0, y.data(), 0), 0);
      for (size_t b = 0; b < batch; ++b) {
        for (size_t o = 0; o < out; ++o) {
          const float got = y[b * out + o];
          const float expected = b == 4 ? bad : 38;
          EXPECT_TRUE(got == expected || (std::isnan(expected) && std::isnan(got))) << got;
        }
      }
      Floats dx(in * batch, -99), dw(in * out, -99);
      auto in_delta = vector_of(in, dx.data()), weights_delta = matrix_of(in, out, dw.data());
      Floats dy(out * batch, 1);
      const auto out_delta = vector_of(out, dy.data());
      ASSERT_EQ(BNNSFilterApplyBackwardBatch(filter.get(), batch, x.data(), 0, &in_delta, 0,
                                             nullptr, 0, &out_delta, 0, &weights_delta, nullptr),
                0);
      for (const float v : dx) EXPECT_EQ(v, 7);
      for (size_t i = 0; i < dw.size(); ++i) {
        const float expected = i % in == 18 ? bad : 18;
        EXPECT_TRUE(dw[i] == expected || (std::isnan(expected) && std::isnan(dw[i]))) << dw[i];
      }
    }
  });
}

TEST(Numbers, FullyConnectedOverflowsAndZeroTimesInfinity) {
  Floats weights = {1, 1, 0, 0}, y(2);
  BNNSLayerParametersFullyConnected p = {};
  p.i_desc = p.o_desc = vector_of(2);
  p.w_desc = matrix_of(2, 2, weights.data());
  const Filter filter(BNNSFilterCreateLayerFullyConnected(&p, nullptr));
  EXPECT_EQ(applied(filter, {kMax, kMax})[0], kInf);
  EXPECT_TRUE(std::isnan(applied(filter, {kInf, -kInf})[0]));
  EXPECT_TRUE(std::isnan(applied(filter, {kInf, 1})[1]));
  EXPECT_EQ(applied(filter, {kTiny, kTiny})[0], 2 * kTiny);
}

// ---- 16-bit floats ----

uint16_t doubled(BNNSDataType type, uint16_t bits) {
  const std::vector<uint16_t> in(kCopies, bits);
  std::vector<uint16_t> out(kCopies);
  const auto d = vector_of(kCopies, nullptr, type);
  const Filter filter = make_activation(d, d, activation(BNNSActivationFunctionLinear, 2));
  EXPECT_TRUE(filter) << OpenBNNSGetLastError();
  EXPECT_EQ(BNNSFilterApply(filter.get(), in.data(), out.data()), 0);
  for (const uint16_t v : out) EXPECT_EQ(v, out[0]);
  return out[0];
}

TEST(Numbers, SixteenBitLimits) {
  for_targets([](const char*) {
    const auto half = BNNSDataTypeFloat16, bfloat = BNNSDataTypeBFloat16;
    EXPECT_EQ(doubled(half, 0x7BFF), 0x7C00) << "overflow";
    EXPECT_EQ(doubled(half, 0xFBFF), 0xFC00);
    EXPECT_EQ(doubled(half, 0x7C00), 0x7C00);
    EXPECT_EQ(doubled(half, 0x0001), 0x0002) << "subnormals are exact";
    EXPECT_EQ(doubled(half, 0x8001), 0x8002);
    EXPECT_EQ(doubled(half, 0x03FF), 0x07FE) << "subnormal to normal";
    EXPECT_EQ(doubled(half, 0x8000), 0x8000);
    EXPECT_EQ(doubled(bfloat, 0x7F7F), 0x7F80);
    EXPECT_EQ(doubled(bfloat, 0xFF80), 0xFF80);
    EXPECT_EQ(doubled(bfloat, 0x0001), 0x0002);
    EXPECT_EQ(doubled(bfloat, 0x007F), 0x00FE);
    for (const uint16_t nan : {0x7C01, 0x7E00, 0x7FFF, 0xFC01, 0xFFFF})
      EXPECT_GT(doubled(half, nan) & 0x7FFF, 0x7C00) << nan;
    for (const uint16_t nan : {0x7F81, 0x7FC0, 0x7FFF, 0xFF81, 0xFFFF})
      EXPECT_GT(doubled(bfloat, nan) & 0x7FFF, 0x7F80) << nan;
  });
}

}  // namespace
}  // namespace bnns::test
