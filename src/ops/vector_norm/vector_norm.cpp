// Kernels of vector_norm.h, and the loops over whole tensors.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/vector_norm/vector_norm.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

#include "ops/vector_norm/vector_norm.h"

HWY_BEFORE_NAMESPACE();
namespace bnns::impl::HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;

// A sum has this many lanes on every target: element i is added to lane i % 16. Squares of floats
// are exact in double, so that fused and separate multiply-add give the same bits. Both together
// make the bits of a sum equal on all targets.
constexpr size_t kLanes = 16;
using D = hn::CappedTag<double, kLanes>;
using F = hn::Rebind<float, D>;
using V = hn::Vec<D>;

// Targets without the vector loops: the emulated narrowing conversion saturates where infinity is
// needed, and scalable vectors cannot be elements of arrays.
#if HWY_TARGET == HWY_EMU128 || HWY_TARGET == HWY_SCALAR || HWY_HAVE_SCALABLE
constexpr bool kVectors = false;
#else
constexpr bool kVectors = true;
#endif

double JoinLanes(double* lanes) {
  for (size_t half = kLanes / 2; half > 0; half /= 2) {
    for (size_t l = 0; l < half; ++l) lanes[l] += lanes[l + half];
  }
  return lanes[0];
}

double SumSquares(const float* x, size_t n) {
  HWY_ALIGN double lanes[kLanes] = {};
  size_t i = 0;
  if constexpr (kVectors) {
    const D d;
    const F f;
    constexpr size_t kWidth = hn::MaxLanes(d), kCount = kLanes / kWidth;
    V sums[kCount];
    for (V& sum : sums) sum = hn::Zero(d);
    for (; i + kLanes <= n; i += kLanes) {
      for (size_t k = 0; k < kCount; ++k) {
        const V v = hn::PromoteTo(d, hn::LoadU(f, x + i + k * kWidth));
        sums[k] = hn::MulAdd(v, v, sums[k]);
      }
    }
    for (size_t k = 0; k < kCount; ++k) hn::StoreU(sums[k], d, lanes + k * kWidth);
  }
  for (; i < n; ++i) lanes[i % kLanes] += double{x[i]} * double{x[i]};
  return JoinLanes(lanes);
}

void AddSquares(const float* x, double* sums, size_t n) {
  for (size_t i = 0; i < n; ++i) sums[i] += double{x[i]} * double{x[i]};
}

// factor_at(i) is the vector of factors from element i on, factor(i) the factor of one element.
// Product and sum are rounded separately in the vector loop and in the scalar tail, so that an
// element's bits do not depend on which of them computes it.
template <class FactorAt, class Factor>
HWY_INLINE void ScaleRow(const float* x, float* y, size_t n, bool accumulate,
                         const FactorAt& factor_at, const Factor& factor) {
  size_t i = 0;
  if constexpr (kVectors) {
    const D d;
    const F f;
    for (; i + hn::Lanes(d) <= n; i += hn::Lanes(d)) {
      V v = hn::Mul(hn::PromoteTo(d, hn::LoadU(f, x + i)), factor_at(i));
      if (accumulate) v = hn::Add(hn::PromoteTo(d, hn::LoadU(f, y + i)), v);
      hn::StoreU(hn::DemoteTo(f, v), f, y + i);
    }
  }
  for (; i < n; ++i) {
    const double v = double{x[i]} * factor(i);
    y[i] = static_cast<float>(accumulate ? double{y[i]} + v : v);
  }
}

void Scale(const float* x, float* y, size_t n, double factor, bool accumulate) {
  const V factors = hn::Set(D(), factor);
  ScaleRow(
      x, y, n, accumulate, [&](size_t) HWY_ATTR { return factors; },
      [&](size_t) HWY_ATTR { return factor; });
}

void ScaleEach(const float* x, float* y, size_t n, const double* factors, bool accumulate) {
  ScaleRow(
      x, y, n, accumulate, [&](size_t i) HWY_ATTR { return hn::LoadU(D(), factors + i); },
      [&](size_t i) HWY_ATTR { return factors[i]; });
}

const NormKernels* NormTable() {
  static constexpr NormKernels kTable = {.sum_squares = SumSquares,
                                         .add_squares = AddSquares,
                                         .scale = Scale,
                                         .scale_each = ScaleEach};
  return &kTable;
}

}  // namespace
}  // namespace bnns::impl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <algorithm>
#include <array>

#include "core/checked.h"
#include "core/parallel.h"
#include "core/target.h"
#include "ops/convert/blocks.h"

namespace bnns::impl {
namespace {

HWY_EXPORT(NormTable);

constexpr size_t kGrain = 16384;
constexpr size_t kMaxPartials = 256;
constexpr double kNanoseconds = 0.2;  // cost of an element in the cache

template <class Body>
void for_grains(const NormRun& run, size_t count, size_t grain, const Body& body) {
  const size_t threads = useful_threads(run.threads, kNanoseconds * static_cast<double>(count));
  parallel_for(threads, div_up(count, grain),
               [&](size_t g, size_t) { body(g, g * grain, std::min(grain, count - g * grain)); });
}

}  // namespace

const NormKernels* norm_kernels() {
  return pick(HWY_DISPATCH_TABLE(NormTable))();
}

double sum_squares_of_part(const NormRun& run, const View& x, size_t first, size_t n) {
  double sum = 0;
  for_blocks(
      *run.convert, std::array{Operand{x, Operand::kRead}}, first, n,
      [&](std::array<float*, 1> rows, size_t m) { sum += run.kernels->sum_squares(rows[0], m); });
  return sum;
}

void scale_part(const NormRun& run, double factor, const View& x, const View& y, size_t first,
                size_t n, bool accumulate) {
  const std::array<Operand, 2> operands = {
      Operand{x, Operand::kRead}, Operand{y, accumulate ? Operand::kUpdate : Operand::kWrite}};
  for_blocks(*run.convert, operands, first, n, [&](std::array<float*, 2> rows, size_t m) {
    run.kernels->scale(rows[0], rows[1], m, factor, accumulate);
  });
}

double run_sum_squares(const NormRun& run, const View& x) {
  const size_t grain = std::max(kGrain, div_up(x.count, kMaxPartials));
  double partials[kMaxPartials];
  for_grains(run, x.count, grain, [&](size_t g, size_t first, size_t n) {
    partials[g] = sum_squares_of_part(run, x, first, n);
  });
  double sum = 0;
  for (size_t g = 0; g < div_up(x.count, grain); ++g) sum += partials[g];
  return sum;
}

double clip_factor(double norm, double max_norm) {
  return norm <= max_norm ? 1 : max_norm / norm;
}

void run_scale(const NormRun& run, double factor, const View& x, const View& y) {
  if (factor == 1 && x.data == y.data) return;
  for_grains(run, x.count, kGrain, [&](size_t, size_t first, size_t n) {
    scale_part(run, factor, x, y, first, n, false);
  });
}

}  // namespace bnns::impl
#endif  // HWY_ONCE
