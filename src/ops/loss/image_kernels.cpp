// Kernels of image_losses.h: loops over elements, the soft-max over rows, and their table.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/loss/image_kernels.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

#include "ops/loss/image_functions-inl.h"
#include "ops/loss/rows-inl.h"
#include "ops/loss/tail-inl.h"

HWY_BEFORE_NAMESPACE();
namespace bnns::impl::HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;
using images::Constants;
using images::D;
using images::V;
using losses::ForBlocks;
using losses::RowMax;
using losses::Tail;
using losses::TotalOf;

enum class What { kLoss, kByY, kByT };

// A sum in double of the lanes of float vectors.
class WideSum {
 public:
#if HWY_TARGET == HWY_SCALAR
  using Wide = hn::Rebind<double, D>;
  HWY_INLINE void add(V v) {
    low_ = hn::Add(low_, hn::PromoteTo(Wide(), v));
  }
#else
  using Half = hn::Half<D>;
  using Wide = hn::Rebind<double, Half>;
  HWY_INLINE void add(V v) {
    low_ = hn::Add(low_, hn::PromoteTo(Wide(), hn::LowerHalf(Half(), v)));
    high_ = hn::Add(high_, hn::PromoteTo(Wide(), hn::UpperHalf(Half(), v)));
  }
#endif
  HWY_INLINE WideSum() : low_(hn::Zero(Wide())), high_(hn::Zero(Wide())) {}
  HWY_INLINE double total() const {
    return hn::GetLane(hn::SumOfLanes(Wide(), hn::Add(low_, high_)));
  }

 private:
  hn::Vec<Wide> low_, high_;
};

// Multiplies values of f by their factors, stores and adds them. load(row) and store(v, row) access
// the vector's elements of a row, counted(v) leaves out what another vector adds.
template <What kWhat>
struct Output {
  const ImageLossRows& r;
  V scale = hn::Set(D(), r.scale);
  WideSum sum = {};

  explicit HWY_INLINE Output(const ImageLossRows& rows) : r(rows) {}

  template <class Load, class Store, class Counted>
  HWY_INLINE void put(V f, const Load& load, const Store& store, const Counted& counted) {
    const V w = r.weights == nullptr ? hn::Set(D(), 1.0f) : load(r.weights);
    const auto removed = hn::Eq(w, hn::Zero(D()));
    if (r.weights != nullptr) f = hn::IfThenZeroElse(removed, hn::Mul(w, f));
    if constexpr (kWhat == What::kLoss) {
      sum.add(counted(f));
      if (r.results == nullptr) return;
    }
    const V factor = r.upstream == nullptr ? scale : hn::Mul(load(r.upstream), scale);
    store(hn::IfThenZeroElse(removed, hn::Mul(f, factor)), r.results);
  }
  HWY_INLINE double total() const { return kWhat == What::kLoss ? sum.total() : 0; }
};

template <class F, What kWhat>
HWY_INLINE V ValueOf(V y, V t, const Constants& k) {
  if constexpr (kWhat == What::kLoss) return F::loss(y, t, k);
  if constexpr (kWhat == What::kByY) return F::by_y(y, t, k);
  if constexpr (kWhat == What::kByT) return F::by_t(y, t, k);
}

template <class F, What kWhat>
double Elements(const ImageLossRows& rows, const Constants& constants) {
  const D d;
  const size_t n = rows.rows * rows.n;
  const Constants k = constants;
  const Tail tail(n);
  Output<kWhat> output(rows);
  for (size_t i = 0; i < tail.main(); i += hn::Lanes(d)) {
    const auto load = [&](const float* row) HWY_ATTR { return hn::LoadU(d, row + i); };
    output.put(
        ValueOf<F, kWhat>(load(rows.y), load(rows.t), k), load,
        [&](V v, float* row) HWY_ATTR { hn::StoreU(v, d, row + i); },
        [](V v) HWY_ATTR { return v; });
  }
  const auto load = [&](const float* row) HWY_ATTR { return tail.load(row); };
  output.put(
      ValueOf<F, kWhat>(load(rows.y), load(rows.t), k), load,
      [&](V v, float* row) HWY_ATTR { tail.store(v, row); },
      [&](V v) HWY_ATTR { return tail.counted(v); });
  return output.total();
}

// ---- Soft-max ----

// One row: z = y - max, log(softmax) = z - log(sum e^z), softmax = e^z / sum e^z.
struct Softmax {
  const float* y;
  const Tail& tail;
  D d = {};
  V y_tail = tail.load(y);
  V max = hn::Set(d, RowMax(y, tail, y_tail));
  V e_tail = ExpNonPositive(d, hn::Sub(y_tail, max));

  HWY_INLINE V z(size_t i) const { return hn::Sub(hn::LoadU(d, y + i), max); }

  // The sum of e^z; `e` receives all e^z but those of the tail, unless it is nullptr.
  HWY_INLINE double sum(float* e) const {
    V block = tail.counted(e_tail);
    double all = 0;
    ForBlocks(
        tail.main(),
        [&](size_t i) HWY_ATTR {
          const V v = ExpNonPositive(d, z(i));
          block = hn::Add(block, v);
          if (e != nullptr) hn::StoreU(v, d, e + i);
        },
        [&]() HWY_ATTR {
          all += TotalOf(block);
          block = hn::Zero(d);
        });
    return all;
  }
};

