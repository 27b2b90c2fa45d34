// Error bounds that follow from the formula. The reference is a template over its number type; run
// with Bounded it yields, beside the value in double, how far float arithmetic may be from it. The
// bound is a function of the operations, of the number of summed terms and of the stored type;
// there is no bound per case.
//
//   arithmetic     2 roundings per operation: one of its own, one for an equivalent rearrangement
//   functions      2 ULP (exp, log, tanh, erf, sin, pow and their relatives)
//   sums           min(n, 2 sqrt(n)) roundings of the sum of absolute terms, for n terms in any
//                  order (0 for one term), one more for products
//   bound 0        the result must be the exact value rounded once to the stored type
#ifndef OPENBNNS_SPEC_TOLERANCE_H
#define OPENBNNS_SPEC_TOLERANCE_H

#include <algorithm>
#include <cmath>

#include "runner/dtype.h"

namespace spec {

inline constexpr double kRounding = 0x1p-24;  // relative error of one float operation
inline constexpr double kArithmetic = 2 * kRounding;
inline constexpr double kFunction = 4 * kRounding;
inline constexpr double kSmallest = 0x1p-149;  // absolute error where results are subnormal

inline double rounding_error(double v, double relative) {
  return relative * std::abs(v) + (v != 0 && std::abs(v) < 0x1p-126 ? kSmallest : 0);
}

struct Bounded {
  double value = 0;
  double error = 0;

  Bounded() = default;
  // A constant that no float represents is rounded once by every implementation.
  Bounded(double v) : value(v), error(std::isfinite(v) ? std::abs(v - static_cast<float>(v)) : 0) {}
  Bounded(double v, double e) : value(v), error(std::isfinite(e) ? e : 0) {}

  friend Bounded operator-(Bounded a) { return {-a.value, a.error}; }
  friend Bounded operator+(Bounded a, Bounded b) {
    const double v = a.value + b.value;
    const bool exact = a.value == 0 || b.value == 0;
    return {v, a.error + b.error + (exact ? 0 : rounding_error(v, kArithmetic))};
  }
  friend Bounded operator-(Bounded a, Bounded b) { return a + -b; }
  friend Bounded operator*(Bounded a, Bounded b) {
    const double v = a.value * b.value;
    const bool exact = std::abs(a.value) == 1 || std::abs(b.value) == 1;
    return {v, std::abs(a.value) * b.error + std::abs(b.value) * a.error + a.error * b.error +
                   (exact ? 0 : rounding_error(v, kArithmetic))};
  }
  friend Bounded operator/(Bounded a, Bounded b) {
    const double v = a.value / b.value;
    const double divisor = std::abs(b.value) - b.error;
    return {v, (a.error + std::abs(v) * b.error) / divisor + rounding_error(v, kArithmetic)};
  }
  friend bool operator<(Bounded a, Bounded b) { return a.value < b.value; }
  friend bool operator>(Bounded a, Bounded b) { return a.value > b.value; }
  friend bool operator<=(Bounded a, Bounded b) { return a.value <= b.value; }
  friend bool operator>=(Bounded a, Bounded b) { return a.value >= b.value; }
  friend bool operator==(Bounded a, Bounded b) { return a.value == b.value; }

  friend Bounded abs(Bounded a) { return {std::abs(a.value), a.error}; }
  friend Bounded floor(Bounded a) { return {std::floor(a.value), a.error}; }
  friend Bounded ceil(Bounded a) { return {std::ceil(a.value), a.error}; }
  friend Bounded trunc(Bounded a) { return {std::trunc(a.value), a.error}; }
  friend Bounded rint(Bounded a) { return {std::rint(a.value), a.error}; }
  friend Bounded copysign(Bounded a, Bounded s) {
    return {std::copysign(a.value, s.value), a.error};
  }

