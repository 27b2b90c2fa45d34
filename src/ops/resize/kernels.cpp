// See kernels.h. Rows that are only written end with a vector that overlaps the one before it; rows
// shorter than a vector are computed in vectors of one lane, by the same instructions.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/resize/kernels.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

#include "ops/resize/kernels.h"
#include "simd/rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace bnns::impl::HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;
using D = hn::ScalableTag<float>;
using One = hn::CappedTag<float, 1>;

// Calls at(d, i) for vectors that cover [0, n). It must be repeatable.
template <class At>
HWY_INLINE void ForVectors(size_t n, const At& at) {
  const D d;
  const size_t lanes = hn::Lanes(d);
  if (n < lanes) {
    for (size_t i = 0; i < n; ++i) at(One(), i);
    return;
  }
  size_t i = 0;
  for (; i + lanes <= n; i += lanes) at(d, i);
  if (i < n) at(d, n - lanes);
}

template <size_t kRows>
void Mix(const ResizeMix& given) {
  const ResizeMix m = given;  // a copy stays in registers
  ForVectors(m.n, [&](auto d, size_t i) HWY_ATTR {
    auto sum = hn::Mul(hn::Set(d, m.weight[0]), hn::LoadU(d, m.row[0] + i));
    if constexpr (kRows > 1)
      sum = hn::MulAdd(hn::Set(d, m.weight[1]), hn::LoadU(d, m.row[1] + i), sum);
    if constexpr (kRows > 2)
      sum = hn::MulAdd(hn::Set(d, m.weight[2]), hn::LoadU(d, m.row[2] + i), sum);
    if constexpr (kRows > 3)
      sum = hn::MulAdd(hn::Set(d, m.weight[3]), hn::LoadU(d, m.row[3] + i), sum);
    if (m.base != nullptr) sum = hn::Add(hn::LoadU(d, m.base + i), sum);
    hn::StoreU(sum, d, m.to + i);
  });
}

void AddRow(const float* x, size_t n, float* y) {
  MapRow(x, y, y, n, [](auto a, auto b) HWY_ATTR { return hn::Add(b, a); });
}

// ---- Rows ----

void Cells(const ResizeRowCall& c) {
  const uint32_t* begin = c.begin + c.first;
  for (size_t i = 0; i < c.count; ++i) c.to[i] = c.from[begin[i] - c.first_source];
}

// A lane without a source, or with fewer than others, reads a cell that is there and drops it.
template <size_t kTaps>
void Gather(const ResizeRowCall& given) {
  const ResizeRowCall c = given;
  const auto* begin = reinterpret_cast<const int32_t*>(c.begin + c.first);
  ForVectors(c.count, [&](auto d, size_t i) HWY_ATTR {
    const hn::RebindToSigned<decltype(d)> di;
    const auto cell =
        hn::Sub(hn::LoadU(di, begin + i), hn::Set(di, static_cast<int32_t>(c.first_source)));
    auto sum = hn::Zero(d);
    for (size_t k = 0; k < kTaps; ++k) {
      const auto weight = hn::LoadU(d, c.dense + k * c.targets + c.first + i);
      const auto none = hn::Eq(weight, hn::Zero(d));
      const auto there = hn::IfThenZeroElse(hn::RebindMask(di, none),
                                            hn::Add(cell, hn::Set(di, static_cast<int32_t>(k))));
      const auto v = hn::GatherIndex(d, c.from, there);
      const auto more = k == 0 ? hn::Mul(weight, v) : hn::MulAdd(weight, v, sum);
      sum = hn::IfThenElse(none, sum, more);
    }
    hn::StoreU(sum, d, c.to + i);
  });
}

// A chain has at most 32 terms.
HWY_INLINE float SumAt(const ResizeRowCall& c, size_t t) {
  constexpr size_t kChain = 32;
  const float* from = c.from + (c.begin[t] - c.first_source);
  const float* weight = c.weight + c.offset[t];
  const size_t n = c.offset[t + 1] - c.offset[t];
  float sum = 0;
  for (size_t i = 0; i < n; i += kChain) {
    float chain = 0;
    for (size_t k = i; k < HWY_MIN(i + kChain, n); ++k) chain += weight[k] * from[k];
    sum += chain;
  }
  return sum;
}

void Sums(const ResizeRowCall& c) {
  for (size_t i = 0; i < c.count; ++i) c.to[i] = SumAt(c, c.first + i);
}