ImageLossRows RowOf(const ImageLossRows& rows, size_t r) {
  const auto at = [&](auto* row) { return row == nullptr ? nullptr : row + r * rows.n; };
  return {.y = at(rows.y),
          .t = at(rows.t),
          .weights = at(rows.weights),
          .upstream = at(rows.upstream),
          .scale = rows.scale,
          .results = at(rows.results),
          .rows = 1,
          .n = rows.n};
}

// f(log softmax, t), or with kByY f(softmax, t), of all elements of a row.
template <What kWhat>
HWY_INLINE double SoftmaxRow(const ImageLossRows& row, const Tail& tail, const Constants& k) {
  const D d;
  constexpr bool kGradient = kWhat == What::kByY;
  const Softmax softmax = {.y = row.y, .tail = tail};
  const double sum = softmax.sum(kGradient ? row.results : nullptr);
  const V inverse = hn::Set(d, static_cast<float>(1 / sum));
  const V log_sum = kGradient ? inverse : Log(d, hn::Set(d, static_cast<float>(sum)));
  const V minus_keep = hn::Set(d, -k.keep);
  const auto value = [&](V e, V z, V t) HWY_ATTR {
    const V log_softmax = hn::Sub(z, log_sum);
    if constexpr (kWhat == What::kLoss)
      return hn::Neg(images::Term(images::Smoothed(t, k), log_softmax));
    if constexpr (kWhat == What::kByT) return hn::Mul(log_softmax, minus_keep);
    return hn::MulSub(e, inverse, images::Smoothed(t, k));
  };
  Output<kWhat> output(row);
  for (size_t i = 0; i < tail.main(); i += hn::Lanes(d)) {
    const auto load = [&](const float* at) HWY_ATTR { return hn::LoadU(d, at + i); };
    const V e = kGradient ? load(row.results) : inverse;
    const V z = kGradient ? inverse : softmax.z(i);
    output.put(
        value(e, z, load(row.t)), load, [&](V v, float* at) HWY_ATTR { hn::StoreU(v, d, at + i); },
        [](V v) HWY_ATTR { return v; });
  }
  const auto load = [&](const float* at) HWY_ATTR { return tail.load(at); };
  output.put(
      value(softmax.e_tail, hn::Sub(softmax.y_tail, softmax.max), load(row.t)), load,
      [&](V v, float* at) HWY_ATTR { tail.store(v, at); },
      [&](V v) HWY_ATTR { return tail.counted(v); });
  return output.total();
}

template <What kWhat>
double SoftmaxRows(const ImageLossRows& rows, const Constants& constants) {
  const Constants k = constants;
  const Tail tail(rows.n);
  double sum = 0;
  for (size_t r = 0; r < rows.rows; ++r) sum += SoftmaxRow<kWhat>(RowOf(rows, r), tail, k);
  return sum;
}

size_t CountNonzero(const float* values, size_t n) {
  const D d;
  size_t count = 0, i = 0;
  for (; i + hn::Lanes(d) <= n; i += hn::Lanes(d))
    count += hn::CountTrue(d, hn::Ne(hn::LoadU(d, values + i), hn::Zero(d)));
  for (; i < n; ++i) count += values[i] != 0;
  return count;
}

#define OPENBNNS_IMAGE_LOSSES(what, softmax, huber, kullback_leibler)                 \
  {                                                                                   \
    Elements<AbsoluteError, what>, Elements<SquaredError, what>, softmax,             \
        Elements<SigmoidCrossEntropy, what>, Elements<CategoricalCrossEntropy, what>, \
        Elements<Hinge, what>, Elements<huber, what>, Elements<CosineDistance, what>, \
        Elements<LogLoss, what>, Elements<kullback_leibler, what>                     \
  }

const ImageKernels* ImageTable() {
  using namespace images;
  static constexpr ImageKernels kTable = {
      .loss = OPENBNNS_IMAGE_LOSSES(What::kLoss, SoftmaxRows<What::kLoss>, Huber, KullbackLeibler),
      .by_y = OPENBNNS_IMAGE_LOSSES(What::kByY, SoftmaxRows<What::kByY>, Huber, KullbackLeibler),
      .by_t = OPENBNNS_IMAGE_LOSSES(What::kByT, SoftmaxRows<What::kByT>, Huber, KullbackLeibler),
      .by_y_as_printed = OPENBNNS_IMAGE_LOSSES(What::kByY, SoftmaxRows<What::kByY>, PrintedHuber,
                                               PrintedKullbackLeibler),
      .count_nonzero = CountNonzero};
  return &kTable;
}
#undef OPENBNNS_IMAGE_LOSSES

}  // namespace
}  // namespace bnns::impl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "core/target.h"

namespace bnns::impl {

HWY_EXPORT(ImageTable);
const ImageKernels* image_kernels() {
  return pick(HWY_DISPATCH_TABLE(ImageTable))();
}

}  // namespace bnns::impl
#endif
