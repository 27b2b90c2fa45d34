// Kernels of reduction.h: states along a row, and of neighbouring groups; slopes of the functions.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/reduction/kernels.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

#include <cmath>
#include <limits>
#include <type_traits>

#include "math/exp-inl.h"
#include "math/log-inl.h"
#include "simd/rows-inl.h"
#include "ops/reduction/product.h"
#include "ops/reduction/reduction.h"

HWY_BEFORE_NAMESPACE();
namespace bnns::impl::HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;
using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;

constexpr float kInfinite = std::numeric_limits<float>::infinity();

// ---- Terms of sums, and extrema ----

struct Itself {
  V operator()(V x) const { return x; }
};
struct Square {
  V operator()(V x) const { return hn::Mul(x, x); }
};
struct Absolute {
  V operator()(V x) const { return hn::Abs(x); }
};
// NaN counts as not zero.
struct NonZero {
  V operator()(V x) const {
    const D d;
    return hn::IfThenElse(hn::Eq(x, hn::Zero(d)), hn::Zero(d), hn::Set(d, 1.0f));
  }
};
struct Logarithm {
  float epsilon;
  V operator()(V x) const { return Log(D(), hn::Add(x, hn::Set(D(), epsilon))); }
};
struct Exponential {
  float shift;
  V operator()(V x) const { return Exp(D(), hn::Sub(x, hn::Set(D(), shift))); }
};

template <class Term>
HWY_INLINE Term term_of(float value) {
  if constexpr (std::is_empty_v<Term>)
    return Term{};
  else
    return Term{value};
}

// Whether x takes the place of `top`: a NaN stays, and is taken.
struct Larger {
  static constexpr float kNone = -kInfinite;
  static V OfLanes(V x) { return hn::MaxOfLanes(D(), x); }
  static auto Takes(V x, V top) { return hn::Or(hn::Gt(x, top), hn::IsNaN(x)); }
  static bool Takes(float x, float top) { return x > top || x != x; }
};
struct Smaller {
  static constexpr float kNone = kInfinite;
  static V OfLanes(V x) { return hn::MinOfLanes(D(), x); }
  static auto Takes(V x, V top) { return hn::Or(hn::Lt(x, top), hn::IsNaN(x)); }
  static bool Takes(float x, float top) { return x < top || x != x; }
};
template <class Order>
HWY_INLINE V Pick(V x, V top) {
  return hn::IfThenElse(Order::Takes(x, top), x, top);
}

// The first n < Lanes values, and zeros.
HWY_INLINE V LoadTail(const float* x, size_t n) {
  const D d;
  HWY_ALIGN float tail[hn::MaxLanes(d)];
  for (size_t k = 0; k < hn::Lanes(d); ++k) tail[k] = k < n ? x[k] : 0;
  return hn::Load(d, tail);
}

// ---- Along a row ----

// Eight accumulators hide the latency of additions.
template <class Term>
HWY_INLINE float SumRow(const float* x, size_t n, const Term& term) {
  const D d;
  const size_t lanes = hn::Lanes(d);
  V s0 = hn::Zero(d), s1 = s0, s2 = s0, s3 = s0, s4 = s0, s5 = s0, s6 = s0, s7 = s0;
  size_t i = 0;
  for (; i + 8 * lanes <= n; i += 8 * lanes) {
    const float* p = x + i;
    s0 = hn::Add(s0, term(hn::LoadU(d, p)));
    s1 = hn::Add(s1, term(hn::LoadU(d, p + lanes)));
    s2 = hn::Add(s2, term(hn::LoadU(d, p + 2 * lanes)));
    s3 = hn::Add(s3, term(hn::LoadU(d, p + 3 * lanes)));
    s4 = hn::Add(s4, term(hn::LoadU(d, p + 4 * lanes)));
    s5 = hn::Add(s5, term(hn::LoadU(d, p + 5 * lanes)));
    s6 = hn::Add(s6, term(hn::LoadU(d, p + 6 * lanes)));
    s7 = hn::Add(s7, term(hn::LoadU(d, p + 7 * lanes)));
  }
  for (; i + lanes <= n; i += lanes) s0 = hn::Add(s0, term(hn::LoadU(d, x + i)));
  if (i < n) {
    const V rest = term(LoadTail(x + i, n - i));
    s1 = hn::Add(s1, hn::IfThenElseZero(hn::FirstN(d, n - i), rest));
  }
  const V low = hn::Add(hn::Add(s0, s1), hn::Add(s2, s3));
  const V high = hn::Add(hn::Add(s4, s5), hn::Add(s6, s7));
  return hn::GetLane(hn::SumOfLanes(d, hn::Add(low, high)));
}

