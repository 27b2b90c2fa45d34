// Kernels of small.h. A row that is no multiple of a vector ends with a vector that overlaps the
// one before; its repeated lanes are masked out, so that nothing outside the row is touched.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/fully_connected/small.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

#include <algorithm>

#include "ops/fully_connected/small.h"
#include "ops/gemm/direct-inl.h"

HWY_BEFORE_NAMESPACE();
namespace bnns::impl::HWY_NAMESPACE {
namespace {

#if HWY_TARGET != HWY_SCALAR

namespace hn = hwy::HWY_NAMESPACE;
using gemm::D;
using gemm::V;
using Mask = hn::Mask<D>;

// Mask of the lanes of a row's last vector that no vector before it holds.
HWY_INLINE Mask RestOf(size_t size) {
  const D d;
  return hn::Not(hn::FirstN(d, hn::Lanes(d) - size % hn::Lanes(d)));
}

// ---- Forward: rows of W times x, four rows at a time ----

constexpr size_t kFour = 4;

// x, and how its vectors cover it.
struct Input {
  const float* x;
  size_t whole;  // vectors
  size_t steps;  // vectors, the partial one included
  size_t last;   // where the last vector of the row begins
  Mask rest;
};

// Sums steps [s, end) of four rows as one chain of products.
HWY_INLINE void Chain(const Input& in, const float* w, size_t row, size_t s, size_t end,
                      V (&sums)[kFour]) {
  const D d;
  for (V& sum : sums) sum = hn::Zero(d);
  const size_t whole = std::min(in.whole, end);
  for (; s < whole; ++s) {
    const size_t i = s * hn::Lanes(d);
    const V x = hn::LoadU(d, in.x + i);
    HWY_UNROLL(4)
    for (size_t y = 0; y < kFour; ++y)
      sums[y] = hn::MulAdd(x, hn::LoadU(d, w + y * row + i), sums[y]);
  }
  if (s == end) return;
  const V x = hn::IfThenElseZero(in.rest, hn::LoadU(d, in.x + in.last));
  HWY_UNROLL(4)
  for (size_t y = 0; y < kFour; ++y) {
    const V weights = hn::IfThenElseZero(in.rest, hn::LoadU(d, w + y * row + in.last));
    sums[y] = hn::MulAdd(x, weights, sums[y]);
  }
}

// Computes all rows. kMore: a row has more steps than one chain.
template <bool kMore>
HWY_INLINE void AllRows(const SmallLayer& p, const Input& in, float* y) {
  const hn::Full128<float> four;
  const size_t first = kMore ? kGemmShortChain : in.steps;
  for (size_t done = 0; done < p.out_size; done += kFour) {
    // The last four rows may overlap those before them.
    const size_t o = std::min(done, p.out_size - kFour);
    const float* w = p.w + o * p.w_row;
    V sums[kFour];
    Chain(in, w, p.w_row, 0, first, sums);
    if constexpr (kMore) {
      V lo[kFour];
      for (V& v : lo) v = hn::Zero(D());
      for (size_t s = first; s < in.steps; s += kGemmShortChain) {
        V chain[kFour];
        Chain(in, w, p.w_row, s, std::min(in.steps, s + kGemmShortChain), chain);
        HWY_UNROLL(4)
        for (size_t i = 0; i < kFour; ++i) gemm::TwoSum(sums[i], lo[i], chain[i]);
      }
      HWY_UNROLL(4)
      for (size_t i = 0; i < kFour; ++i) sums[i] = gemm::Total(sums[i], lo[i]);
    }
    auto sum = gemm::SumFour(sums[0], sums[1], sums[2], sums[3]);
    if (p.bias != nullptr) sum = hn::Add(sum, hn::LoadU(four, p.bias + o));
    hn::StoreU(sum, four, y + o);
  }
}

void Forward(const SmallLayer& given, const float* x, float* y) {
  const SmallLayer p = given;  // stores to y cannot change a local copy
  const size_t lanes = hn::Lanes(D()), whole = p.in_size / lanes;
  const Input in = {.x = x,
                    .whole = whole,
                    .steps = whole + (p.in_size % lanes != 0),
                    .last = p.in_size - lanes,
                    .rest = RestOf(p.in_size)};
  in.steps > kGemmShortChain ? AllRows<true>(p, in, y) : AllRows<false>(p, in, y);
}

// ---- Backward: columns of W in strips of kN vectors, all rows of a strip ----

// Stores the value, or adds it to the value that is there. In a vector that overlaps the one
// before, only the lanes of `rest` are added.
template <bool kRest>
HWY_INLINE void Put(float* to, bool accumulate, Mask rest, V value) {
  const D d;
  if (accumulate) {
    const V old = hn::LoadU(d, to);
    value = hn::Add(old, value);
    if constexpr (kRest) value = hn::IfThenElse(rest, value, old);
  }
  hn::StoreU(value, d, to);
}

// kN vectors of columns, in all rows.
template <size_t kN, bool kDx, bool kDw, bool kRest>
struct Strip {
  const SmallLayer& layer;
  const SmallGradients& p;
  size_t i;
  Mask rest;
  V x[kN];

