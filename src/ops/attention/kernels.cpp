// Kernels of kernels.h. The tail of a row goes through buffers, so that nothing behind it is read
// or written. Sums are made in blocks of 1024 values with two accumulators, and joined in double.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/attention/kernels.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

#include <limits>

#include "math/exp-inl.h"
#include "simd/rows-inl.h"
#include "ops/attention/kernels.h"

HWY_BEFORE_NAMESPACE();
namespace bnns::impl::HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;
using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;

constexpr float kLowest = -std::numeric_limits<float>::infinity();
constexpr float kLargest = std::numeric_limits<float>::max();
constexpr size_t kSumBlock = 1024;

bool Finite(const float* s, size_t n) {
  const D d;
  const size_t lanes = hn::Lanes(d);
  // Infinity times 0 is NaN, and so is every sum with it.
  V sum = hn::Zero(d);
  size_t i = 0;
  for (; i + lanes <= n; i += lanes) sum = hn::MulAdd(hn::LoadU(d, s + i), hn::Zero(d), sum);
  float result = hn::GetLane(hn::SumOfLanes(d, sum));
  for (; i < n; ++i) result += s[i] * 0;
  return result == 0;
}

// A score beyond the range of float is brought back into it, before X is added and after: an
// infinite one would make the whole row NaN, and minus infinity would hide a key that no mask
// hides. An element is hidden, by minus infinity in X too, and not added to: a score that is
// infinite or NaN must not survive.
template <bool kAdd, bool kHide>
HWY_INLINE V Masked(V s, const float* add, const float* hide) {
  const D d;
  const V least = hn::Set(d, -kLargest), most = hn::Set(d, kLargest);
  s = hn::IfThenElse(hn::Lt(s, least), least, s);
  if constexpr (kAdd) {
    const V x = hn::LoadU(d, add);
    s = hn::Add(s, x);
    s = hn::IfThenElse(hn::Lt(s, least), least, s);
    s = hn::IfThenElse(hn::Lt(x, least), x, s);
  }
  s = hn::IfThenElse(hn::Gt(s, most), most, s);
  if constexpr (kHide) {
    const V h = hn::LoadU(d, hide);
    s = hn::IfThenElse(hn::Lt(h, hn::Zero(d)), h, s);
  }
  return s;
}

template <bool kAdd, bool kHide>
HWY_INLINE float MaskRow(float* s, size_t n, const float* add, const float* hide) {
  const D d;
  const size_t lanes = hn::Lanes(d);
  V top = hn::Set(d, kLowest);
  size_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    const V v = Masked<kAdd, kHide>(hn::LoadU(d, s + i), add + i, hide + i);
    hn::StoreU(v, d, s + i);
    top = hn::Max(v, top);
  }
  float result = hn::GetLane(hn::MaxOfLanes(d, top));
  for (; i < n; ++i) {
    s[i] = s[i] < -kLargest ? -kLargest : s[i];
    if constexpr (kAdd) {
      s[i] += add[i];
      s[i] = s[i] < -kLargest ? -kLargest : s[i];
      s[i] = add[i] < -kLargest ? add[i] : s[i];
    }
    s[i] = s[i] > kLargest ? kLargest : s[i];
    if constexpr (kHide) s[i] = hide[i] < 0 ? hide[i] : s[i];
    result = s[i] > result ? s[i] : result;
  }
  return result;
}

float Mask(float* s, size_t n, const AttentionMaskRow& m) {
  // Pointers that are not used are moved along with the row, so they must point somewhere.
  if (m.add != nullptr && m.hide != nullptr) return MaskRow<true, true>(s, n, m.add, m.hide);
  if (m.add != nullptr) return MaskRow<true, false>(s, n, m.add, s);
  if (m.hide != nullptr) return MaskRow<false, true>(s, n, s, m.hide);
  return MaskRow<false, false>(s, n, s, s);
}