template <class Term>
ReduceState Sum(const float* x, size_t n, float epsilon) {
  return {double{SumRow(x, n, term_of<Term>(epsilon))}, 0};
}

template <class Order>
HWY_INLINE float ExtremumRow(const float* x, size_t n) {
  const D d;
  const size_t lanes = hn::Lanes(d);
  V t0 = hn::Set(d, Order::kNone), t1 = t0, t2 = t0, t3 = t0;
  size_t i = 0;
  for (; i + 4 * lanes <= n; i += 4 * lanes) {
    t0 = Pick<Order>(hn::LoadU(d, x + i), t0);
    t1 = Pick<Order>(hn::LoadU(d, x + i + lanes), t1);
    t2 = Pick<Order>(hn::LoadU(d, x + i + 2 * lanes), t2);
    t3 = Pick<Order>(hn::LoadU(d, x + i + 3 * lanes), t3);
  }
  for (; i + lanes <= n; i += lanes) t0 = Pick<Order>(hn::LoadU(d, x + i), t0);
  const V all = Pick<Order>(Pick<Order>(t0, t1), Pick<Order>(t2, t3));
  float top = hn::GetLane(Order::OfLanes(all));
  // What the extremum of lanes is with a NaN among them depends on the target.
  if (!hn::AllFalse(d, hn::IsNaN(all))) top = std::numeric_limits<float>::quiet_NaN();
  for (; i < n; ++i) top = Order::Takes(x[i], top) ? x[i] : top;
  return top;
}

template <class Order>
ReduceState Extremum(const float* x, size_t n, float) {
  return {double{ExtremumRow<Order>(x, n)}, 0};
}

// The extremum, then where it is: the row is still in the first-level cache.
template <class Order>
ReduceState Argument(const float* x, size_t n, float) {
  const D d;
  const size_t lanes = hn::Lanes(d);
  const float top = ExtremumRow<Order>(x, n);
  const V wanted = hn::Set(d, top);
  size_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    const V v = hn::LoadU(d, x + i);
    const auto found = top == top ? hn::Eq(v, wanted) : hn::IsNaN(v);
    if (!hn::AllFalse(d, found)) break;
  }
  while (i + 1 < n && !(x[i] == top || (x[i] != x[i] && top != top))) ++i;
  return {double{top}, static_cast<double>(i)};
}

// An infinite maximum is not subtracted: e^Inf and e^-Inf are what they should be.
HWY_INLINE float ShiftOf(float top) {
  return top - top == 0 ? top : 0;
}
HWY_INLINE V ShiftOf(V top) {
  const D d;
  return hn::IfThenElseZero(hn::Eq(hn::Sub(top, top), hn::Zero(d)), top);
}

ReduceState LogSumExp(const float* x, size_t n, float) {
  const float top = ExtremumRow<Larger>(x, n);
  const Exponential term = {ShiftOf(top)};
  return {double{top}, double{SumRow(x, n, term)}};
}

// ---- Across neighbouring groups ----

// Calls body(i, load) for every vector of columns, where load(row) is the vector at column i.
template <class Body>
HWY_INLINE void ForColumns(size_t n, const Body& body) {
  const D d;
  const size_t lanes = hn::Lanes(d);
  size_t i = 0;
  for (; i + lanes <= n; i += lanes)
    body(i, [&](const float* row) HWY_ATTR { return hn::LoadU(d, row + i); });
  if (i < n) body(i, [&](const float* row) HWY_ATTR { return LoadTail(row + i, n - i); });
}

