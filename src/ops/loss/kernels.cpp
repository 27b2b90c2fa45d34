// Kernels of loss.h: loops over elements, the table of row kernels, totals of weights.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/loss/kernels.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

#include "ops/loss/functions-inl.h"
#include "ops/loss/rows-inl.h"
#include "ops/loss/tail-inl.h"

HWY_BEFORE_NAMESPACE();
namespace bnns::impl::HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;
using losses::D;
using losses::kSumBlock;
using losses::Pair;
using losses::Tail;
using losses::V;

// Processes one vector of elements. kPlain: weight and scale are constant, the gradient is set, and
// there is no output per element.
template <class F, bool kLoss, bool kGradient, bool kPlain>
struct ElementStep {
  const LossElements& b;
  LossCoefficients p;
  V weight = hn::Set(D(), b.weight), scale = hn::Set(D(), b.scale);
  V factor = hn::Set(D(), b.weight* b.scale);

  // load(row) and store(v, row) access the vector's elements of a row. The loss that is returned is
  // weighted only if there are weights per element.
  template <class Load, class Store>
  HWY_INLINE V operator()(const Load& load, const Store& store, V old) const {
    const Pair pair = F::at(load(b.x), load(b.t), p);
    if constexpr (kPlain) {
      store(hn::Mul(pair.gradient, factor), b.gradient);
      return pair.loss;
    }
    V loss = pair.loss;
    const V w = b.weights == nullptr ? weight : load(b.weights);
    if constexpr (kGradient) {
      const V u = b.upstream == nullptr ? scale : load(b.upstream);
      const V g = hn::Mul(pair.gradient, hn::Mul(w, u));
      store(b.accumulate ? hn::Add(old, g) : g, b.gradient);
    }
    if constexpr (kLoss) {
      if (b.entries != nullptr) store(hn::Mul(loss, w), b.entries);
      if (b.weights != nullptr) loss = hn::Mul(loss, w);
    }
    return loss;
  }
};

template <class F, bool kLoss, bool kGradient, bool kPlain>
HWY_INLINE double ElementLoop(const LossElements& b, const LossCoefficients& p) {
  const D d;
  const size_t lanes = hn::Lanes(d);
  const Tail tail(b.n);
  const ElementStep<F, kLoss, kGradient, kPlain> step = {.b = b, .p = p};
  const bool accumulate = kGradient && !kPlain && b.accumulate;
  const V zero = hn::Zero(d);
  const V old_tail = accumulate ? tail.load(b.gradient) : zero;
  const auto at = [&](size_t i) HWY_ATTR {
    const V old = accumulate ? hn::LoadU(d, b.gradient + i) : zero;
    return step([&](const float* row) HWY_ATTR { return hn::LoadU(d, row + i); },
                [&](V v, float* row) HWY_ATTR { hn::StoreU(v, d, row + i); }, old);
  };
  double sum = 0;
  for (size_t i = 0; i < tail.main();) {
    const size_t end = HWY_MIN(tail.main(), i + kSumBlock);
    V even = zero, odd = zero;
    for (; i + 2 * lanes <= end; i += 2 * lanes) {
      even = hn::Add(even, at(i));
      odd = hn::Add(odd, at(i + lanes));
    }
    for (; i < end; i += lanes) even = hn::Add(even, at(i));
    if constexpr (kLoss) sum += double{hn::GetLane(hn::SumOfLanes(d, hn::Add(even, odd)))};
  }
  const V last = step([&](const float* row) HWY_ATTR { return tail.load(row); },
                      [&](V v, float* row) HWY_ATTR { tail.store(v, row); }, old_tail);
  if constexpr (kLoss) sum += double{hn::GetLane(hn::SumOfLanes(d, tail.counted(last)))};
  return b.weights == nullptr ? sum * b.weight : sum;
}

// Sums linear + log(1 + e). With q = (1 + e_1) (1 + e_2) ... - 1, which keeps the bits of small e,
// one log(1 + q) serves many elements.
struct LogSum {
  V linear, q;

  // Written out, because an implicit constructor would not be compiled for the target.
  HWY_INLINE LogSum() : linear(hn::Zero(D())), q(hn::Zero(D())) {}
  HWY_INLINE void add(V l, V e) {
    linear = hn::Add(linear, l);
    q = hn::MulAdd(e, hn::Add(q, hn::Set(D(), 1.0f)), q);
  }
  HWY_INLINE double total() const {
    return double{hn::GetLane(hn::SumOfLanes(D(), hn::Add(linear, Log1p(D(), q))))};
  }
};

