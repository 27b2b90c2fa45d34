// Kernels of selection.h: vectors compare the stream with the worst value that is still among the
// best; few of its values pass, and those are handled one by one.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/top_k/selection.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

#include <cstring>
#include <type_traits>

#include "ops/top_k/selection.h"

HWY_BEFORE_NAMESPACE();
namespace bnns::impl::HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;

using D = hn::CappedTag<float, kRowsAcross>;
using V = hn::Vec<D>;
using M = hn::Mask<D>;

// Values that may belong to the best: all but those that are surely not. Negated comparisons let
// NaN pass, on either side.
template <class Order>
HWY_INLINE M Candidates(V x, V worst) {
  if constexpr (std::is_same_v<Order, Largest>) return hn::Not(hn::Le(x, worst));
  return hn::Not(hn::Ge(x, worst));
}

HWY_INLINE uint32_t Bits(M mask) {
  uint8_t bytes[8] = {};
  hn::StoreMaskBits(D(), mask, bytes);
  uint32_t bits;
  std::memcpy(&bits, bytes, sizeof bits);
  return bits & ((1u << hn::Lanes(D())) - 1);
}

template <class Order>
HWY_INLINE void Offer(float value, size_t index, Selection& s) {
  const uint64_t packed = Order::pack(value, index);
  if (packed > s.worst()) s.add(packed);
}

template <class Order>
void Select(const float* x, size_t n, size_t first, Selection& s) {
  const D d;
  const size_t lanes = hn::Lanes(d);
  size_t i = 0;
  while (i < n && s.worst() == 0) {
    s.add(Order::pack(x[i], first + i));
    ++i;
  }
  V worst = hn::Set(d, Order::value(s.worst()));
  const auto candidates = [&](size_t at)
                              HWY_ATTR { return Candidates<Order>(hn::LoadU(d, x + at), worst); };
  const auto offer = [&](size_t at, M mask) HWY_ATTR {
    for (uint32_t bits = Bits(mask); bits != 0; bits &= bits - 1) {
      const size_t lane = at + static_cast<size_t>(std::countr_zero(bits));
      Offer<Order>(x[lane], first + lane, s);
    }
    worst = hn::Set(d, Order::value(s.worst()));
  };
  for (; i + 4 * lanes <= n; i += 4 * lanes) {
    const M m0 = candidates(i), m1 = candidates(i + lanes), m2 = candidates(i + 2 * lanes),
            m3 = candidates(i + 3 * lanes);
    if (HWY_LIKELY(hn::AllFalse(d, hn::Or(hn::Or(m0, m1), hn::Or(m2, m3))))) continue;
    offer(i, m0);
    offer(i + lanes, m1);
    offer(i + 2 * lanes, m2);
    offer(i + 3 * lanes, m3);
  }
  for (; i < n; ++i) Offer<Order>(x[i], first + i, s);
}

void SelectAcross(const float* x, size_t stride, size_t n, size_t first, size_t rows,
                  Selection* s) {
  const D d;
  const size_t lanes = hn::Lanes(d);
  size_t i = 0;
  for (; i < n && s[0].worst() == 0; ++i) {
    for (size_t r = 0; r < rows; ++r) s[r].add(Largest::pack(x[i * stride + r], first + i));
  }
  HWY_ALIGN float worst[kRowsAcross] = {};
  for (size_t r = 0; r < rows; ++r) worst[r] = Largest::value(s[r].worst());
  for (; i < n; ++i) {
    const float* values = x + i * stride;
    for (size_t r = 0; r < rows; r += lanes) {
      const M mask = Candidates<Largest>(hn::LoadU(d, values + r), hn::Load(d, worst + r));
      if (HWY_LIKELY(hn::AllFalse(d, mask))) continue;
      for (uint32_t bits = Bits(mask); bits != 0; bits &= bits - 1) {
        const size_t row = r + static_cast<size_t>(std::countr_zero(bits));
        if (row >= rows) break;
        Offer<Largest>(values[row], first + i, s[row]);
        worst[row] = Largest::value(s[row].worst());
      }
    }
  }
}

size_t CountAbove(const float* x, size_t n, float bound) {
  const D d;
  const size_t lanes = hn::Lanes(d);
  const V bounds = hn::Set(d, bound);
  size_t i = 0, count = 0;
  for (; i + lanes <= n; i += lanes)
    count += hn::CountTrue(d, Candidates<Largest>(hn::LoadU(d, x + i), bounds));
  for (; i < n; ++i) count += !(x[i] <= bound);
  return count;
}

const SelectionKernels* SelectionTable() {
  static constexpr SelectionKernels kTable = {.largest = Select<Largest>,
                                              .smallest = Select<Smallest>,
                                              .largest_across = SelectAcross,
                                              .count_above = CountAbove};
  return &kTable;
}

}  // namespace
}  // namespace bnns::impl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <algorithm>
#include <functional>

#include "core/target.h"

namespace bnns::impl {
namespace {

HWY_EXPORT(SelectionTable);

}  // namespace

const SelectionKernels* selection_kernels() {
  return pick(HWY_DISPATCH_TABLE(SelectionTable))();
}

void Selection::drop() {
  std::nth_element(best_, best_ + (k_ - 1), best_ + size_, std::greater<>());
  size_ = k_;
  worst_ = best_[k_ - 1];
}

const uint64_t* Selection::finish() {
  if (is_sorted(k_)) return best_;
  if (size_ > k_) drop();
  std::sort(best_, best_ + size_, std::greater<>());
  return best_;
}

}  // namespace bnns::impl
#endif