// Eight rows at a time: each is read from end to end, which the hardware prefetcher follows, and
// the sums are loaded and stored once for all of them.
template <class Term>
HWY_INLINE void SumColumns(const float* x, size_t stride, size_t rows, size_t n, float* sums,
                           const Term& term) {
  const D d;
  for (size_t i = 0; i < n; i += hn::Lanes(d)) hn::StoreU(hn::Zero(d), d, sums + i);
  size_t r = 0;
  for (; r + 8 <= rows; r += 8) {
    const float* p = x + r * stride;
    ForColumns(n, [&](size_t i, const auto& load) HWY_ATTR {
      const V a = hn::Add(term(load(p), i), term(load(p + stride), i));
      const V b = hn::Add(term(load(p + 2 * stride), i), term(load(p + 3 * stride), i));
      const V c = hn::Add(term(load(p + 4 * stride), i), term(load(p + 5 * stride), i));
      const V e = hn::Add(term(load(p + 6 * stride), i), term(load(p + 7 * stride), i));
      const V sum = hn::Add(hn::Add(a, b), hn::Add(c, e));
      hn::StoreU(hn::Add(hn::LoadU(d, sums + i), sum), d, sums + i);
    });
  }
  for (; r < rows; ++r) {
    const float* p = x + r * stride;
    ForColumns(n, [&](size_t i, const auto& load) HWY_ATTR {
      hn::StoreU(hn::Add(hn::LoadU(d, sums + i), term(load(p), i)), d, sums + i);
    });
  }
}

template <class Term>
void Sums(const float* x, size_t stride, size_t rows, size_t n, float epsilon, float* a, float*) {
  const Term term = term_of<Term>(epsilon);
  SumColumns(x, stride, rows, n, a, [&](V v, size_t) HWY_ATTR { return term(v); });
}

template <class Order>
HWY_INLINE void ExtremumColumns(const float* x, size_t stride, size_t rows, size_t n, float* a) {
  const D d;
  const V none = hn::Set(d, Order::kNone);
  for (size_t i = 0; i < n; i += hn::Lanes(d)) hn::StoreU(none, d, a + i);
  size_t r = 0;
  for (; r + 8 <= rows; r += 8) {
    const float* p = x + r * stride;
    ForColumns(n, [&](size_t i, const auto& load) HWY_ATTR {
      const V b = Pick<Order>(load(p + stride), load(p));
      const V c = Pick<Order>(load(p + 3 * stride), load(p + 2 * stride));
      const V e = Pick<Order>(load(p + 5 * stride), load(p + 4 * stride));
      const V f = Pick<Order>(load(p + 7 * stride), load(p + 6 * stride));
      const V top = Pick<Order>(Pick<Order>(f, e), Pick<Order>(c, b));
      hn::StoreU(Pick<Order>(top, hn::LoadU(d, a + i)), d, a + i);
    });
  }
  for (; r < rows; ++r) {
    const float* p = x + r * stride;
    ForColumns(n, [&](size_t i, const auto& load) HWY_ATTR {
      hn::StoreU(Pick<Order>(load(p), hn::LoadU(d, a + i)), d, a + i);
    });
  }
}

template <class Order>
void Extrema(const float* x, size_t stride, size_t rows, size_t n, float, float* a, float*) {
  ExtremumColumns<Order>(x, stride, rows, n, a);
}

// A NaN is taken once: the first one has the smallest index.
template <class Order>
void Arguments(const float* x, size_t stride, size_t rows, size_t n, float, float* a, float* b) {
  const D d;
  ForColumns(n, [&](size_t i, const auto& load) HWY_ATTR {
    hn::StoreU(load(x), d, a + i);
    hn::StoreU(hn::Zero(d), d, b + i);
  });
  for (size_t r = 1; r < rows; ++r) {
    const float* p = x + r * stride;
    const V row = hn::Set(d, static_cast<float>(r));
    ForColumns(n, [&](size_t i, const auto& load) HWY_ATTR {
      const V v = load(p), top = hn::LoadU(d, a + i);
      const auto takes = hn::AndNot(hn::IsNaN(top), Order::Takes(v, top));
      hn::StoreU(hn::IfThenElse(takes, v, top), d, a + i);
      hn::StoreU(hn::IfThenElse(takes, row, hn::LoadU(d, b + i)), d, b + i);
    });
  }
}

void LogSumExps(const float* x, size_t stride, size_t rows, size_t n, float, float* a, float* b) {
  const D d;
  ExtremumColumns<Larger>(x, stride, rows, n, a);
  SumColumns(x, stride, rows, n, b, [&](V v, size_t i) HWY_ATTR {
    return Exp(d, hn::Sub(v, ShiftOf(hn::LoadU(d, a + i))));
  });
}

// ---- Weights and slopes ----

void Weigh(const float* x, const float* w, float* u, size_t n) {
  MapRow(x, w, u, n, [](V a, V b) HWY_ATTR { return hn::Mul(a, b); });
}

void WeighNonZero(const float* x, const float* w, float* u, size_t n) {
  MapRow(x, w, u, n, [](V a, V b) HWY_ATTR {
    return hn::IfThenElse(hn::Eq(b, hn::Zero(D())), hn::Zero(D()), hn::Mul(a, b));
  });
}