  // The slope is infinite at 0, so the ends of the interval bound the error.
  friend Bounded sqrt(Bounded a) {
    const double v = std::sqrt(a.value);
    const double below = v - std::sqrt(std::max(0.0, a.value - a.error));
    const double above = std::sqrt(a.value + a.error) - v;
    return {v, std::max(below, above) + rounding_error(v, kArithmetic)};
  }
  friend Bounded exp(Bounded a) { return function(std::exp(a.value), std::exp(a.value), a); }
  friend Bounded expm1(Bounded a) { return function(std::expm1(a.value), std::exp(a.value), a); }
  friend Bounded log(Bounded a) { return function(std::log(a.value), 1 / a.value, a); }
  friend Bounded log1p(Bounded a) { return function(std::log1p(a.value), 1 / (1 + a.value), a); }
  friend Bounded tanh(Bounded a) {
    const double t = std::tanh(a.value);
    return function(t, 1 - t * t, a);
  }
  friend Bounded erf(Bounded a) {
    return function(std::erf(a.value), 1.1283791670955126 * std::exp(-a.value * a.value), a);
  }
  friend Bounded exp2(Bounded a) {
    return function(std::exp2(a.value), 0.6931471805599453 * std::exp2(a.value), a);
  }
  friend Bounded log2(Bounded a) {
    return function(std::log2(a.value), 1.4426950408889634 / a.value, a);
  }
  friend Bounded sin(Bounded a) { return function(std::sin(a.value), std::cos(a.value), a); }
  friend Bounded cos(Bounded a) { return function(std::cos(a.value), std::sin(a.value), a); }
  friend Bounded tan(Bounded a) {
    const double t = std::tan(a.value);
    return function(t, 1 + t * t, a);
  }
  friend Bounded asin(Bounded a) {
    return function(std::asin(a.value), 1 / std::sqrt(1 - a.value * a.value), a);
  }
  friend Bounded acos(Bounded a) {
    return function(std::acos(a.value), 1 / std::sqrt(1 - a.value * a.value), a);
  }
  friend Bounded atan(Bounded a) {
    return function(std::atan(a.value), 1 / (1 + a.value * a.value), a);
  }
  friend Bounded sinh(Bounded a) { return function(std::sinh(a.value), std::cosh(a.value), a); }
  friend Bounded cosh(Bounded a) { return function(std::cosh(a.value), std::sinh(a.value), a); }
  friend Bounded asinh(Bounded a) {
    return function(std::asinh(a.value), 1 / std::sqrt(a.value * a.value + 1), a);
  }
  friend Bounded acosh(Bounded a) {
    return function(std::acosh(a.value), 1 / std::sqrt(a.value * a.value - 1), a);
  }
  friend Bounded atanh(Bounded a) {
    return function(std::atanh(a.value), 1 / (1 - a.value * a.value), a);
  }
  friend Bounded pow(Bounded a, Bounded b) {
    const double v = std::pow(a.value, b.value);
    const double by_a = a.error == 0 ? 0 : std::abs(b.value * std::pow(a.value, b.value - 1));
    const double by_b = b.error == 0 ? 0 : std::abs(v * std::log(a.value));
    return {v, by_a * a.error + by_b * b.error + rounding_error(v, kFunction)};
  }

 private:
  static Bounded function(double v, double slope, Bounded a) {
    return {v, std::abs(slope) * a.error + rounding_error(v, kFunction)};
  }
};

inline double value_of(double v) {
  return v;
}
inline double value_of(Bounded v) {
  return v.value;
}

// NaN wins, so that a formula written with max() passes NaN on.
inline double maximum(double a, double b) {
  return std::isnan(a) || a >= b ? a : b;
}
inline double minimum(double a, double b) {
  return std::isnan(a) || a <= b ? a : b;
}
// Where the bounds overlap, the other operand may be the result: it counts as far as its bound
// reaches beyond the chosen value.
inline Bounded maximum(Bounded a, Bounded b) {
  const bool first = std::isnan(a.value) || a >= b;
  const Bounded top = first ? a : b, other = first ? b : a;
  return {top.value, std::max(top.error, other.value + other.error - top.value)};
}
inline Bounded minimum(Bounded a, Bounded b) {
  return -maximum(-a, -b);
}

// A sum in any order. add(a, b) adds the product a*b.
template <class T>
class Sum;

template <>
class Sum<double> {
 public:
  void add(double a) { total_ += a; }
  void add(double a, double b) { total_ += a * b; }
  double get() const { return total_; }