// Sources j and j + 1 make the targets 2 j + 1 and 2 j + 2; the first and the last target are the
// first and the last source.
template <class D_, class V>
HWY_INLINE V Odd(D_ d, V a, V b) {
  return hn::MulAdd(hn::Set(d, 0.25f), b, hn::Mul(hn::Set(d, 0.75f), a));
}
template <class D_, class V>
HWY_INLINE V Even(D_ d, V a, V b) {
  return hn::MulAdd(hn::Set(d, 0.75f), b, hn::Mul(hn::Set(d, 0.25f), a));
}

HWY_INLINE float TwiceAt(const ResizeRowCall& c, size_t t) {
  if (t == 0) return c.from[0];
  const One d;
  const float* from = c.from + ((t - 1) / 2 - c.first_source);
  if (t + 1 == c.targets) return from[0];
  const auto a = hn::LoadU(d, from), b = hn::LoadU(d, from + 1);
  return hn::GetLane(t % 2 == 0 ? Even(d, a, b) : Odd(d, a, b));
}

void Twice(const ResizeRowCall& c) {
  size_t t = c.first;
  const size_t end = c.first + c.count;
  float* to = c.to;
  if (t % 2 == 0) *to++ = TwiceAt(c, t++);
  const size_t pairs = (end - t) / 2;
  const float* from = c.from + ((t - 1) / 2 - c.first_source);
  ForVectors(pairs, [&](auto d, size_t i) HWY_ATTR {
    const auto a = hn::LoadU(d, from + i), b = hn::LoadU(d, from + i + 1);
    hn::StoreInterleaved2(Odd(d, a, b), Even(d, a, b), d, to + 2 * i);
  });
  if (t + 2 * pairs < end) to[2 * pairs] = TwiceAt(c, t + 2 * pairs);
}

// Target j, which is neither the first nor the last, has the sources 2 j - 1 to 2 j + 2.
void TwiceBack(const ResizeRowCall& c) {
  size_t t = c.first, end = c.first + c.count;
  float* to = c.to;
  if (t == 0) *to++ = SumAt(c, t++);
  if (end == c.targets && t < end) {
    --end;
    to[end - t] = SumAt(c, end);
  }
  const float* from = c.from + (2 * t - 1 - c.first_source);
  ForVectors(end - t, [&](auto d, size_t i) HWY_ATTR {
    hn::Vec<decltype(d)> s0, s1, s2, s3;
    hn::LoadInterleaved2(d, from + 2 * i, s0, s1);
    hn::LoadInterleaved2(d, from + 2 * i + 2, s2, s3);
    const auto quarter = hn::Set(d, 0.25f), most = hn::Set(d, 0.75f);
    const auto left = hn::MulAdd(most, s1, hn::Mul(quarter, s0));
    hn::StoreU(hn::MulAdd(quarter, s3, hn::MulAdd(most, s2, left)), d, to + i);
  });
}

void Repeat(const ResizeRowCall& c) {
  size_t t = c.first;
  const size_t end = c.first + c.count;
  const float* from = c.from;
  float* to = c.to;
  if (t % 2 == 1) *to++ = *from++, ++t;
  const size_t pairs = (end - t) / 2;
  ForVectors(pairs, [&](auto d, size_t i) HWY_ATTR {
    const auto v = hn::LoadU(d, from + i);
    hn::StoreInterleaved2(v, v, d, to + 2 * i);
  });
  if (t + 2 * pairs < end) to[2 * pairs] = from[pairs];
}

void RepeatBack(const ResizeRowCall& c) {
  const float* from = c.from;
  float* to = c.to;
  ForVectors(c.count, [&](auto d, size_t i) HWY_ATTR {
    hn::Vec<decltype(d)> even, odd;
    hn::LoadInterleaved2(d, from + 2 * i, even, odd);
    hn::StoreU(hn::Add(even, odd), d, to + i);
  });
}

const ResizeKernels* ResizeTable() {
  static constexpr ResizeKernels kTable = {
      .mix = {Mix<1>, Mix<2>, Mix<3>, Mix<4>},
      .row = {Cells, Gather<2>, Gather<4>, Sums, Repeat, RepeatBack, Twice, TwiceBack},
      .add = AddRow};
  return &kTable;
}

}  // namespace
}  // namespace bnns::impl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "core/target.h"

namespace bnns::impl {

HWY_EXPORT(ResizeTable);
const ResizeKernels* resize_kernels() {
  return pick(HWY_DISPATCH_TABLE(ResizeTable))();
}

}  // namespace bnns::impl
#endif