// memcpy of such rows takes twice as long.
void ConstantSlope(const float*, const float* c, const float*, float* du, size_t n) {
  MapRow(c, du, n, [](V a) HWY_ATTR { return a; });
}

void LinearSlope(const float* u, const float* c, const float*, float* du, size_t n) {
  MapRow(u, c, du, n, [](V a, V b) HWY_ATTR { return hn::Mul(a, b); });
}

void ReciprocalSlope(const float* u, const float* c, const float* s, float* du, size_t n) {
  MapRow(u, c, s, du, n, [](V a, V b, V e) HWY_ATTR { return hn::Div(b, hn::Add(a, e)); });
}

// sign(0) is 0, sign(NaN) is NaN.
void SignSlope(const float* u, const float* c, const float*, float* du, size_t n) {
  MapRow(u, c, du, n, [](V a, V b) HWY_ATTR {
    const D d;
    const auto itself = hn::Or(hn::Eq(a, hn::Zero(d)), hn::IsNaN(a));
    return hn::Mul(b, hn::IfThenElse(itself, a, hn::CopySign(hn::Set(d, 1.0f), a)));
  });
}

void ExpSlope(const float* u, const float* c, const float* s, float* du, size_t n) {
  MapRow(u, c, s, du, n,
         [](V a, V b, V m) HWY_ATTR { return hn::Mul(b, Exp(D(), hn::Sub(a, m))); });
}

void ScaledSlope(const float* u, const float* c, const float* s, float* du, size_t n) {
  MapRow(u, c, s, du, n, [](V a, V b, V e) HWY_ATTR { return hn::Mul(hn::Mul(a, e), b); });
}

// The library outside of kernels is compiled for vectors of 16 bytes, which take twice the time.
void Fill(float value, float* to, size_t n) {
  const D d;
  const V v = hn::Set(d, value);
  const size_t lanes = hn::Lanes(d);
  size_t i = 0;
  for (; i + 4 * lanes <= n; i += 4 * lanes) {
    hn::StoreU(v, d, to + i);
    hn::StoreU(v, d, to + i + lanes);
    hn::StoreU(v, d, to + i + 2 * lanes);
    hn::StoreU(v, d, to + i + 3 * lanes);
  }
  for (; i + lanes <= n; i += lanes) hn::StoreU(v, d, to + i);
  for (; i < n; ++i) to[i] = value;
}

void Put(const float* du, const float* factor, float* to, size_t n, bool accumulate) {
  if (factor == nullptr) {
    if (accumulate)
      MapRow(to, du, to, n, [](V a, V b) HWY_ATTR { return hn::Add(a, b); });
    else
      std::memcpy(to, du, n * sizeof(float));
  } else if (accumulate) {
    MapRow(to, du, factor, to, n, [](V a, V b, V c) HWY_ATTR { return hn::Add(a, hn::Mul(b, c)); });
  } else {
    MapRow(du, factor, to, n, [](V a, V b) HWY_ATTR { return hn::Mul(a, b); });
  }
}

const ReduceKernels* ReduceTable() {
  static constexpr ReduceKernels kTable = {
      .row = {Sum<Itself>, Sum<Square>, Sum<Absolute>, Sum<Logarithm>, Sum<NonZero>,
              Extremum<Larger>, Extremum<Smaller>, Argument<Larger>, Argument<Smaller>,
              product_of_row, LogSumExp},
      .columns = {Sums<Itself>, Sums<Square>, Sums<Absolute>, Sums<Logarithm>, Sums<NonZero>,
                  Extrema<Larger>, Extrema<Smaller>, Arguments<Larger>, Arguments<Smaller>,
                  products_of_columns, LogSumExps},
      .weigh = Weigh,
      .weigh_nonzero = WeighNonZero,
      .slope = {ConstantSlope, LinearSlope, ReciprocalSlope, SignSlope, ExpSlope, ScaledSlope},
      .fill = Fill,
      .put = Put};
  return &kTable;
}

}  // namespace
}  // namespace bnns::impl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "core/target.h"

namespace bnns::impl {
namespace {

HWY_EXPORT(ReduceTable);

}  // namespace

const ReduceKernels* reduce_kernels() {
  return pick(HWY_DISPATCH_TABLE(ReduceTable))();
}

}  // namespace bnns::impl
#endif  // HWY_ONCE
