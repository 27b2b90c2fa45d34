// Kernels of softmax.h: reductions and maps along a row, and across neighbouring rows.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/softmax/kernels.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

#include <cmath>
#include <limits>

#include "math/exp-inl.h"
#include "simd/rows-inl.h"
#include "ops/softmax/softmax.h"

HWY_BEFORE_NAMESPACE();
namespace bnns::impl::HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;
using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;

constexpr float kLowest = -std::numeric_limits<float>::infinity();

// Sums term(x[i], y[i]) over at most kSumBlock values. A partial vector is padded with `neutral`,
// whose term is 0. Two accumulators hide the latency of the addition.
constexpr size_t kSumBlock = 1024;

template <class Term>
HWY_INLINE float SumBlock(const float* x, const float* y, size_t n, float neutral,
                          const Term& term) {
  const D d;
  const size_t lanes = hn::Lanes(d);
  V even = hn::Zero(d), odd = hn::Zero(d);
  size_t i = 0;
  for (; i + 2 * lanes <= n; i += 2 * lanes) {
    even = term(hn::LoadU(d, x + i), hn::LoadU(d, y + i), even);
    odd = term(hn::LoadU(d, x + i + lanes), hn::LoadU(d, y + i + lanes), odd);
  }
  for (; i < n; i += lanes) {
    HWY_ALIGN float x_tail[hn::MaxLanes(d)], y_tail[hn::MaxLanes(d)];
    for (size_t k = 0; k < lanes; ++k) {
      x_tail[k] = i + k < n ? x[i + k] : neutral;
      y_tail[k] = i + k < n ? y[i + k] : 0;
    }
    even = term(hn::Load(d, x_tail), hn::Load(d, y_tail), even);
  }
  return hn::GetLane(hn::SumOfLanes(d, hn::Add(even, odd)));
}

// Blocks are summed in double, so that the error of a long row is that of a block.
template <class Term>
HWY_INLINE float SumRow(const float* x, const float* y, size_t n, float neutral, const Term& term) {
  double sum = 0;
  for (size_t i = 0; i < n; i += kSumBlock)
    sum += double{SumBlock(x + i, y + i, HWY_MIN(kSumBlock, n - i), neutral, term)};
  return static_cast<float>(sum);
}

float Max(const float* x, size_t n) {
  const D d;
  const size_t lanes = hn::Lanes(d);
  V top = hn::Set(d, kLowest);
  size_t i = 0;
  for (; i + lanes <= n; i += lanes) top = hn::Max(hn::LoadU(d, x + i), top);
  float result = hn::GetLane(hn::MaxOfLanes(d, top));
  for (; i < n; ++i) result = x[i] > result ? x[i] : result;
  return result;
}

float SumExp(const float* x, size_t n, float max) {
  const V shift = hn::Set(D(), max);
  return SumRow(x, x, n, kLowest,
                [&](V v, V, V sum) HWY_ATTR { return hn::Add(sum, Exp(D(), hn::Sub(v, shift))); });
}

float Dot(const float* x, const float* y, size_t n) {
  return SumRow(x, y, n, 0, [](V a, V b, V sum) HWY_ATTR { return hn::MulAdd(a, b, sum); });
}

float Sum(const float* x, size_t n) {
  return SumRow(x, x, n, 0, [](V a, V, V sum) HWY_ATTR { return hn::Add(sum, a); });
}

void ExpScaled(const float* x, float* y, size_t n, float shift, float factor) {
  const V s = hn::Set(D(), shift), f = hn::Set(D(), factor);
  MapRow(x, y, n, [&](V v) HWY_ATTR { return hn::Mul(Exp(D(), hn::Sub(v, s)), f); });
}

void Subtract(const float* x, float* y, size_t n, float max, float log_sum) {
  const V m = hn::Set(D(), max), l = hn::Set(D(), log_sum);
  MapRow(x, y, n, [&](V v) HWY_ATTR { return hn::Sub(hn::Sub(v, m), l); });
}

// dx[i] = or += f(y[i], dy[i], i, lanes); i is where f finds statistics that differ by element.
template <class F>
HWY_INLINE void GradientRow(const float* y, const float* dy, float* dx, size_t n, bool accumulate,
                            const F& f) {
  const D d;
  const size_t lanes = hn::Lanes(d);
  size_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    V g = f(hn::LoadU(d, y + i), hn::LoadU(d, dy + i), i, lanes);
    if (accumulate) g = hn::Add(hn::LoadU(d, dx + i), g);
    hn::StoreU(g, d, dx + i);
  }
  if (i == n) return;
  HWY_ALIGN float tail[3][hn::MaxLanes(d)] = {};
  std::memcpy(tail[0], y + i, (n - i) * sizeof(float));
  std::memcpy(tail[1], dy + i, (n - i) * sizeof(float));
  hn::Store(f(hn::Load(d, tail[0]), hn::Load(d, tail[1]), i, n - i), d, tail[2]);
  for (size_t k = 0; i + k < n; ++k) dx[i + k] = (accumulate ? dx[i + k] : 0) + tail[2][k];
}

HWY_INLINE V SoftmaxSlope(V y, V dy, V dot) {
  return hn::Mul(y, hn::Sub(dy, dot));
}
HWY_INLINE V LogSoftmaxSlope(V y, V dy, V sum) {
  return hn::NegMulAdd(Exp(D(), y), sum, dy);
}

