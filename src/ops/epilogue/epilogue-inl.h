// The arithmetic of epilogue.h on tiles of kM rows x kN vectors of sums. Rows have one value of
// each term, columns one per lane. Also for single sums: the tag of one lane is One.

#if defined(OPENBNNS_OPS_EPILOGUE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef OPENBNNS_OPS_EPILOGUE_INL_H_
#undef OPENBNNS_OPS_EPILOGUE_INL_H_
#else
#define OPENBNNS_OPS_EPILOGUE_INL_H_
#endif

#include <cstddef>

#include "hwy/highway.h"
#include "ops/epilogue/epilogue.h"

HWY_BEFORE_NAMESPACE();
namespace bnns::impl::HWY_NAMESPACE {
namespace epilogue {
namespace hn = hwy::HWY_NAMESPACE;

using One = hn::CappedTag<float, 1>;

// Each term has a loop of its own, so that what is absent costs one branch per tile.
template <size_t kM, size_t kN, class D, class V, class BiasOf, class ScaleOf, class ShiftOf>
HWY_INLINE void ApplyTerms(D, const ChannelTerms& terms, const BiasOf& bias, const ScaleOf& scale,
                           const ShiftOf& shift, V (&z)[kM * kN]) {
  if (terms.bias != nullptr) {
    HWY_UNROLL(12)
    for (size_t i = 0; i < kM * kN; ++i) z[i] = hn::Add(z[i], bias(i));
  }
  if (terms.scale != nullptr) {
    HWY_UNROLL(12)
    for (size_t i = 0; i < kM * kN; ++i) z[i] = hn::MulAdd(z[i], scale(i), shift(i));
  }
}

// The terms of rows [row, row + kM).
template <size_t kM, size_t kN, class D, class V>
HWY_INLINE void ApplyRows(D d, const ChannelTerms& terms, size_t row, V (&z)[kM * kN]) {
  const auto of = [&](const float* term) HWY_ATTR {
    return [=](size_t i) HWY_ATTR { return hn::Set(d, term[row + i / kN]); };
  };
  ApplyTerms<kM, kN>(d, terms, of(terms.bias), of(terms.scale), of(terms.shift), z);
}

// The terms of kN vectors of columns from `column` on.
template <size_t kM, size_t kN, class D, class V>
HWY_INLINE void ApplyColumns(D d, const ChannelTerms& terms, size_t column, V (&z)[kM * kN]) {
  const auto of = [&](const float* term) HWY_ATTR {
    return [=](size_t i) HWY_ATTR { return hn::LoadU(d, term + column + i % kN * hn::Lanes(d)); };
  };
  ApplyTerms<kM, kN>(d, terms, of(terms.bias), of(terms.scale), of(terms.shift), z);
}

// ReLU; NaN stays NaN.
template <size_t kCount, class D, class V>
HWY_INLINE void Rectify(D d, const float* least, V (&z)[kCount]) {
  if (least == nullptr) return;
  const V zero = hn::Set(d, *least);
  HWY_UNROLL(12)
  for (size_t i = 0; i < kCount; ++i) z[i] = hn::IfThenZeroElse(hn::Lt(z[i], zero), z[i]);
}

// Stores one vector of sums, or one sum, of row `row` and the columns from `column` on.
template <class D, class V>
HWY_INLINE void Put(D d, const Epilogue& e, size_t row, size_t column, V sum, float* to) {
  V z[1] = {sum};
  if (e.alpha != 1) z[0] = hn::Mul(hn::Set(d, e.alpha), z[0]);
  ApplyColumns<1, 1>(d, e.column, column, z);
  ApplyRows<1, 1>(d, e.row, row, z);
  if (e.accumulate) {
    V old = hn::LoadU(d, to);
    if (e.beta != 1) old = hn::Mul(hn::Set(d, e.beta), old);
    z[0] = hn::Add(old, z[0]);
  }
  Rectify(d, e.least, z);
  hn::StoreU(z[0], d, to);
}
HWY_INLINE void Put(const Epilogue& e, size_t row, size_t column, float sum, float* to) {
  Put(One(), e, row, column, hn::Set(One(), sum), to);
}

}  // namespace epilogue
}  // namespace bnns::impl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
