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
using I = hn::RebindToSigned<D>;

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

// The upper halves of packed numbers, in the order of signed integers.
template <class Order>
HWY_INLINE hn::Vec<I> Keys(V x) {
  const D d;
  const I di;
  const auto bits = hn::BitCast(di, hn::Add(x, hn::Zero(d)));  // -0 becomes 0
  const auto magnitude = hn::Set(di, INT32_MAX);
  const auto flipped = hn::Xor(bits, hn::And(hn::BroadcastSignBit(bits), magnitude));
  const auto keys = hn::IfThenElse(hn::RebindMask(di, hn::IsNaN(x)), magnitude, flipped);
  if constexpr (std::is_same_v<Order, Largest>) return keys;
  return hn::Not(keys);
}

// The k-th largest of the maxima of groups.
int32_t KthLargest(int32_t* HWY_RESTRICT tops, size_t groups, size_t k) {
  const I d;
  const size_t lanes = hn::Lanes(d);
  if (!Selection::is_sorted(k)) return kth_largest(tops, groups, k);
  for (size_t taken = 0;;) {
    auto largest = hn::Load(d, tops);
    for (size_t g = lanes; g < groups; g += lanes)
      largest = hn::Max(largest, hn::Load(d, tops + g));
    largest = hn::MaxOfLanes(d, largest);
    for (size_t g = 0; g < groups; g += lanes) {
      const auto top = hn::Load(d, tops + g);
      const auto same = hn::Eq(top, largest);
      taken += hn::CountTrue(d, same);
      hn::Store(hn::IfThenElse(same, hn::Set(d, INT32_MIN), top), d, tops + g);
    }
    if (taken >= k) return hn::GetLane(largest);
  }
}

// A group is the values at equal places modulo the number of groups.
template <class Order>
void SetFloor(const float* x, size_t n, Selection& s) {
  constexpr size_t kUnit = 64, kMostGroups = 1024;
  const size_t groups = (2 * s.wanted() + kUnit - 1) / kUnit * kUnit;
  if (groups > kMostGroups || n < 2 * groups) return;
  const D d;
  const I di;
  const size_t lanes = hn::Lanes(d);
  HWY_ALIGN int32_t tops[kMostGroups];
  for (size_t g = 0; g < groups; g += lanes)
    hn::Store(Keys<Order>(hn::LoadU(d, x + g)), di, tops + g);
  for (size_t i = groups; i + groups <= n; i += groups) {
    for (size_t g = 0; g < groups; g += lanes) {
      const auto keys = Keys<Order>(hn::LoadU(d, x + i + g));
      hn::Store(hn::Max(hn::Load(di, tops + g), keys), di, tops + g);
    }
  }
  const auto key = static_cast<uint32_t>(KthLargest(tops, groups, s.wanted()));
  s.set_floor(key ^ packing::kSign);
}

template <class Order>
void Select(const float* x, size_t n, size_t first, Selection& s) {
  const D d;
  const size_t lanes = hn::Lanes(d);
  size_t i = 0;
  if (s.is_empty()) SetFloor<Order>(x, n, s);
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

int32_t kth_largest(int32_t* values, size_t n, size_t k) {
  std::nth_element(values, values + (k - 1), values + n, std::greater<>());
  return values[k - 1];
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
