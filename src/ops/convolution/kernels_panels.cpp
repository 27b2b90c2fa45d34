// Packs weights into panels: blocks of four output channels and four taps are transposed.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/convolution/kernels_panels.cpp"
#include "hwy/foreach_target.h"
#include "hwy/cache_control.h"
#include "hwy/highway.h"

#include "ops/convolution/kernels.h"
#include "simd/transpose-inl.h"

HWY_BEFORE_NAMESPACE();
namespace bnns::impl::HWY_NAMESPACE {
namespace {

constexpr size_t kCacheLine = 16;  // floats
// Source channels may lie pages apart, so they are prefetched this many channels early.
constexpr size_t kAhead = 8;

void PackPanel(const ConvolutionPanel& b) {
  const ptrdiff_t row = b.reversed ? -static_cast<ptrdiff_t>(kPanel) : ptrdiff_t{kPanel};
  const size_t first = b.reversed ? b.taps - 1 : 0;  // position of tap 0
  const size_t span = (kPanel - 1) * b.by_output + b.taps;
  for (size_t c = 0; c < b.sources; ++c) {
    const float* w = b.from + c * b.by_source;
    float* to = b.to + (c * b.taps + first) * kPanel;
    if (c + kAhead < b.sources) {
      const float* ahead = w + kAhead * b.by_source;
      for (size_t i = 0; i < span; i += kCacheLine) hwy::Prefetch(ahead + i);
      hwy::Prefetch(ahead + span - 1);
    }
    size_t t = 0;
#if HWY_TARGET != HWY_SCALAR
    static_assert(kPanel == 4);
    for (; t + 4 <= b.taps; t += 4)
      TransposeBlock(w + t, b.by_output, to + static_cast<ptrdiff_t>(t) * row, row);
#endif
    for (; t < b.taps; ++t) {
      float* term = to + static_cast<ptrdiff_t>(t) * row;
      for (size_t m = 0; m < kPanel; ++m) term[m] = w[m * b.by_output + t];
    }
  }
}

}  // namespace

PanelKernel ConvolutionPanelKernel() {
  return PackPanel;
}

}  // namespace bnns::impl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "core/target.h"

namespace bnns::impl {

HWY_EXPORT(ConvolutionPanelKernel);
PanelKernel convolution_panel() {
  return pick(HWY_DISPATCH_TABLE(ConvolutionPanelKernel))();
}

}  // namespace bnns::impl
#endif