// Sums term(x[i], y[i]) of at most kSumBlock elements; term may store what it computed at i.
template <class Term>
HWY_INLINE float SumBlock(const float* x, const float* y, size_t n, const Term& term) {
  const D d;
  const size_t lanes = hn::Lanes(d);
  V even = hn::Zero(d), odd = hn::Zero(d);
  size_t i = 0;
  for (; i + 2 * lanes <= n; i += 2 * lanes) {
    even = hn::Add(even, term(hn::LoadU(d, x + i), hn::LoadU(d, y + i), i, lanes));
    odd = hn::Add(odd,
                  term(hn::LoadU(d, x + i + lanes), hn::LoadU(d, y + i + lanes), i + lanes, lanes));
  }
  for (; i < n; i += lanes) {
    HWY_ALIGN float x_tail[hn::MaxLanes(d)], y_tail[hn::MaxLanes(d)];
    const size_t count = HWY_MIN(lanes, n - i);
    for (size_t k = 0; k < lanes; ++k) {
      x_tail[k] = k < count ? x[i + k] : kLowest;
      y_tail[k] = k < count ? y[i + k] : 0;
    }
    even = hn::Add(even, term(hn::Load(d, x_tail), hn::Load(d, y_tail), i, count));
  }
  return hn::GetLane(hn::SumOfLanes(d, hn::Add(even, odd)));
}

float ExpSum(float* s, size_t n, float top) {
  const D d;
  const V shift = hn::Set(d, top);
  double sum = 0;
  for (size_t first = 0; first < n; first += kSumBlock) {
    float* block = s + first;
    sum += double{SumBlock(block, block, HWY_MIN(kSumBlock, n - first),
                           [&](V v, V, size_t i, size_t count) HWY_ATTR {
                             const V e = ExpNonPositive(d, hn::Sub(v, shift));
                             if (count == hn::Lanes(d)) {
                               hn::StoreU(e, d, block + i);
                             } else {
                               HWY_ALIGN float tail[hn::MaxLanes(d)];
                               hn::Store(e, d, tail);
                               for (size_t k = 0; k < count; ++k) block[i + k] = tail[k];
                             }
                             return e;
                           })};
  }
  return static_cast<float>(sum);
}

void ExpScaled(float* s, size_t n, float top, float factor) {
  const V t = hn::Set(D(), top), f = hn::Set(D(), factor);
  MapRow(s, s, n, [&](V v) HWY_ATTR { return hn::Mul(Exp(D(), hn::Sub(v, t)), f); });
}

void Gradient(const float* p, float* g, size_t n) {
  const D d;
  double sum = 0;
  for (size_t first = 0; first < n; first += kSumBlock) {
    const size_t count = HWY_MIN(kSumBlock, n - first);
    // The order of the operands: the tail of the first one is not neutral in a product.
    sum += double{SumBlock(g + first, p + first, count, [&](V x, V y, size_t, size_t m) HWY_ATTR {
      const V product = hn::Mul(x, y);
      return m == hn::Lanes(d) ? product : hn::IfThenElseZero(hn::FirstN(d, m), product);
    })};
  }
  const V dot = hn::Set(d, static_cast<float>(sum));
  MapRow(p, g, g, n, [&](V y, V dy) HWY_ATTR { return hn::Mul(y, hn::Sub(dy, dot)); });
}

const AttentionKernels* AttentionTable() {
  static constexpr AttentionKernels kTable = {.finite = Finite,
                                              .mask = Mask,
                                              .exp_sum = ExpSum,
                                              .exp_scaled = ExpScaled,
                                              .gradient = Gradient};
  return &kTable;
}

}  // namespace
}  // namespace bnns::impl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "core/target.h"

namespace bnns::impl {

HWY_EXPORT(AttentionTable);
const AttentionKernels* attention_kernels() {
  return pick(HWY_DISPATCH_TABLE(AttentionTable))();
}

}  // namespace bnns::impl
#endif