 private:
  double total_ = 0;
};

template <>
class Sum<Bounded> {
 public:
  void add(Bounded a) { term(a.value, a.error); }
  void add(Bounded a, Bounded b) {
    term(a.value * b.value,
         std::abs(a.value) * b.error + std::abs(b.value) * a.error + a.error * b.error);
    products_ = true;
  }
  Bounded get() const {
    const double n = terms_ > 1 ? std::min(terms_, 2 * std::sqrt(terms_)) : 0;
    return {total_, error_ + rounding_error(magnitude_, kRounding * (n + products_))};
  }

 private:
  void term(double v, double error) {
    total_ += v;
    magnitude_ += std::abs(v);
    error_ += error;
    if (v != 0) terms_ += 1;
  }

  double total_ = 0, magnitude_ = 0, error_ = 0, terms_ = 0;
  bool products_ = false;
};

// A jump at `at`. Where the bound on x leaves the side open, both results are allowed.
inline double step(double x, double at, double below, double above) {
  return x < at ? below : above;
}
inline Bounded step(Bounded x, double at, Bounded below, Bounded above) {
  const Bounded result = x.value < at ? below : above;
  if (x.error == 0 || std::abs(x.value - at) > x.error) return result;
  return {result.value, result.error + std::abs(below.value - above.value)};
}

// The root of an increasing function in [lo, hi]. The rounding noise of evaluating f moves the root
// by noise/slope, and where the slope vanishes by the square root of the noise.
template <class F, class G>
double bisect(double y, double lo, double hi, F f, G) {
  for (int i = 0; i < 200 && lo < hi; ++i) {
    const double middle = 0.5 * (lo + hi);
    if (middle == lo || middle == hi) break;
    (f(middle) < y ? lo : hi) = middle;
  }
  return 0.5 * (lo + hi);
}
template <class F, class G>
Bounded bisect(Bounded y, double lo, double hi, F f, G slope) {
  const double x = bisect(y.value, lo, hi, f, slope);
  const double noise = y.error + kFunction * (std::abs(x) + std::abs(y.value));
  return {x, std::min(noise / std::max(std::abs(slope(x)), 1e-300), std::sqrt(4 * noise))};
}

// Whether a stored number is what the reference allows.
struct Judgement {
  bool ok;
  double expected;  // the nearest stored number
  double bound;
};

inline Judgement judge(const ElementType& type, Bounded expected, double stored) {
  const TypeInfo& row = type.info();
  const double exact = type.to_stored_unrounded(expected.value);
  const double nearest = type.to_stored(expected.value);
  if (expected.error == 0 || row.kind == Kind::kBoolean || std::isnan(exact) || std::isinf(exact))
    return {stored == nearest || (std::isnan(stored) && std::isnan(nearest)), nearest, 0};
  if (row.kind == Kind::kInteger) {
    const double bound = 0.5 + expected.error / type.scale + kRounding * std::abs(exact);
    const double target = std::min(std::max(exact, row.lo), row.hi);
    return {std::abs(stored - target) <= bound, nearest, bound};
  }
  const double unit = std::ldexp(1.0, -row.precision);
  const double smallest = std::ldexp(1.0, row.min_exponent - row.precision + 1);
  const double bound = expected.error + unit * std::abs(exact) + smallest;
  const bool overflow =
      std::isinf(stored) && std::abs(exact) + bound >= row.hi && stored * exact > 0;
  return {overflow || std::abs(stored - exact) <= bound, nearest, bound};
}

}  // namespace spec
#endif
