// Products of sparse rows, with vectors along the elements of a row (one sample) or along samples.
// Each row is summed in several chains, because one chain would wait for the latency of each
// multiply-add; the chains are added pairwise.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/sparse/kernels.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

#include "ops/sparse/sparse.h"
#include "simd/transpose-inl.h"

HWY_BEFORE_NAMESPACE();
namespace bnns::impl::HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;
using D = hn::CappedTag<float, 16>;
using DI = hn::RebindToSigned<D>;
using V = hn::Vec<D>;

void One(const SparseRows& w, size_t first, size_t n, const float* x, float* y) {
  const D d;
  const DI di;
  const size_t lanes = hn::Lanes(d);
  const auto product = [&](size_t j, V sum) {
    const V gathered = hn::GatherIndex(d, x, hn::LoadU(di, w.column + j));
    return hn::MulAdd(hn::LoadU(d, w.value + j), gathered, sum);
  };
  for (size_t r = first; r < first + n; ++r) {
    V even = hn::Zero(d), odd = hn::Zero(d);
    size_t j = w.start[r];
    const size_t end = j + w.count[r];
    for (; j + lanes < end; j += 2 * lanes) {
      even = product(j, even);
      odd = product(j + lanes, odd);
    }
    if (j < end) even = product(j, even);
    const float sum = hn::GetLane(hn::SumOfLanes(d, hn::Add(even, odd)));
    y[r] = sum + (w.bias == nullptr ? 0 : w.bias[r]);
  }
}

void Transpose(const float* x, size_t x_step, size_t samples, size_t width, size_t first, size_t n,
               float* to) {
  size_t s = 0;
#if HWY_TARGET != HWY_SCALAR
  for (; s + 4 <= samples; s += 4) {
    const float* from = x + s * x_step + first;
    size_t i = 0;
    for (; i + 4 <= n; i += 4)
      TransposeBlock(from + i, x_step, to + i * width + s, static_cast<ptrdiff_t>(width));
    for (; i < n; ++i)
      for (size_t k = 0; k < 4; ++k) to[i * width + s + k] = from[k * x_step + i];
  }
#endif
  for (; s < width; ++s)
    for (size_t i = 0; i < n; ++i)
      to[i * width + s] = s < samples ? x[s * x_step + first + i] : 0.0f;
}

// One row for kVectors vectors of samples.
template <size_t kVectors>
HWY_INLINE void Row(const SparseRows& w, size_t r, const float* x, float* y) {
  constexpr size_t kChains = 8 / kVectors;
  const D d;
  const size_t lanes = hn::Lanes(d), width = kVectors * lanes;
  V sum[kChains][kVectors];
  HWY_UNROLL(8)
  for (size_t c = 0; c < kChains; ++c) {
    HWY_UNROLL(2)
    for (size_t v = 0; v < kVectors; ++v) sum[c][v] = hn::Zero(d);
  }
  size_t j = w.start[r];
  const size_t end = j + w.count[r];
  for (; j + kChains <= end; j += kChains) {
    HWY_UNROLL(8)
    for (size_t c = 0; c < kChains; ++c) {
      const V value = hn::Set(d, w.value[j + c]);
      const float* at = x + static_cast<size_t>(w.column[j + c]) * width;
      HWY_UNROLL(2)
      for (size_t v = 0; v < kVectors; ++v)
        sum[c][v] = hn::MulAdd(value, hn::LoadU(d, at + v * lanes), sum[c][v]);
    }
  }
  for (; j < end; ++j) {
    const V value = hn::Set(d, w.value[j]);
    const float* at = x + static_cast<size_t>(w.column[j]) * width;
    HWY_UNROLL(2)
    for (size_t v = 0; v < kVectors; ++v)
      sum[0][v] = hn::MulAdd(value, hn::LoadU(d, at + v * lanes), sum[0][v]);
  }
  const V bias = hn::Set(d, w.bias == nullptr ? 0.0f : w.bias[r]);
  HWY_UNROLL(2)
  for (size_t v = 0; v < kVectors; ++v) {
    HWY_UNROLL(3)
    for (size_t half = kChains / 2; half > 0; half /= 2) {
      HWY_UNROLL(4)
      for (size_t c = 0; c < half; ++c) sum[c][v] = hn::Add(sum[c][v], sum[c + half][v]);
    }
    hn::StoreU(hn::Add(sum[0][v], bias), d, y + v * lanes);
  }
}

template <size_t kVectors>
void Block(const SparseRows& w, size_t first, size_t n, const float* x, size_t samples, float* y,
           size_t y_step) {
  const D d;
  const size_t width = kVectors * hn::Lanes(d);
  HWY_ALIGN float sums[kMostSparseRows * kVectors * hn::MaxLanes(d)];
  for (size_t r = 0; r < n; ++r) Row<kVectors>(w, first + r, x, sums + r * width);
  size_t r = 0;
#if HWY_TARGET != HWY_SCALAR
  for (; r + 4 <= n; r += 4) {
    size_t s = 0;
    for (; s + 4 <= samples; s += 4) {
      TransposeBlock(sums + r * width + s, width, y + s * y_step + first + r,
                     static_cast<ptrdiff_t>(y_step));
    }
    for (; s < samples; ++s)
      for (size_t k = 0; k < 4; ++k) y[s * y_step + first + r + k] = sums[(r + k) * width + s];
  }
#endif
  for (; r < n; ++r)
    for (size_t s = 0; s < samples; ++s) y[s * y_step + first + r] = sums[r * width + s];
}

const SparseKernels* SparseTable() {
  static const SparseKernels kTable = {
      .lanes = hn::Lanes(D()), .one = One, .transpose = Transpose, .block = {Block<1>, Block<2>}};
  return &kTable;
}

}  // namespace
}  // namespace bnns::impl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "core/target.h"

namespace bnns::impl {

HWY_EXPORT(SparseTable);
const SparseKernels* sparse_kernels() {
  return pick(HWY_DISPATCH_TABLE(SparseTable))();
}

}  // namespace bnns::impl
#endif
