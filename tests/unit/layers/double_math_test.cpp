// The vector functions that are computed in double (trigonometric and hyperbolic ones, powers and
// quotients) against the C library, on every target of this machine: largest error in ulp over a
// sample of all float bit patterns, huge angles, special values. Functions of two arguments are
// tried on pairs of bit patterns and on all pairs of special values.
//
// OPENBNNS_MATH_STRIDE=n takes every n-th of the 2^32 bit patterns (default 1021; 1 takes all).
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "support/ulp.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tests/unit/layers/double_math_test.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "math/hyperbolic-inl.h"
#include "math/power-inl.h"
#include "math/trigonometric-inl.h"

#ifndef OPENBNNS_DOUBLE_MATH_TEST_SHARED_
#define OPENBNNS_DOUBLE_MATH_TEST_SHARED_
namespace bnns::impl {

using MapOne = void (*)(const float* in, float* out, size_t count);
using MapTwo = void (*)(const float* x, const float* y, float* out, size_t count);

struct DoubleMathTable {
  MapOne sin, cos, tan, asin, acos, atan, sinh, cosh, asinh, acosh, atanh, exp2, log2;
  MapTwo pow, floor_quotient, trunc_quotient, remainder;
};

}  // namespace bnns::impl
#endif

HWY_BEFORE_NAMESPACE();
namespace bnns::impl::HWY_NAMESPACE {
namespace {

// count is a multiple of every vector length.
template <class Lambda>
void map_one(const float* in, float* out, size_t count) {
  const hn::ScalableTag<float> d;
  for (size_t i = 0; i < count; i += hn::Lanes(d))
    hn::StoreU(Lambda()(d, hn::LoadU(d, in + i)), d, out + i);
}
template <class Lambda>
void map_two(const float* x, const float* y, float* out, size_t count) {
  const hn::ScalableTag<float> d;
  for (size_t i = 0; i < count; i += hn::Lanes(d))
    hn::StoreU(Lambda()(d, hn::LoadU(d, x + i), hn::LoadU(d, y + i)), d, out + i);
}
template <class Lambda>
MapOne one(Lambda /*lambda*/) {
  return &map_one<Lambda>;
}
template <class Lambda>
MapTwo two(Lambda /*lambda*/) {
  return &map_two<Lambda>;
}

DoubleMathTable double_math_table() {
  return {
      .sin = one([](auto d, auto x) HWY_ATTR { return Sin(d, x); }),
      .cos = one([](auto d, auto x) HWY_ATTR { return Cos(d, x); }),
      .tan = one([](auto d, auto x) HWY_ATTR { return Tan(d, x); }),
      .asin = one([](auto d, auto x) HWY_ATTR { return Asin(d, x); }),
      .acos = one([](auto d, auto x) HWY_ATTR { return Acos(d, x); }),
      .atan = one([](auto d, auto x) HWY_ATTR { return Atan(d, x); }),
      .sinh = one([](auto d, auto x) HWY_ATTR { return Sinh(d, x); }),
      .cosh = one([](auto d, auto x) HWY_ATTR { return Cosh(d, x); }),
      .asinh = one([](auto d, auto x) HWY_ATTR { return Asinh(d, x); }),
      .acosh = one([](auto d, auto x) HWY_ATTR { return Acosh(d, x); }),
      .atanh = one([](auto d, auto x) HWY_ATTR { return Atanh(d, x); }),
      .exp2 = one([](auto d, auto x) HWY_ATTR { return Exp2(d, x); }),
      .log2 = one([](auto d, auto x) HWY_ATTR { return Log2(d, x); }),
      .pow = two([](auto d, auto x, auto y) HWY_ATTR { return Pow(d, x, y); }),
      .floor_quotient = two([](auto d, auto x, auto y) HWY_ATTR { return FloorQuotient(d, x, y); }),
      .trunc_quotient = two([](auto d, auto x, auto y) HWY_ATTR { return TruncQuotient(d, x, y); }),
      .remainder = two([](auto d, auto x, auto y) HWY_ATTR { return Remainder(d, x, y); }),
  };
}

}  // namespace
}  // namespace bnns::impl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace bnns::impl {
namespace {

HWY_EXPORT(double_math_table);

using test::kInf, test::kNan, test::Special, test::ulp_error, test::Worst;

struct Target {
  std::string name;
  DoubleMathTable table;
};

const std::vector<Target>& targets() {
  static const std::vector<Target> all = [] {
    std::vector<Target> found;
    for (const int64_t target : hwy::SupportedAndGeneratedTargets()) {
      hwy::SetSupportedTargetsForTest(target);
      hwy::GetChosenTarget().Update(hwy::SupportedTargets());
      found.push_back({hwy::TargetName(target), HWY_DYNAMIC_DISPATCH(double_math_table)()});
    }
    hwy::SetSupportedTargetsForTest(0);
    return found;
  }();
  return all;
}

constexpr size_t kBlock = 4096;

struct Function {
  const char* name;
  MapOne DoubleMathTable::*map;
  double (*reference)(double);
  double bound;  // in ulp
  std::vector<Special> specials;
};

void PrintTo(const Function& function, std::ostream* os) {
  *os << function.name;
}

constexpr double kHalfPi = 1.57079632679489661923;

const std::vector<Function>& functions() {
  using T = DoubleMathTable;
  static const std::vector<Function> all = {
      {"Sin", &T::sin, std::sin, 2, {{0, 0}, {-0.0, -0.0}, {kInf, kNan}, {-kInf, kNan}}},
      {"Cos", &T::cos, std::cos, 2, {{0, 1}, {-0.0, 1}, {kInf, kNan}, {-kInf, kNan}}},
      {"Tan", &T::tan, std::tan, 2, {{0, 0}, {-0.0, -0.0}, {kInf, kNan}, {-kInf, kNan}}},
      {"Asin",
       &T::asin,
       std::asin,
       1,
       {{0, 0}, {-0.0, -0.0}, {1, kHalfPi}, {-1, -kHalfPi}, {1.0000001, kNan}, {-kInf, kNan}}},
      {"Acos",
       &T::acos,
       std::acos,
       1,
       {{1, 0}, {0, kHalfPi}, {-1, 2 * kHalfPi}, {1.0000001, kNan}, {-2, kNan}, {kInf, kNan}}},
      {"Atan",
       &T::atan,
       std::atan,
       1,
       {{0, 0}, {-0.0, -0.0}, {1, kHalfPi / 2}, {kInf, kHalfPi}, {-kInf, -kHalfPi}}},
      {"Sinh",
       &T::sinh,
       std::sinh,
       1,
       {{0, 0}, {-0.0, -0.0}, {kInf, kInf}, {-kInf, -kInf}, {100, kInf}, {-3e38, -kInf}}},
      {"Cosh", &T::cosh, std::cosh, 1, {{0, 1}, {-0.0, 1}, {kInf, kInf}, {-kInf, kInf}}},
      {"Asinh",
       &T::asinh,
       std::asinh,
       1,
       {{0, 0}, {-0.0, -0.0}, {kInf, kInf}, {-kInf, -kInf}, {1e-45, 1e-45}}},
      {"Acosh",
       &T::acosh,
       std::acosh,
       1,
       {{1, 0}, {kInf, kInf}, {0.99999994, kNan}, {-2, kNan}, {-kInf, kNan}}},
      {"Atanh",
       &T::atanh,
       std::atanh,
       1,
       {{0, 0}, {-0.0, -0.0}, {1, kInf}, {-1, -kInf}, {1.0000001, kNan}, {-kInf, kNan}}},
      {"Exp2",
       &T::exp2,
       std::exp2,
       2,
       {{0, 1}, {-0.0, 1}, {3, 8}, {128, kInf}, {-149, 0x1p-149}, {-152, 0}, {-kInf, 0}}},
      {"Log2",
       &T::log2,
       std::log2,
       1,
       {{1, 0}, {8, 3}, {0x1p-149, -149}, {0, -kInf}, {-0.0, -kInf}, {kInf, kInf}, {-1, kNan}}},
  };
  return all;
}

class DoubleMath : public testing::TestWithParam<Function> {};

TEST_P(DoubleMath, ErrorOverAllBitPatterns) {
  const Function& function = GetParam();
  std::vector<Worst> worst(targets().size());
  std::vector<float> in(kBlock), out(kBlock);
  std::vector<double> exact(kBlock);
  for (uint64_t bits = 0; bits <= UINT32_MAX;) {
    for (size_t i = 0; i < kBlock; ++i, bits += test::pattern_stride()) {
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
    EXPECT_LE(worst[t].error, function.bound) << targets()[t].name << " at " << worst[t].at;
  }
}

void expect_float(float got, double exact, const std::string& what) {
  const auto want = static_cast<float>(exact);
  if (std::isnan(want)) {
    EXPECT_TRUE(std::isnan(got)) << what << ": " << got;
  } else {
    EXPECT_EQ(std::bit_cast<uint32_t>(got), std::bit_cast<uint32_t>(want))
        << what << ": " << got << ", not " << want;
  }
}

TEST_P(DoubleMath, SpecialValues) {
  const Function& function = GetParam();
  std::vector<Special> cases = function.specials;
  cases.push_back({kNan, kNan});
  for (const Target& target : targets()) {
    for (const Special& special : cases) {
      std::vector<float> in(64, static_cast<float>(special.in)), out(64);
      (target.table.*function.map)(in.data(), out.data(), in.size());
      expect_float(out[0], special.out, target.name + " at " + std::to_string(special.in));
    }
  }
}

// Floats that lie close to a multiple of pi/2 lose the most bits in the reduction.
TEST(DoubleMath, AnglesNextToMultiplesOfAQuarterTurn) {
  std::vector<float> in;
  for (int e = -2; e < 126; ++e) {
    for (int k = 1; k < 32; ++k) {
      const double multiple = std::nearbyint(std::ldexp(k, e) / kHalfPi) * kHalfPi;
      in.push_back(static_cast<float>(multiple));
      in.push_back(-std::nextafter(in.back(), INFINITY));
    }
  }
  in.push_back(0x1.6e4a4p+62f);
  in.push_back(16367173.0f * 0x1p72f);
  while (in.size() % 64 != 0) in.push_back(0);
  std::vector<float> out(in.size());
  for (const Target& target : targets()) {
    for (const Function& f : {functions()[0], functions()[1], functions()[2]}) {
      (target.table.*f.map)(in.data(), out.data(), in.size());
      for (size_t i = 0; i < in.size(); ++i)
        ASSERT_LE(ulp_error(out[i], f.reference(in[i])), f.bound)
            << target.name << " " << f.name << " at " << in[i];
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Functions, DoubleMath, testing::ValuesIn(functions()),
                         [](const auto& info) { return std::string(info.param.name); });

// ---- Two arguments ----

struct PairFunction {
  const char* name;
  MapTwo DoubleMathTable::*map;
  double (*reference)(double, double);
  double bound;
};

void PrintTo(const PairFunction& function, std::ostream* os) {
  *os << function.name;
}

const std::vector<PairFunction>& pair_functions() {
  using T = DoubleMathTable;
  static const std::vector<PairFunction> all = {
      {"Pow", &T::pow, [](double x, double y) { return std::pow(x, y); }, 1},
      {"FloorQuotient", &T::floor_quotient, [](double x, double y) { return std::floor(x / y); },
       0.5},
      {"TruncQuotient", &T::trunc_quotient, [](double x, double y) { return std::trunc(x / y); },
       0.5},
      {"Remainder", &T::remainder, [](double x, double y) { return std::fmod(x, y); }, 0},
  };
  return all;
}

class DoubleMathPairs : public testing::TestWithParam<PairFunction> {};

TEST_P(DoubleMathPairs, Error) {
  const PairFunction& function = GetParam();
  std::vector<float> x(kBlock), y(kBlock), out(kBlock);
  uint64_t state = 1;
  const auto next = [&] {
    return (state = state * 6364136223846793005u + 1442695040888963407u) >> 32;
  };
  std::vector<Worst> worst(targets().size());
  for (int round = 0; round < 300; ++round) {
    for (size_t i = 0; i < kBlock; ++i) {
      // Any bit patterns, bases next to 1 with large exponents, numbers of everyday size.
      const auto a = static_cast<uint32_t>(next()), b = static_cast<uint32_t>(next());
      x[i] = std::bit_cast<float>(a);
      y[i] = std::bit_cast<float>(b);
      if (round % 3 == 1) x[i] = 1 + std::ldexp(static_cast<float>(static_cast<int32_t>(a)), -35);
      if (round % 3 == 1) y[i] = std::ldexp(static_cast<float>(static_cast<int32_t>(b)), -20);
      if (round % 3 == 2) x[i] = std::ldexp(static_cast<float>(static_cast<int32_t>(a)), -27);
      if (round % 3 == 2) y[i] = std::ldexp(static_cast<float>(static_cast<int32_t>(b)), -27);
      if (round % 6 == 2) y[i] = std::nearbyint(y[i]);
    }
    for (size_t t = 0; t < targets().size(); ++t) {
      (targets()[t].table.*function.map)(x.data(), y.data(), out.data(), kBlock);
      for (size_t i = 0; i < kBlock; ++i) {
        const double error = ulp_error(out[i], function.reference(x[i], y[i]));
        if (error > worst[t].error) worst[t] = {error, x[i]};
      }
    }
  }
  for (size_t t = 0; t < targets().size(); ++t) {
    std::printf("%-10s %-6s max %.3f ulp at %.9g\n", function.name, targets()[t].name.c_str(),
                worst[t].error, worst[t].at);
    EXPECT_LE(worst[t].error, function.bound) << targets()[t].name << " at " << worst[t].at;
  }
}

TEST_P(DoubleMathPairs, SpecialValues) {
  const PairFunction& function = GetParam();
  const std::vector<double> values = {0,    1,        2,          3,        0.5,  2.5,
                                      1e30, 1e-30,    4e9,        16777217, kInf, kNan,
                                      1e38, 0x1p-149, 0.99999994, 1.0000001};
  std::vector<float> x, y;
  for (const double a : values) {
    for (const double b : values) {
      for (const double sign : {1.0, -1.0}) {
        x.insert(x.end(), {static_cast<float>(a * sign), static_cast<float>(a * sign)});
        y.insert(y.end(), {static_cast<float>(b), static_cast<float>(-b)});
      }
    }
  }
  while (x.size() % 64 != 0) x.push_back(1), y.push_back(1);
  std::vector<float> out(x.size());
  for (const Target& target : targets()) {
    (target.table.*function.map)(x.data(), y.data(), out.data(), x.size());
    for (size_t i = 0; i < x.size(); ++i) {
      expect_float(out[i], function.reference(x[i], y[i]),
                   target.name + " at " + std::to_string(x[i]) + ", " + std::to_string(y[i]));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Functions, DoubleMathPairs, testing::ValuesIn(pair_functions()),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace bnns::impl
#endif  // HWY_ONCE
