// Gradient row kernels, and those that add gradients up.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/arithmetic/kernels_backward.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

#include <algorithm>

#include "ops/arithmetic/functions-inl.h"
#include "ops/arithmetic/kernels.h"
#include "simd/rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace bnns::impl::HWY_NAMESPACE {
namespace {

using namespace arithmetic;

void Nothing(const float*, const float*, const float*, float* d, size_t n) {
  std::fill_n(d, n, 0.0f);
}
template <class F>
void FromInput(const float* x, const float*, const float* g, float* d, size_t n) {
  MapRow(x, g, d, n, [](V a, V c) HWY_ATTR { return F::from_input(a, c); });
}
template <class F>
void FromResult(const float* y, const float*, const float* g, float* d, size_t n) {
  MapRow(y, g, d, n, [](V a, V c) HWY_ATTR { return F::from_result(a, c); });
}
template <class F>
void First(const float* a, const float* b, const float* g, float* d, size_t n) {
  MapRow(a, b, g, d, n, [](V x, V y, V c) HWY_ATTR { return F::first(x, y, c); });
}
template <class F>
void Second(const float* a, const float* b, const float* g, float* d, size_t n) {
  MapRow(a, b, g, d, n, [](V x, V y, V c) HWY_ATTR { return F::second(x, y, c); });
}
// Kernels that read one of the two inputs are not given the other.
template <>
void First<Multiply>(const float*, const float* b, const float* g, float* d, size_t n) {
  MapRow(b, g, d, n, [](V y, V c) HWY_ATTR { return Multiply::first(y, y, c); });
}
template <>
void Second<Multiply>(const float* a, const float*, const float* g, float* d, size_t n) {
  MapRow(a, g, d, n, [](V x, V c) HWY_ATTR { return Multiply::second(x, x, c); });
}
template <>
void First<Divide>(const float*, const float* b, const float* g, float* d, size_t n) {
  MapRow(b, g, d, n, [](V y, V c) HWY_ATTR { return Divide::first(y, y, c); });
}
template <>
void First<MultiplyNoNaN>(const float*, const float* b, const float* g, float* d, size_t n) {
  MapRow(b, g, d, n, [](V y, V c) HWY_ATTR { return MultiplyNoNaN::first(y, y, c); });
}
template <>
void First<DivideNoNaN>(const float*, const float* b, const float* g, float* d, size_t n) {
  MapRow(b, g, d, n, [](V y, V c) HWY_ATTR { return DivideNoNaN::first(y, y, c); });
}
template <>
void Second<Subtract>(const float*, const float*, const float* g, float* d, size_t n) {
  MapRow(g, d, n, [](V c) HWY_ATTR { return Subtract::second(c, c, c); });
}
template <>
void FromInput<Negate>(const float*, const float*, const float* g, float* d, size_t n) {
  MapRow(g, d, n, [](V c) HWY_ATTR { return Negate::from_input(c, c); });
}
void OfTrue(const float* a, const float*, const float* g, float* d, size_t n) {
  MapRow(a, g, d, n, [](V x, V c) HWY_ATTR { return Select::of_true(x, c); });
}
void OfFalse(const float* a, const float*, const float* g, float* d, size_t n) {
  MapRow(a, g, d, n, [](V x, V c) HWY_ATTR { return Select::of_false(x, c); });
}

template <class F>
constexpr BackwardArithmetic by_result() {
  return {.input = {FromInput<F>}, .from_result = FromResult<F>};
}

// Entry k is that of function k.
const BackwardArithmetic* BackwardArithmeticTable() {
  static constexpr BackwardArithmetic kTable[] = {
      /* Add */ {},
      /* Subtract */ {.input = {nullptr, Second<Subtract>}},
      /* Multiply */ {.input = {First<Multiply>, Second<Multiply>}},
      /* Divide */ {.input = {First<Divide>, Second<Divide>}},
      /* SquareRoot */ by_result<SquareRoot>(),
      /* ReciprocalSquareRoot */ by_result<ReciprocalSquareRoot>(),
      /* Ceil */ {.input = {Nothing}},
      /* Floor */ {.input = {Nothing}},
      /* Round */ {.input = {Nothing}},
      /* Sin */ {.input = {FromInput<SinFunction>}},
      /* Cos */ {.input = {FromInput<CosFunction>}},
      /* Tan */ {.input = {FromInput<TanFunction>}},
      /* Asin */ {.input = {FromInput<AsinFunction>}},
      /* Acos */ {.input = {FromInput<AcosFunction>}},
      /* Atan */ {.input = {FromInput<AtanFunction>}},
      /* Sinh */ {.input = {FromInput<SinhFunction>}},
      /* Cosh */ {.input = {FromInput<CoshFunction>}},
      /* Tanh */ by_result<TanhFunction>(),
      /* Asinh */ {.input = {FromInput<AsinhFunction>}},
      /* Acosh */ {.input = {FromInput<AcoshFunction>}},
      /* Atanh */ {.input = {FromInput<AtanhFunction>}},
      /* Pow */ {.input = {First<PowFunction>, Second<PowFunction>}},
      /* Exp */ by_result<ExpFunction>(),
      /* Exp2 */ by_result<Exp2Function>(),
      /* Log */ {.input = {FromInput<LogFunction>}},
      /* Log2 */ {.input = {FromInput<Log2Function>}},
      /* MultiplyNoNaN */ {.input = {First<MultiplyNoNaN>, Second<MultiplyNoNaN>}},
      /* DivideNoNaN */ {.input = {First<DivideNoNaN>, Second<DivideNoNaN>}},
      /* MultiplyAdd */ {.input = {First<Multiply>, Second<Multiply>, nullptr}},
      /* Minimum */ {.input = {First<Minimum>, Second<Minimum>}},
      /* Maximum */ {.input = {First<Maximum>, Second<Maximum>}},
      /* Select */ {.input = {Nothing, OfTrue, OfFalse}},
      /* Abs */ {.input = {FromInput<AbsFunction>}},
      /* Sign */ {.input = {Nothing}},
      /* Negate */ {.input = {FromInput<Negate>}},
      /* Reciprocal */ by_result<Reciprocal>(),
      /* Square */ {.input = {FromInput<Square>}},
      /* FloorDivide */ {.input = {Nothing, Nothing}},
      /* TruncDivide */ {.input = {Nothing, Nothing}},
      /* TruncRemainder */ {.input = {nullptr, Second<TruncRemainder>}},
      /* Erf */ {.input = {FromInput<ErfFunction>}}};
  static_assert(sizeof kTable / sizeof *kTable == kArithmeticFunctions);
  return kTable;
}

void AddRow(const float* g, float* d, size_t n) {
  MapRow(g, d, d, n, [](V a, V b) HWY_ATTR { return hn::Add(a, b); });
}

// Four sums per lane, so that a chain of additions is short; then the lanes one after the other.
float SumRow(const float* g, size_t n) {
  const D d;
  const size_t lanes = hn::Lanes(d);
  V s0 = None(), s1 = None(), s2 = None(), s3 = None();
  size_t i = 0;
  for (; i + 4 * lanes <= n; i += 4 * lanes) {
    s0 = hn::Add(s0, hn::LoadU(d, g + i));
    s1 = hn::Add(s1, hn::LoadU(d, g + i + lanes));
    s2 = hn::Add(s2, hn::LoadU(d, g + i + 2 * lanes));
    s3 = hn::Add(s3, hn::LoadU(d, g + i + 3 * lanes));
  }
  for (; i + lanes <= n; i += lanes) s0 = hn::Add(s0, hn::LoadU(d, g + i));
  HWY_ALIGN float parts[hn::MaxLanes(d)] = {};
  std::copy_n(g + i, n - i, parts);
  s1 = hn::Add(s1, hn::Load(d, parts));
  hn::Store(hn::Add(hn::Add(s0, s1), hn::Add(s2, s3)), d, parts);
  float sum = parts[0];
  for (size_t k = 1; k < lanes; ++k) sum += parts[k];
  return sum;
}

void Flush(float* sums, double* totals, size_t n) {
  for (size_t i = 0; i < n; ++i) {
    totals[i] += double{sums[i]};
    sums[i] = 0;
  }
}

const ArithmeticSums* ArithmeticSumsTable() {
  static constexpr ArithmeticSums kTable = {.add = AddRow, .sum = SumRow, .flush = Flush};
  return &kTable;
}

}  // namespace
}  // namespace bnns::impl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "core/target.h"

namespace bnns::impl {

HWY_EXPORT(BackwardArithmeticTable);
HWY_EXPORT(ArithmeticSumsTable);
BackwardArithmetic backward_arithmetic(BNNSArithmeticFunction function) {
  return pick(HWY_DISPATCH_TABLE(BackwardArithmeticTable))()[function];
}
ArithmeticSums arithmetic_sums() {
  return *pick(HWY_DISPATCH_TABLE(ArithmeticSumsTable))();
}

}  // namespace bnns::impl
#endif
