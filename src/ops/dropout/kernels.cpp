// Comparison of random words with a threshold, sixteen decisions at a time, and the passes over
// rows that keep or drop their elements. Vectors have at most 16 lanes, so that one 32-bit word
// always holds the bits of a vector.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/dropout/kernels.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

#include <cstring>

#include "ops/dropout/dropout.h"

HWY_BEFORE_NAMESPACE();
namespace bnns::impl::HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;
using D = hn::CappedTag<float, 16>;
using DW = hn::CappedTag<uint32_t, 16>;

void Decide(const uint32_t* words, size_t n, uint32_t threshold, uint16_t* bits) {
  const DW d;
  const auto limit = hn::Set(d, threshold);
  for (size_t i = 0; i < n; i += 16) {
    uint32_t dropped = 0;
    for (size_t j = 0; j < 16; j += hn::Lanes(d)) {
      uint8_t bytes[8] = {};
      hn::StoreMaskBits(d, hn::Lt(hn::LoadU(d, words + i + j), limit), bytes);
      dropped |= (uint32_t{bytes[0]} | uint32_t{bytes[1]} << 8) << j;
    }
    bits[i / 16] = static_cast<uint16_t>(~dropped);
  }
}

// scale x where the bits of the lanes, which begin at bit 0 of `bits`, are 1, else 0.
template <class V>
HWY_INLINE V Kept(uint32_t bits, V scale, V x) {
  const D d;
  const DW dw;
  const auto lane_bit = hn::Shl(hn::Set(dw, 1), hn::Iota(dw, 0));
  const auto keep = hn::RebindMask(d, hn::TestBit(hn::Set(dw, bits), lane_bit));
  return hn::IfThenElseZero(keep, hn::Mul(scale, x));
}

template <bool kAdd>
void Drop(const uint32_t* bits, float scale, const float* x, float* y, size_t n) {
  const D d;
  const size_t lanes = hn::Lanes(d);
  const auto factor = hn::Set(d, scale);
  size_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    auto kept = Kept(bits[i / 32] >> (i % 32), factor, hn::LoadU(d, x + i));
    if constexpr (kAdd) kept = hn::Add(hn::LoadU(d, y + i), kept);
    hn::StoreU(kept, d, y + i);
  }
  if (i == n) return;
  HWY_ALIGN float tail[hn::MaxLanes(d)] = {};
  HWY_ALIGN float old[hn::MaxLanes(d)] = {};
  std::memcpy(tail, x + i, (n - i) * sizeof(float));
  if constexpr (kAdd) std::memcpy(old, y + i, (n - i) * sizeof(float));
  auto kept = Kept(bits[i / 32] >> (i % 32), factor, hn::Load(d, tail));
  if constexpr (kAdd) kept = hn::Add(hn::Load(d, old), kept);
  hn::Store(kept, d, tail);
  std::memcpy(y + i, tail, (n - i) * sizeof(float));
}

const DropoutKernels* DropoutTable() {
  static constexpr DropoutKernels kTable = {
      .decide = Decide, .set = Drop<false>, .add = Drop<true>};
  return &kTable;
}

}  // namespace
}  // namespace bnns::impl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "core/target.h"

namespace bnns::impl {

HWY_EXPORT(DropoutTable);
const DropoutKernels* dropout_kernels() {
  return pick(HWY_DISPATCH_TABLE(DropoutTable))();
}

}  // namespace bnns::impl
#endif
