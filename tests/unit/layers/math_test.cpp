// The vector math functions against the C library in double precision, on every target of this
// machine: largest error in ulp over a sample of all float bit patterns, special values, and order
// of neighbouring floats where the formula changes.
//
// OPENBNNS_MATH_STRIDE=n takes every n-th of the 2^32 bit patterns (default 1021; 1 takes all).

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <string>
#include <vector>

#include "support/ulp.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tests/unit/layers/math_test.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "math/erf-inl.h"
#include "math/exp-inl.h"
#include "math/log-inl.h"
#include "math/sigmoid-inl.h"

#ifndef OPENBNNS_MATH_TEST_SHARED_
#define OPENBNNS_MATH_TEST_SHARED_
namespace bnns::impl {

using MapFunction = void (*)(const float* in, float* out, size_t count);

struct MathTable {
  bool native_fma;
  MapFunction exp, expm1, log, log1p, tanh, sigmoid, log_sigmoid, softplus, erf, normal_cdf, gelu;
};

}  // namespace bnns::impl
#endif

HWY_BEFORE_NAMESPACE();
namespace bnns::impl::HWY_NAMESPACE {
namespace {

// count is a multiple of every vector length (the blocks below are 4096 long).
template <class Lambda>
void map_block(const float* in, float* out, size_t count) {
  const hn::ScalableTag<float> d;
  for (size_t i = 0; i < count; i += hn::Lanes(d)) {
    hn::StoreU(Lambda()(d, hn::LoadU(d, in + i)), d, out + i);
  }
}

template <class Lambda>
MapFunction map_with(Lambda /*lambda*/) {
  return &map_block<Lambda>;
}

MathTable math_table() {
  return {
      .native_fma = HWY_NATIVE_FMA != 0,
      .exp = map_with([](auto d, auto x) HWY_ATTR { return Exp(d, x); }),
      .expm1 = map_with([](auto d, auto x) HWY_ATTR { return Expm1(d, x); }),
      .log = map_with([](auto d, auto x) HWY_ATTR { return Log(d, x); }),
      .log1p = map_with([](auto d, auto x) HWY_ATTR { return Log1p(d, x); }),
      .tanh = map_with([](auto d, auto x) HWY_ATTR { return Tanh(d, x); }),
      .sigmoid = map_with([](auto d, auto x) HWY_ATTR { return Sigmoid(d, x); }),
      .log_sigmoid = map_with([](auto d, auto x) HWY_ATTR { return LogSigmoid(d, x); }),
      .softplus = map_with([](auto d, auto x) HWY_ATTR { return Softplus(d, x); }),
      .erf = map_with([](auto d, auto x) HWY_ATTR { return Erf(d, x); }),
      .normal_cdf = map_with([](auto d, auto x) HWY_ATTR { return NormalCdf(d, x); }),
      .gelu = map_with([](auto d, auto x) HWY_ATTR { return Gelu(d, x); }),
  };
}

}  // namespace
}  // namespace bnns::impl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace bnns::impl {
namespace {

HWY_EXPORT(math_table);

using test::kInf, test::kNan, test::pattern_stride, test::Special, test::ulp_error, test::Worst;

double reference_sigmoid(double x) {
  return x < 0 ? std::exp(x) / (1 + std::exp(x)) : 1 / (1 + std::exp(-x));
}

double reference_softplus(double x) {
  return x > 0 ? x + std::log1p(std::exp(-x)) : std::log1p(std::exp(x));
}

double reference_normal_cdf(double x) {
  return 0.5 * std::erfc(-x * std::sqrt(0.5));
}

// Bounds in ulp, with fused multiply-add and without.
struct Bound {
  double fused, plain;
};

// Whether neighbouring arguments never give a falling result inside a piece. Where rounding errors
// exceed the slope this does not hold, and only the order across the join is tested.
struct Monotone {
  bool fused, plain;
};

struct Function {
  const char* name;
  MapFunction MathTable::*map;
  double (*reference)(double);
  Bound bound;
  Monotone inside;
  std::vector<double> joins;
  std::vector<Special> specials;
};

void PrintTo(const Function& function, std::ostream* os) {
  *os << function.name;
}

// Where the number n of the reduction x = n ln 2 + r changes, for n around zero and at the ends.
std::vector<double> exp_joins() {
  std::vector<double> joins;
  for (int n : {-149, -127, -126, -2, -1, 0, 1, 126, 127}) {
    joins.push_back((n + 0.5) * std::log(2.0));
  }
  return joins;
}

const std::vector<Function>& functions() {
  static const std::vector<Function> all = {
      {"Exp",
       &MathTable::exp,
       [](double x) { return std::exp(x); },
       {2, 2},
       {true, true},
       exp_joins(),
       {{0, 1},
        {-0.0, 1},
        {kInf, kInf},
        {-kInf, 0},
        {89, kInf},
        {-104, 0},
        {3e38, kInf},
        {-3e38, 0}}},
      {"Expm1",
       &MathTable::expm1,
       [](double x) { return std::expm1(x); },
       {2, 2},
       {true, true},
       exp_joins(),
       {{0, 0}, {-0.0, -0.0}, {kInf, kInf}, {-kInf, -1}, {89, kInf}, {-3e38, -1}, {1e-45, 1e-45}}},
      {"Log",
       &MathTable::log,
       [](double x) { return std::log(x); },
       {2, 2},
       {true, true},
       {2. / 3, 4. / 3, 0x1p-126, 0x2p-126 / 3, 0x1p127 * 4 / 3},
       {{1, 0},
        {0, -kInf},
        {-0.0, -kInf},
        {kInf, kInf},
        {-1, kNan},
        {-kInf, kNan},
        {-1e-45, kNan}}},
      {"Log1p",
       &MathTable::log1p,
       [](double x) { return std::log1p(x); },
       {2, 2},
       {true, true},
       {-1. / 3, 1. / 3, -2. / 3, 5. / 3, 0x1p24 * 2 / 3, 0x1p24 * 4 / 3, 0x1p127 * 4 / 3},
       {{0, 0},
        {-0.0, -0.0},
        {-1, -kInf},
        {-1.0000001, kNan},
        {-kInf, kNan},
        {kInf, kInf},
        {1e-45, 1e-45}}},
      {"Tanh",
       &MathTable::tanh,
       [](double x) { return std::tanh(x); },
       {2, 2},
       {true, true},
       {-0.55, 0.55, 9.01, 10},
       {{0, 0}, {-0.0, -0.0}, {kInf, 1}, {-kInf, -1}, {10, 1}, {-3e38, -1}, {1e-45, 1e-45}}},
      {"Sigmoid",
       &MathTable::sigmoid,
       reference_sigmoid,
       {2, 2},
       {true, true},
       {-103.97, -0.34657, 0, 0.34657},
       {{0, 0.5}, {-0.0, 0.5}, {kInf, 1}, {-kInf, 0}, {3e38, 1}, {-3e38, 0}}},
      {"LogSigmoid",
       &MathTable::log_sigmoid,
       [](double x) { return -reference_softplus(-x); },
       {2, 2},
       {true, true},
       {-std::log(3.0), 0, std::log(3.0)},
       {{kInf, 0}, {-kInf, -kInf}, {-3e38, -3e38}, {3e38, 0}}},
      {"Softplus",
       &MathTable::softplus,
       reference_softplus,
       {2, 2},
       {true, true},
       {-std::log(3.0), 0, std::log(3.0)},
       {{kInf, kInf}, {-kInf, 0}, {3e38, 3e38}, {-3e38, 0}}},
      {"Erf",
       &MathTable::erf,
       [](double x) { return std::erf(x); },
       {2, 2},
       {true, false},
       {-1, 1, 3.9, 4},
       {{0, 0}, {-0.0, -0.0}, {kInf, 1}, {-kInf, -1}, {4, 1}, {-3e38, -1}}},
      {"NormalCdf",
       &MathTable::normal_cdf,
       reference_normal_cdf,
       {4, 4},
       {false, false},
       {-14.1, -0.75, 0, 0.75, 5.4},
       {{0, 0.5}, {-0.0, 0.5}, {kInf, 1}, {-kInf, 0}, {3e38, 1}, {-3e38, 0}}},
      {"Gelu",
       &MathTable::gelu,
       [](double x) { return x == -kInf ? 0 : x * reference_normal_cdf(x); },
       {4, 4},
       {false, false},
       {0},
       {{0, 0}, {kInf, kInf}, {-kInf, 0}, {3e38, 3e38}, {-3e38, 0}}},
  };
  return all;
}

constexpr size_t kBlock = 4096;

struct Target {
  std::string name;
  MathTable table;
};

const std::vector<Target>& targets() {
  static const std::vector<Target> all = [] {
    std::vector<Target> found;
    for (const int64_t target : hwy::SupportedAndGeneratedTargets()) {
      hwy::SetSupportedTargetsForTest(target);
      hwy::GetChosenTarget().Update(hwy::SupportedTargets());
      found.push_back({hwy::TargetName(target), HWY_DYNAMIC_DISPATCH(math_table)()});
    }
    hwy::SetSupportedTargetsForTest(0);
    return found;
  }();
  return all;
}

class MathTest : public testing::TestWithParam<Function> {};

TEST_P(MathTest, ErrorOverAllBitPatterns) {
  const Function& function = GetParam();
  std::vector<Worst> worst(targets().size());
  std::vector<float> in(kBlock), out(kBlock);
  std::vector<double> exact(kBlock);
  for (uint64_t bits = 0; bits <= UINT32_MAX;) {
    for (size_t i = 0; i < kBlock; ++i, bits += pattern_stride()) {
      in[i] = std::bit_cast<float>(static_cast<uint32_t>(std::min<uint64_t>(bits, UINT32_MAX)));
      exact[i] = function.reference(in[i]);
    }
    for (size_t t = 0; t < targets().size(); ++t) {
      (targets()[t].table.*function.map)(in.data(), out.data(), kBlock);
      for (size_t i = 0; i < kBlock; ++i) {
        const double error = ulp_error(out[i], exact[i]);
        if (error > worst[t].error) worst[t] = {error, in[i]};
      }
    }
  }
  for (size_t t = 0; t < targets().size(); ++t) {
    std::printf("%-10s %-6s max %.3f ulp at %.9g\n", function.name, targets()[t].name.c_str(),
                worst[t].error, worst[t].at);
    const bool fused = targets()[t].table.native_fma;
    EXPECT_LE(worst[t].error, fused ? function.bound.fused : function.bound.plain)
        << targets()[t].name << " at " << worst[t].at;
  }
}

TEST_P(MathTest, SpecialValues) {
  const Function& function = GetParam();
  std::vector<Special> cases = function.specials;
  cases.push_back({kNan, kNan});
  cases.push_back({-kNan, kNan});
  for (const Target& target : targets()) {
    for (const Special& special : cases) {
      std::vector<float> in(kBlock, static_cast<float>(special.in)), out(kBlock);
      (target.table.*function.map)(in.data(), out.data(), kBlock);
      const float want = static_cast<float>(special.out);
      if (std::isnan(want)) {
        EXPECT_TRUE(std::isnan(out[0])) << target.name << " at " << special.in << ": " << out[0];
      } else {
        EXPECT_EQ(std::bit_cast<uint32_t>(out[0]), std::bit_cast<uint32_t>(want))
            << target.name << " at " << special.in << ": " << out[0] << ", not " << want;
      }
    }
  }
}

// 4096 neighbouring floats around each join, in rising order; the join itself belongs to the piece
// farther from zero. No result left of the join exceeds one right of it.
TEST_P(MathTest, NondecreasingAroundJoins) {
  const Function& function = GetParam();
  std::vector<float> in(kBlock), out(kBlock);
  for (const Target& target : targets()) {
    const bool inside = target.table.native_fma ? function.inside.fused : function.inside.plain;
    for (const double join : function.joins) {
      in[kBlock / 2] = static_cast<float>(join);
      for (size_t i = kBlock / 2; i > 0; --i) in[i - 1] = std::nextafter(in[i], -INFINITY);
      for (size_t i = kBlock / 2 + 1; i < kBlock; ++i) in[i] = std::nextafter(in[i - 1], INFINITY);
      (target.table.*function.map)(in.data(), out.data(), kBlock);
      const auto right = out.begin() + kBlock / 2 + (join < 0 ? 1 : 0);
      EXPECT_LE(*std::max_element(out.begin(), right), *std::min_element(right, out.end()))
          << target.name << " across the join " << join;
      if (inside) {
        const auto fall = std::is_sorted_until(out.begin(), out.end());
        EXPECT_EQ(fall, out.end())
            << target.name << " at " << in[fall - out.begin()] << " near the join " << join;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Functions, MathTest, testing::ValuesIn(functions()),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace bnns::impl
#endif  // HWY_ONCE
