// The kernels of combine.h. Every sum is computed by the same operations whatever its position: its
// values are added in order, in double, and the result is rounded once.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/lookup/kernels.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

#include <cstdint>
#include <cstring>

#include "hwy/cache_control.h"
#include "ops/lookup/combine.h"

HWY_BEFORE_NAMESPACE();
namespace bnns::impl::HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;

using D = hn::ScalableTag<double>;
using F = hn::Rebind<float, D>;

// Targets without the vector loop: the emulated narrowing conversion saturates where infinity is
// needed.
#if HWY_TARGET == HWY_EMU128 || HWY_TARGET == HWY_SCALAR
constexpr bool kVectors = false;
#else
constexpr bool kVectors = true;
#endif

// kCount vectors from element i on.
template <size_t kCount>
HWY_INLINE void SumVectors(const float* rows, const int64_t* offsets, size_t count, size_t i,
                           double divisor, bool accumulate, float* table) {
  const D d;
  const F f;
  const size_t lanes = hn::Lanes(d);
  static_assert(kCount == 1 || kCount == 4);
  const auto load = [&](const float* from, size_t k)
                        HWY_ATTR { return hn::PromoteTo(d, hn::LoadU(f, from + k * lanes)); };
  const auto store = [&](auto sum, size_t k) HWY_ATTR {
    float* to = table + i + k * lanes;
    if (divisor != 1) sum = hn::Div(sum, hn::Set(d, divisor));
    if (accumulate) sum = hn::Add(load(to, 0), sum);
    hn::StoreU(hn::DemoteTo(f, sum), f, to);
  };
  const float* from = rows + offsets[0] + i;
  auto s0 = load(from, 0);
  if constexpr (kCount == 1) {
    for (size_t k = 1; k < count; ++k) s0 = hn::Add(s0, load(rows + offsets[k] + i, 0));
    store(s0, 0);
  } else {
    auto s1 = load(from, 1), s2 = load(from, 2), s3 = load(from, 3);
    for (size_t k = 1; k < count; ++k) {
      from = rows + offsets[k] + i;
      s0 = hn::Add(s0, load(from, 0));
      s1 = hn::Add(s1, load(from, 1));
      s2 = hn::Add(s2, load(from, 2));
      s3 = hn::Add(s3, load(from, 3));
    }
    store(s0, 0);
    store(s1, 1);
    store(s2, 2);
    store(s3, 3);
  }
}

void SumRows(const float* rows, const int64_t* offsets, size_t count, size_t n, double divisor,
             bool accumulate, float* table) {
  size_t i = 0;
  if constexpr (kVectors) {
    const size_t lanes = hn::Lanes(D());
    for (; i + 4 * lanes <= n; i += 4 * lanes)
      SumVectors<4>(rows, offsets, count, i, divisor, accumulate, table);
    for (; i + lanes <= n; i += lanes)
      SumVectors<1>(rows, offsets, count, i, divisor, accumulate, table);
  }
  for (; i < n; ++i) {
    double sum = double{rows[offsets[0] + static_cast<int64_t>(i)]};
    for (size_t k = 1; k < count; ++k) sum += double{rows[offsets[k] + static_cast<int64_t>(i)]};
    if (divisor != 1) sum /= divisor;
    table[i] = static_cast<float>(accumulate ? double{table[i]} + sum : sum);
  }
}

// Zeros before the first aligned vector and behind the last one are stored as usual.
void Clear(float* table, size_t n) {
  const hn::ScalableTag<float> d;
  const size_t lanes = hn::Lanes(d), bytes = lanes * sizeof(float);
  const size_t past = reinterpret_cast<uintptr_t>(table) % bytes;
  const size_t head = past == 0 ? 0 : (bytes - past) / sizeof(float);
  if (head + lanes > n) {
    std::memset(table, 0, n * sizeof(float));
    return;
  }
  std::memset(table, 0, head * sizeof(float));
  size_t i = head;
  for (; i + lanes <= n; i += lanes) hn::Stream(hn::Zero(d), d, table + i);
  std::memset(table + i, 0, (n - i) * sizeof(float));
  hwy::FlushStream();
}

const SumKernels* SumTable() {
  static constexpr SumKernels kTable = {.sum = SumRows, .clear = Clear};
  return &kTable;
}

}  // namespace
}  // namespace bnns::impl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "core/target.h"

namespace bnns::impl {
namespace {

HWY_EXPORT(SumTable);

}  // namespace

const SumKernels* sum_kernels() {
  return pick(HWY_DISPATCH_TABLE(SumTable))();
}

}  // namespace bnns::impl
#endif