void SoftmaxGradient(const float* y, const float* dy, float* dx, size_t n, float dot,
                     bool accumulate) {
  const V s = hn::Set(D(), dot);
  GradientRow(y, dy, dx, n, accumulate,
              [&](V a, V b, size_t, size_t) HWY_ATTR { return SoftmaxSlope(a, b, s); });
}

void LogSoftmaxGradient(const float* y, const float* dy, float* dx, size_t n, float sum,
                        bool accumulate) {
  const V s = hn::Set(D(), sum);
  GradientRow(y, dy, dx, n, accumulate,
              [&](V a, V b, size_t, size_t) HWY_ATTR { return LogSoftmaxSlope(a, b, s); });
}

// Loads a vector of statistics; the caller's arrays hold whole vectors, so that there is no tail.
HWY_INLINE V Statistic(const float* s, size_t i) {
  return hn::LoadU(D(), s + i);
}

void MaxInto(const float* x, float* max, size_t n) {
  MapRow(x, max, max, n, [](V v, V m) HWY_ATTR { return hn::IfThenElse(hn::Gt(v, m), v, m); });
}

void SumExpInto(const float* x, const float* max, float* sum, size_t n) {
  const D d;
  for (size_t i = 0; i < n; i += hn::Lanes(d)) {
    HWY_ALIGN float tail[hn::MaxLanes(d)] = {};
    const size_t m = HWY_MIN(hn::Lanes(d), n - i);
    std::memcpy(tail, x + i, m * sizeof(float));
    const V e = Exp(d, hn::Sub(hn::Load(d, tail), Statistic(max, i)));
    hn::StoreU(hn::Add(Statistic(sum, i), e), d, sum + i);
  }
}

void DotInto(const float* x, const float* y, float* dot, size_t n) {
  for (size_t i = 0; i < n; ++i) dot[i] += x[i] * y[i];
}

void SumInto(const float* x, float* sum, size_t n) {
  for (size_t i = 0; i < n; ++i) sum[i] += x[i];
}

// y[i] = f(x[i], i), where f finds its statistics at i.
template <class F>
HWY_INLINE void MapEach(const float* x, float* y, size_t n, const F& f) {
  const D d;
  for (size_t i = 0; i < n; i += hn::Lanes(d)) {
    HWY_ALIGN float tail[hn::MaxLanes(d)] = {};
    const size_t m = HWY_MIN(hn::Lanes(d), n - i);
    std::memcpy(tail, x + i, m * sizeof(float));
    hn::Store(f(hn::Load(d, tail), i), d, tail);
    std::memcpy(y + i, tail, m * sizeof(float));
  }
}

void ExpScaledEach(const float* x, float* y, size_t n, const float* shift, const float* factor) {
  MapEach(x, y, n, [&](V v, size_t i) HWY_ATTR {
    return hn::Mul(Exp(D(), hn::Sub(v, Statistic(shift, i))), Statistic(factor, i));
  });
}

void SubtractEach(const float* x, float* y, size_t n, const float* max, const float* log_sum) {
  MapEach(x, y, n, [&](V v, size_t i) HWY_ATTR {
    return hn::Sub(hn::Sub(v, Statistic(max, i)), Statistic(log_sum, i));
  });
}

void SoftmaxGradientEach(const float* y, const float* dy, float* dx, size_t n, const float* dot,
                         bool accumulate) {
  GradientRow(y, dy, dx, n, accumulate, [&](V a, V b, size_t i, size_t) HWY_ATTR {
    return SoftmaxSlope(a, b, Statistic(dot, i));
  });
}

void LogSoftmaxGradientEach(const float* y, const float* dy, float* dx, size_t n, const float* sum,
                            bool accumulate) {
  GradientRow(y, dy, dx, n, accumulate, [&](V a, V b, size_t i, size_t) HWY_ATTR {
    return LogSoftmaxSlope(a, b, Statistic(sum, i));
  });
}

const SoftmaxKernels* SoftmaxTable() {
  static constexpr SoftmaxKernels kTable = {.max = Max,
                                            .sum_exp = SumExp,
                                            .dot = Dot,
                                            .sum = Sum,
                                            .exp_scaled = ExpScaled,
                                            .subtract = Subtract,
                                            .softmax_gradient = SoftmaxGradient,
                                            .log_softmax_gradient = LogSoftmaxGradient,
                                            .max_into = MaxInto,
                                            .sum_exp_into = SumExpInto,
                                            .dot_into = DotInto,
                                            .sum_into = SumInto,
                                            .exp_scaled_each = ExpScaledEach,
                                            .subtract_each = SubtractEach,
                                            .softmax_gradient_each = SoftmaxGradientEach,
                                            .log_softmax_gradient_each = LogSoftmaxGradientEach};
  return &kTable;
}

}  // namespace
}  // namespace bnns::impl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "core/target.h"

namespace bnns::impl {

HWY_EXPORT(SoftmaxTable);
const SoftmaxKernels* softmax_kernels() {
  return pick(HWY_DISPATCH_TABLE(SoftmaxTable))();
}

}  // namespace bnns::impl
#endif
