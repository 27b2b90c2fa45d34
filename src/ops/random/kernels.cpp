// Philox4x32 with ten rounds on several blocks in parallel. Each 64-bit lane holds one 32-bit word.
//   (x0, x1, x2, x3) <- (high(m1 x2) ^ x1 ^ k0, low(m1 x2), high(m0 x0) ^ x3 ^ k1, low(m0 x0))
// and the key (k0, k1) is advanced by two constants after each round.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/random/kernels.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

#include "ops/random/random.h"

HWY_BEFORE_NAMESPACE();
namespace bnns::impl::HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;
using D = hn::ScalableTag<uint64_t>;
using V = hn::Vec<D>;

// The product of the low 32-bit words of each lane; the high words are ignored.
HWY_INLINE V Product(V x, V m) {
#if HWY_TARGET == HWY_SCALAR
  return hn::Set(D(), (hn::GetLane(x) & 0xFFFFFFFFu) * (hn::GetLane(m) & 0xFFFFFFFFu));
#else
  const hn::Repartition<uint32_t, D> words;
  return hn::MulEven(hn::BitCast(words, x), hn::BitCast(words, m));
#endif
}

void Philox(uint64_t use, uint64_t key, uint64_t first, size_t n, uint64_t* high, uint64_t* low) {
  const D d;
  const V m0 = hn::Set(d, 0xD2511F53u), m1 = hn::Set(d, 0xCD9E8D57u);
  const V mask = hn::Set(d, 0xFFFFFFFFu);
  for (size_t i = 0; i < n; i += hn::Lanes(d)) {
    const V number = hn::Add(hn::Set(d, first + i), hn::Iota(d, 0));
    V x0 = hn::And(number, mask), x1 = hn::ShiftRight<32>(number);
    V x2 = hn::Set(d, use & 0xFFFFFFFF), x3 = hn::Set(d, use >> 32);
    auto k0 = static_cast<uint32_t>(key), k1 = static_cast<uint32_t>(key >> 32);
    for (int round = 0; round < 10; ++round, k0 += 0x9E3779B9u, k1 += 0xBB67AE85u) {
      const V p0 = Product(x0, m0), p1 = Product(x2, m1);
      x0 = hn::Xor(hn::Xor(hn::ShiftRight<32>(p1), x1), hn::Set(d, k0));
      x1 = hn::And(p1, mask);
      x2 = hn::Xor(hn::Xor(hn::ShiftRight<32>(p0), x3), hn::Set(d, k1));
      x3 = hn::And(p0, mask);
    }
    hn::Store(hn::Or(hn::ShiftLeft<32>(x1), x0), d, high + i);
    hn::Store(hn::Or(hn::ShiftLeft<32>(x3), x2), d, low + i);
  }
}

PhiloxKernel PhiloxTable() {
  return Philox;
}

}  // namespace
}  // namespace bnns::impl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "core/target.h"

namespace bnns::impl {

HWY_EXPORT(PhiloxTable);
PhiloxKernel philox_kernel() {
  return pick(HWY_DISPATCH_TABLE(PhiloxTable))();
}

}  // namespace bnns::impl
#endif
