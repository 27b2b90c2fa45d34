// How the states of two parts of a group become that of both, and the result that a state gives.
#pragma once

#include <cmath>
#include <limits>

#include "ops/reduction/reduction.h"

namespace bnns::impl {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

inline bool is_sum(ReduceKind kind) {
  return kind <= ReduceKind::kCount;
}

inline ReduceState empty_state(ReduceKind kind) {
  switch (kind) {
    case ReduceKind::kMax:
    case ReduceKind::kArgMax:
      return {-kInfinity, kInfinity};
    case ReduceKind::kMin:
    case ReduceKind::kArgMin:
      return {kInfinity, kInfinity};
    case ReduceKind::kProduct:
      return {1, 0};
    case ReduceKind::kLogSumExp:
      return {-kInfinity, 0};
    default:
      return {0, 0};
  }
}

// Whether the extremum `part` takes the place of `to`: NaN before all numbers, then the smaller
// index.
inline bool is_before(bool larger, ReduceState part, ReduceState to) {
  const bool part_nan = std::isnan(part.a), to_nan = std::isnan(to.a);
  if (part_nan != to_nan) return part_nan;
  if (part_nan || part.a == to.a) return part.b < to.b;
  return larger ? part.a > to.a : part.a < to.a;
}

inline ReduceState joined_products(ReduceState to, ReduceState part) {
  const double product = to.a * part.a;
  int exponent = 0;
  // The exponent that frexp gives to infinity and NaN is unspecified.
  const double a = std::isfinite(product) ? std::frexp(product, &exponent) : product;
  return {a, to.b + part.b + exponent};
}

// Before exponentials are added they are brought to the same maximum; e^(-Inf) is 0, and two equal
// maxima need nothing, infinite ones neither.
inline ReduceState joined_exponentials(ReduceState to, ReduceState part) {
  const double top = std::isnan(to.a) || to.a > part.a ? to.a : part.a;
  const auto brought = [&](ReduceState s) {
    return s.a == top ? s.b : s.b == 0 ? 0 : s.b * std::exp(s.a - top);
  };
  return {top, brought(to) + brought(part)};
}

inline ReduceState joined(ReduceKind kind, ReduceState to, ReduceState part) {
  if (is_sum(kind)) return {to.a + part.a, to.b + part.b};
  switch (kind) {
    case ReduceKind::kMax:
      return part.a > to.a || std::isnan(part.a) ? part : to;
    case ReduceKind::kMin:
      return part.a < to.a || std::isnan(part.a) ? part : to;
    case ReduceKind::kArgMax:
    case ReduceKind::kArgMin:
      return is_before(kind == ReduceKind::kArgMax, part, to) ? part : to;
    case ReduceKind::kProduct:
      return joined_products(to, part);
    case ReduceKind::kLogSumExp:
      return joined_exponentials(to, part);
    default:
      return to;
  }
}

// a 2^b, where b may be any whole number.
inline double scaled_product(double a, double b) {
  return std::ldexp(a, static_cast<int>(std::fmin(std::fmax(b, -100000), 100000)));
}

// y of a group of n elements.
inline double result_of(BNNSReduceFunction function, bool weighted, ReduceState s, double n) {
  switch (function) {
    case BNNSReduceFunctionArgMax:
    case BNNSReduceFunctionArgMin:
      return s.b;
    case BNNSReduceFunctionMean:
      return s.a / n;
    case BNNSReduceFunctionMeanNonZero:
      return !weighted ? s.a / n : s.b == 0 ? 0 : s.a / s.b;
    case BNNSReduceFunctionLogicalOr:
      return s.a > 0;
    case BNNSReduceFunctionLogicalAnd:
      return s.a == n;
    case BNNSReduceFunctionL2Norm:
      return std::sqrt(s.a);
    case BNNSReduceFunctionLogSumExp:
      return std::isfinite(s.a) ? s.a + std::log(s.b) : std::log(s.b);
    case BNNSReduceFunctionProduct:
      return scaled_product(s.a, s.b);
    case BNNSReduceFunctionLogSum:
      return std::log(s.a);
    default:
      return s.a;
  }
}

}  // namespace bnns::impl
