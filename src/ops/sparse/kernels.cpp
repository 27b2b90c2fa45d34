// Products of groups of eight sparse rows that advance together, one element of each row per step.
// The eight sums are independent, so that a multiply-add need not wait for the one before, and the
// number of steps is the same for all eight: no row has a remainder of its own.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/sparse/kernels.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

#include <cstring>

#include "ops/sparse/sparse.h"
#include "simd/transpose-inl.h"

HWY_BEFORE_NAMESPACE();
namespace bnns::impl::HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;
constexpr size_t kRows = kSparseGroup;
constexpr size_t kLanes = hn::MaxLanes(hn::CappedTag<float, 16>());

HWY_INLINE size_t Column(const uint64_t* pairs, size_t k) {
  return static_cast<uint32_t>(pairs[k / 2] >> (k % 2 * 32));
}

// x at columns k, k + 1, ... Loads of single floats that are joined: a gather instruction takes
// twice the time on Zen 4 (0.37 ns per element, this 0.18), and other targets have none.
template <class D>
HWY_INLINE hn::Vec<D> LoadColumns(D d, const float* x, const uint64_t* pairs, size_t k) {
#if HWY_TARGET != HWY_SCALAR
  if constexpr (hn::MaxLanes(D()) > 1) {
    const hn::Half<D> half;
    const auto lower = LoadColumns(half, x, pairs, k);
    return hn::Combine(d, LoadColumns(half, x, pairs, k + hn::MaxLanes(half)), lower);
  }
#endif
  return hn::LoadU(d, x + Column(pairs, k));
}

void Transpose(const float* x, size_t x_step, size_t samples, size_t width, size_t first, size_t n,
               float* to) {
  if (width == 1) {
    std::memcpy(to, x + first, n * sizeof(float));
    return;
  }
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

// Some elements of each row of a group.
struct Part {
  const float* value;
  const uint64_t* column;
  size_t steps;
  const uint8_t* place;
};

// Adds the products of one sample; the lanes of a vector are rows.
HWY_INLINE void AddToOne(const Part& part, const float* x, float* sums) {
  const hn::CappedTag<float, kRows> d;
  constexpr size_t kStep = hn::MaxLanes(d);
  hn::Vec<decltype(d)> sum[kRows / kStep];
  for (auto& v : sum) v = hn::Zero(d);
  const float* value = part.value;
  const uint64_t* column = part.column;
  for (size_t i = 0; i < part.steps; ++i, value += kRows, column += kRows / 2) {
    HWY_UNROLL(8)
    for (size_t k = 0; k < kRows; k += kStep) {
      const auto chosen = LoadColumns(d, x, column, k);
      sum[k / kStep] = hn::MulAdd(hn::LoadU(d, value + k), chosen, sum[k / kStep]);
    }
  }
  HWY_ALIGN float of_row[kRows];
  for (size_t k = 0; k < kRows; k += kStep) hn::Store(sum[k / kStep], d, of_row + k);
  for (size_t k = 0; k < kRows; ++k) sums[part.place[k]] += of_row[k];
}

// Adds the products of kWidth samples, whose x lie side by side; the lanes are samples.
template <size_t kWidth>
HWY_INLINE void AddToBlock(const Part& part, const float* x, float* sums) {
  constexpr size_t kStep = kWidth < kLanes ? kWidth : kLanes, kVectors = kWidth / kStep;
  const hn::CappedTag<float, kStep> d;
  using V = hn::Vec<decltype(d)>;
  V sum[kRows][kVectors];
  for (auto& of_row : sum)
    for (V& v : of_row) v = hn::Zero(d);
  const float* value = part.value;
  const uint64_t* column = part.column;
  for (size_t i = 0; i < part.steps; ++i, value += kRows, column += kRows / 2) {
    HWY_UNROLL(8)
    for (size_t r = 0; r < kRows; ++r) {
      const V factor = hn::Set(d, value[r]);
      const float* at = x + Column(column, r) * kWidth;
      HWY_UNROLL(2)
      for (size_t v = 0; v < kVectors; ++v)
        sum[r][v] = hn::MulAdd(factor, hn::LoadU(d, at + v * kStep), sum[r][v]);
    }
  }
  for (size_t r = 0; r < kRows; ++r) {
    float* to = sums + part.place[r] * kWidth;
    for (size_t v = 0; v < kVectors; ++v)
      hn::Store(hn::Add(hn::Load(d, to + v * kStep), sum[r][v]), d, to + v * kStep);
  }
}

template <size_t kWidth>
void Rows(const SparseRows& w, size_t first, size_t n, const float* x, size_t samples, float* y,
          size_t y_step) {
  constexpr size_t kTerms = 64;  // of a partial sum
  // The last group may have places without a row; their sums are not read.
  float bias[kMostSparseRows] = {};
  if (w.bias != nullptr) std::memcpy(bias, w.bias + first, n * sizeof(float));
  HWY_ALIGN float sums[kMostSparseRows * kWidth];
  const hn::CappedTag<float, kWidth> d;
  for (size_t i = 0; i < kMostSparseRows * kWidth; i += hn::MaxLanes(d))
    hn::Store(hn::Set(d, bias[i / kWidth]), d, sums + i);
  for (size_t row = first; row < first + n; row += kRows) {
    const size_t group = row / kRows, count = w.count[group];
    for (size_t j = 0; j < count; j += kTerms) {
      const size_t at = w.start[group] + j * kRows;
      const Part part = {.value = w.value + at,
                         .column = w.column + at / 2,
                         .steps = count - j < kTerms ? count - j : kTerms,
                         .place = w.place + row};
      if constexpr (kWidth == 1) {
        AddToOne(part, x, sums);
      } else {
        AddToBlock<kWidth>(part, x, sums);
      }
    }
  }
  if constexpr (kWidth == 1) {
    std::memcpy(y + first, sums, n * sizeof(float));
    return;
  }
  size_t r = 0;
#if HWY_TARGET != HWY_SCALAR
  for (; r + 4 <= n; r += 4) {
    size_t s = 0;
    for (; s + 4 <= samples; s += 4) {
      TransposeBlock(sums + r * kWidth + s, kWidth, y + s * y_step + first + r,
                     static_cast<ptrdiff_t>(y_step));
    }
    for (; s < samples; ++s)
      for (size_t k = 0; k < 4; ++k) y[s * y_step + first + r + k] = sums[(r + k) * kWidth + s];
  }
#endif
  for (; r < n; ++r)
    for (size_t s = 0; s < samples; ++s) y[s * y_step + first + r] = sums[r * kWidth + s];
}

template <size_t kWidth>
constexpr auto RowsIfUsed() -> decltype(&Rows<kWidth>) {
  if constexpr (kWidth <= 2 * kLanes && (kWidth >= 4 || kLanes == 1)) return Rows<kWidth>;
  return nullptr;
}

const SparseKernels* SparseTable() {
  static const SparseKernels kTable = {
      .most_samples = 2 * kLanes,
      .transpose = Transpose,
      .rows = {Rows<1>, RowsIfUsed<2>(), RowsIfUsed<4>(), RowsIfUsed<8>(), RowsIfUsed<16>(),
               RowsIfUsed<32>()}};
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
