// Copies source rows into the padded buffer and sums rows for the bias gradient. The table of all
// convolution kernels is put together here.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/convolution/kernels_rows.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

#include <algorithm>

#include "ops/convolution/edges-inl.h"
#include "ops/convolution/kernels.h"

HWY_BEFORE_NAMESPACE();
namespace bnns::impl::HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;
using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;

constexpr size_t kSumBlock = 2048;

// Stores zeros in [0, low) and [high, n), then the values. A store of zeros may overrun into [low,
// high); the values overwrite the excess.
HWY_INLINE void PaddedRow(const float* from, float* to, size_t low, size_t high, size_t n) {
  const D d;
  const size_t lanes = hn::Lanes(d), count = high - low;
  if (n < lanes) {
    for (size_t i = 0; i < n; ++i) to[i] = i >= low && i < high ? from[i - low] : 0;
    return;
  }
  for (size_t i = 0; i < low; i += lanes) hn::StoreU(hn::Zero(d), d, to + std::min(i, n - lanes));
  for (size_t i = n; i > high;) {
    i -= std::min(i, lanes);
    hn::StoreU(hn::Zero(d), d, to + i);
  }
  to += low;
  if (count < lanes) {
    for (size_t i = 0; i < count; ++i) to[i] = from[i];
    return;
  }
  for (size_t i = 0; i + lanes < count; i += lanes) hn::StoreU(hn::LoadU(d, from + i), d, to + i);
  hn::StoreU(hn::LoadU(d, from + count - lanes), d, to + count - lanes);
}

// Copies every stride-th value. The vector loop for a stride of 2 stops before the last value, so
// that it reads nothing behind it.
HWY_INLINE void SparseRow(const float* from, size_t stride, float* to, size_t n) {
  size_t i = 0;
#if HWY_TARGET != HWY_SCALAR
  const D d;
  const size_t lanes = hn::Lanes(d);
  for (; stride == 2 && i + lanes < n; i += lanes) {
    const V low = hn::LoadU(d, from + 2 * i), high = hn::LoadU(d, from + 2 * i + lanes);
    hn::StoreU(hn::ConcatEven(d, high, low), d, to + i);
  }
#endif
  for (; i < n; ++i) to[i] = from[i * stride];
}

// Whether only the first and the last vector of a row can reach beyond the source.
bool has_narrow_edges(const ConvolutionCopy& b) {
  const size_t lanes = hn::Lanes(D());
  if (b.step * b.from_step != 1 || b.columns < lanes || b.size < Edge::narrowest()) return false;
  const size_t inside = (b.columns - 1) / lanes * lanes;  // end of the vectors between the two
  const auto edge = static_cast<ptrdiff_t>(lanes);
  return inside <= lanes || (b.first + edge >= 0 && b.first + static_cast<ptrdiff_t>(inside) <=
                                                        static_cast<ptrdiff_t>(b.size));
}

void CopyEdged(const ConvolutionCopy& b) {
  const D d;
  const size_t lanes = hn::Lanes(d), last = b.columns - lanes;
  const Edge left = Edge::of(b.first, b.size);
  const Edge right = Edge::of(b.first + static_cast<ptrdiff_t>(last), b.size);
  for (size_t c = 0; c < b.planes; ++c) {
    for (size_t i = 0; i < b.rows; ++i) {
      const float* from = b.from + c * b.from_plane + i * b.from_row;
      float* to = b.to + c * b.to_plane + i * b.pitch;
      hn::StoreU(left.load(from), d, to);
      for (size_t j = lanes; j < last; j += lanes)
        hn::StoreU(hn::LoadU(d, from + (b.first + static_cast<ptrdiff_t>(j))), d, to + j);
      hn::StoreU(right.load(from), d, to + last);
    }
  }
}

void CopyRows(const ConvolutionCopy& b) {
  if (has_narrow_edges(b)) return CopyEdged(b);
  // Positions [low, high) have a source; the others are padding.
  const size_t n = b.columns, step = b.step;
  const size_t below = b.first < 0 ? static_cast<size_t>(-b.first) : 0;
  const size_t low = std::min(n, (below + step - 1) / step);
  const auto start = static_cast<size_t>(b.first + static_cast<ptrdiff_t>(low * step));
  const size_t high = start < b.size ? std::min(n, low + (b.size - start + step - 1) / step) : low;
  const size_t stride = step * b.from_step;
  const float* first = low == high ? b.from : b.from + start * b.from_step;
  for (size_t r = 0; r < b.planes * b.rows; ++r) {
    const size_t plane = r / b.rows, i = r % b.rows;
    const float* from = first + plane * b.from_plane + i * b.from_row;
    float* to = b.to + plane * b.to_plane + i * b.pitch;
    if (stride == 1) {
      PaddedRow(from, to, low, high, n);
      continue;
    }
    std::fill_n(to, low, 0.0f);
    std::fill_n(to + high, n - high, 0.0f);
    SparseRow(from, stride, to + low, high - low);
  }
}

// Sums in four vector accumulators, which are added to a double every kSumBlock values.
double Sum(const float* row, size_t step, size_t n) {
  const D d;
  const size_t lanes = hn::Lanes(d);
  double total = 0;
  size_t i = 0;
  while (step == 1 && i + lanes <= n) {
    const size_t end = std::min(n, i + kSumBlock);
    V sums[4] = {hn::Zero(d), hn::Zero(d), hn::Zero(d), hn::Zero(d)};
    for (; i + 4 * lanes <= end; i += 4 * lanes)
      for (size_t k = 0; k < 4; ++k) sums[k] = hn::Add(sums[k], hn::LoadU(d, row + i + k * lanes));
    for (; i + lanes <= end; i += lanes) sums[0] = hn::Add(sums[0], hn::LoadU(d, row + i));
    HWY_ALIGN float parts[hn::MaxLanes(D())];
    hn::Store(hn::Add(hn::Add(sums[0], sums[1]), hn::Add(sums[2], sums[3])), d, parts);
    for (size_t k = 0; k < lanes; ++k) total += double{parts[k]};
  }
  for (; i < n; ++i) total += double{row[i * step]};
  return total;
}

}  // namespace

ConvolutionKernels ConvolutionRowKernels() {
  return {.lanes = hn::Lanes(D()),
          .tile = kPackedVectors * hn::Lanes(D()),
          .depthwise_columns = Edge::narrowest(),
          .copy = CopyRows,
          .pack_panel = nullptr,
          .products = nullptr,
          .packed_products = nullptr,
          .depthwise_products = nullptr,
          .weight_gradient = nullptr,
          .depthwise_weight_gradient = nullptr,
          .many = {},
          .sum = Sum};
}

}  // namespace bnns::impl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "core/target.h"

namespace bnns::impl {

HWY_EXPORT(ConvolutionRowKernels);
ConvolutionKernels convolution_kernels() {
  ConvolutionKernels kernels = pick(HWY_DISPATCH_TABLE(ConvolutionRowKernels))();
  kernels.pack_panel = convolution_panel();
  kernels.products = convolution_products();
  kernels.packed_products = convolution_packed_products();
  kernels.depthwise_products = convolution_depthwise_products();
  kernels.weight_gradient = convolution_weight_gradient();
  kernels.depthwise_weight_gradient = convolution_depthwise_weight_gradient();
  kernels.many = convolution_outer();
  return kernels;
}

}  // namespace bnns::impl
#endif