// The loop of kPlain for losses that are split into linear + log(1 + e).
template <class F>
HWY_INLINE double LogSumLoop(const LossElements& b, const LossCoefficients& p) {
  const D d;
  const size_t lanes = hn::Lanes(d);
  const Tail tail(b.n);
  const V factor = hn::Set(d, b.weight * b.scale);
  const auto at = [&](size_t i, LogSum& sum) HWY_ATTR {
    const auto v = F::parts(hn::LoadU(d, b.x + i), hn::LoadU(d, b.t + i), p);
    hn::StoreU(hn::Mul(v.gradient, factor), d, b.gradient + i);
    sum.add(v.linear, v.e);
  };
  const auto last = F::parts(tail.load(b.x), tail.load(b.t), p);
  LogSum even, odd;
  even.add(tail.counted(last.linear), tail.counted(last.e));
  double sum = 0;
  for (size_t i = 0;;) {
    // Each sum takes at most 33 factors, which are at most 2, so that q stays finite.
    const size_t end = HWY_MIN(tail.main(), i + 64 * lanes);
    for (; i + 2 * lanes <= end; i += 2 * lanes) {
      at(i, even);
      at(i + lanes, odd);
    }
    if (i < end) {
      at(i, even);
      i += lanes;
    }
    sum += even.total() + odd.total();
    if (i >= tail.main()) break;
    even = odd = LogSum();
  }
  tail.store(hn::Mul(last.gradient, factor), b.gradient);
  return sum * b.weight;
}

template <class F>
double ElementLoss(const LossElements& b, const LossCoefficients& p) {
  const LossCoefficients local = p;
  const bool loss = b.wants_sum || b.entries != nullptr;
  const bool plain = b.weights == nullptr && b.upstream == nullptr && b.entries == nullptr &&
                     !b.accumulate && b.gradient != nullptr;
  if (!loss) return ElementLoop<F, false, true, false>(b, local);
  if (b.gradient == nullptr) return ElementLoop<F, true, false, false>(b, local);
  if constexpr (requires { &F::parts; }) {
    if (plain) return LogSumLoop<F>(b, local);
  } else {
    if (plain) return ElementLoop<F, true, true, true>(b, local);
  }
  return ElementLoop<F, true, true, false>(b, local);
}

WeightTotals TotalWeights(const float* weights, size_t n) {
  const D d;
  const size_t lanes = hn::Lanes(d);
  WeightTotals totals = {.sum = 0, .nonzero = 0};
  for (size_t first = 0; first < n; first += kSumBlock) {
    const size_t end = HWY_MIN(n, first + kSumBlock);
    V sum = hn::Zero(d);
    size_t i = first, nonzero = 0;
    for (; i + lanes <= end; i += lanes) {
      const V w = hn::LoadU(d, weights + i);
      sum = hn::Add(sum, w);
      nonzero += hn::CountTrue(d, hn::Ne(w, hn::Zero(d)));
    }
    totals.sum += double{hn::GetLane(hn::SumOfLanes(d, sum))};
    for (; i < end; ++i) {
      totals.sum += double{weights[i]};
      nonzero += weights[i] != 0;
    }
    totals.nonzero += static_cast<double>(nonzero);
  }
  return totals;
}

const LossKernels* LossTable() {
  using namespace losses;
  static constexpr LossKernels kTable = {
      .element = {nullptr, nullptr, ElementLoss<SigmoidCrossEntropy>, ElementLoss<SquareError>,
                  ElementLoss<Huber>, nullptr, ElementLoss<LogLoss>, nullptr, ElementLoss<Hinge>,
                  ElementLoss<AbsoluteError>, nullptr},
      .rows = {nullptr, SoftmaxRows<false>, nullptr, nullptr, nullptr, nullptr, nullptr, CosineRows,
               nullptr, nullptr, SoftmaxRows<true>},
      .weight_totals = TotalWeights};
  return &kTable;
}

}  // namespace
}  // namespace bnns::impl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "core/target.h"

namespace bnns::impl {

HWY_EXPORT(LossTable);
const LossKernels* loss_kernels() {
  return pick(HWY_DISPATCH_TABLE(LossTable))();
}

}  // namespace bnns::impl
#endif
