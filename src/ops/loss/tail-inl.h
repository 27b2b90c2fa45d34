// The tail of a row. Kernels process `main` elements in whole vectors and then the last 1 to
// Lanes() elements in one vector. That vector ends with the row and may begin before `main`: its
// first lanes then repeat elements of the loop, with the same result, so that it can be stored as a
// whole, and only sums have to leave these lanes out. A row shorter than a vector goes through a
// buffer. Nothing outside of the row is read or written.

#if defined(OPENBNNS_OPS_LOSS_TAIL_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef OPENBNNS_OPS_LOSS_TAIL_INL_H_
#undef OPENBNNS_OPS_LOSS_TAIL_INL_H_
#else
#define OPENBNNS_OPS_LOSS_TAIL_INL_H_
#endif

#include <cstddef>

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace bnns::impl::HWY_NAMESPACE {
namespace losses {

namespace hn = hwy::HWY_NAMESPACE;

class Tail {
 public:
  using D = hn::ScalableTag<float>;
  using V = hn::Vec<D>;

  // n must be at least 1.
  explicit HWY_INLINE Tail(size_t n) : n_(n), lanes_(hn::Lanes(D())) {
    main_ = (n - 1) / lanes_ * lanes_;
    const size_t repeated = is_short() ? 0 : lanes_ - (n - main_);
    const auto first = hn::FirstN(D(), is_short() ? n : repeated);
    counts_ = is_short() ? first : hn::Not(first);
  }

  size_t main() const { return main_; }
  // v in the lanes that the loop has not processed, 0 or `other` in the rest.
  HWY_INLINE V counted(V v) const { return hn::IfThenElseZero(counts_, v); }
  HWY_INLINE V counted_or(V v, V other) const { return hn::IfThenElse(counts_, v, other); }

  HWY_INLINE V load(const float* row) const {
    const D d;
    if (!is_short()) return hn::LoadU(d, row + n_ - lanes_);
    HWY_ALIGN float buffer[hn::MaxLanes(d)] = {};
    for (size_t i = 0; i < n_; ++i) buffer[i] = row[i];
    return hn::Load(d, buffer);
  }
  HWY_INLINE void store(V v, float* row) const {
    const D d;
    if (!is_short()) return hn::StoreU(v, d, row + n_ - lanes_);
    HWY_ALIGN float buffer[hn::MaxLanes(d)];
    hn::Store(v, d, buffer);
    for (size_t i = 0; i < n_; ++i) row[i] = buffer[i];
  }

 private:
  bool is_short() const { return n_ < lanes_; }

  size_t n_, lanes_, main_;
  hn::Mask<D> counts_;
};

}  // namespace losses
}  // namespace bnns::impl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