  // Rows [o, o + rows): sums a chain of dx and stores the rows of dw.
  HWY_INLINE void Rows(size_t o, size_t rows, V (&sums)[kN]) const {
    const D d;
    for (V& sum : sums) sum = hn::Zero(d);
    HWY_UNROLL(4)
    for (size_t r = o; r < o + rows; ++r) {
      const V g = hn::Set(d, p.dy[r]);
      HWY_UNROLL(2)
      for (size_t n = 0; n < kN; ++n) {
        const size_t at = i + n * hn::Lanes(d);
        if constexpr (kDx)
          sums[n] = hn::MulAdd(g, hn::LoadU(d, layer.w + r * layer.w_row + at), sums[n]);
        if constexpr (kDw) {
          Put<kRest>(p.dw.data + r * layer.dw_row + at, p.dw.accumulate, rest, hn::Mul(g, x[n]));
        }
      }
    }
  }

  HWY_INLINE void Run() {
    const D d;
    for (size_t n = 0; kDw && n < kN; ++n) x[n] = hn::LoadU(d, p.x + i + n * hn::Lanes(d));
    V hi[kN], lo[kN];
    Rows(0, std::min(kGemmShortChain, layer.out_size), hi);
    for (V& v : lo) v = hn::Zero(d);
    size_t o = kGemmShortChain;
    const auto join = [&](size_t rows) HWY_ATTR {
      V sums[kN];
      Rows(o, rows, sums);
      for (size_t n = 0; kDx && n < kN; ++n) gemm::TwoSum(hi[n], lo[n], sums[n]);
    };
    for (; o + kGemmShortChain <= layer.out_size; o += kGemmShortChain) join(kGemmShortChain);
    if (o < layer.out_size) join(layer.out_size - o);
    for (size_t n = 0; kDx && n < kN; ++n) {
      Put<kRest>(p.dx.data + i + n * hn::Lanes(d), p.dx.accumulate, rest,
                 gemm::Total(hi[n], lo[n]));
    }
  }
};

template <bool kDx, bool kDw>
HWY_INLINE void Columns(const SmallLayer& layer, const SmallGradients& p) {
  const size_t lanes = hn::Lanes(D()), size = layer.in_size;
  const Mask rest = RestOf(size);
  size_t i = 0;
  for (; i + 2 * lanes <= size; i += 2 * lanes)
    Strip<2, kDx, kDw, false>{layer, p, i, rest, {}}.Run();
  for (; i + lanes <= size; i += lanes) Strip<1, kDx, kDw, false>{layer, p, i, rest, {}}.Run();
  if (i < size) Strip<1, kDx, kDw, true>{layer, p, size - lanes, rest, {}}.Run();
}

void Backward(const SmallLayer& given_layer, const SmallGradients& given) {
  const SmallLayer layer = given_layer;  // stores to the gradients cannot change local copies
  const SmallGradients p = given;
  const bool dx = p.dx.data != nullptr, dw = p.dw.data != nullptr;
  if (dx && dw) {
    Columns<true, true>(layer, p);
  } else if (dx) {
    Columns<true, false>(layer, p);
  } else if (dw) {
    Columns<false, true>(layer, p);
  }
  if (p.db.data == nullptr) return;
  const D d;
  size_t o = 0;
  for (; o + hn::Lanes(d) <= layer.out_size; o += hn::Lanes(d))
    Put<false>(p.db.data + o, p.db.accumulate, RestOf(0), hn::LoadU(d, p.dy + o));
  for (; o < layer.out_size; ++o) p.db.data[o] = (p.db.accumulate ? p.db.data[o] : 0) + p.dy[o];
}

const SmallKernels* SmallTable() {
  static constexpr SmallKernels kTable = {
      .least_in = hn::MaxLanes(D()), .least_out = kFour, .forward = Forward, .backward = Backward};
  return &kTable;
}

#else

// Without vectors there is nothing to gain over gemm.
const SmallKernels* SmallTable() {
  return nullptr;
}

#endif

}  // namespace
}  // namespace bnns::impl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "core/target.h"

namespace bnns::impl {
namespace {

// 16 KB of weights leave room in the first-level cache for a gradient of that size; g is on the
// stack.
constexpr size_t kMostWeights = 4096, kMostOut = 512;

}  // namespace

HWY_EXPORT(SmallTable);

SmallFullyConnected::SmallFullyConnected(const SmallLayer& layer, const FusedActivation& activation)
    : layer_(layer), activation_(activation), identity_(activation.is_identity()) {
  const SmallKernels* kernels = pick(HWY_DISPATCH_TABLE(SmallTable))();
  const bool fits = kernels != nullptr && layer.in_size >= kernels->least_in &&
                    layer.out_size >= kernels->least_out && layer.out_size <= kMostOut &&
                    layer.in_size <= kMostWeights / layer.out_size;
  if (fits) kernels_ = kernels;
}

void SmallFullyConnected::backward_activation(const SmallGradients& p) const {
  alignas(64) float g[kMostOut];
  activation_.multiply_by_slope(p.y, p.dy, g, layer_.out_size);
  SmallGradients known = p;
  known.dy = g;
  kernels_->backward(layer_, known);
}

}  // namespace bnns::impl
#endif
