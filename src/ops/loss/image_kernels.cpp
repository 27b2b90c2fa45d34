// Kernels of core/image_kernels.h: loops over elements, the soft-max over rows, and their table.
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

HWY_INLINE ImageLossRows RowOf(const ImageLossRows& rows, size_t r, size_t count) {
  const auto at = [&](auto* row) { return row == nullptr ? nullptr : row + r * rows.n; };
  return {.y = at(rows.y),
          .t = at(rows.t),
          .weights = at(rows.weights),
          .upstream = at(rows.upstream),
          .scale = rows.scale,
          .results = at(rows.results),
          .rows = count,
          .n = rows.n};
}

// f of the elements of rows whose sums of e^z are given.
template <What kWhat>
struct SoftmaxValue {
  static constexpr bool kGradient = kWhat == What::kByY;
  const Constants& k;
  V inverse, log_sum;

  HWY_INLINE SoftmaxValue(const Constants& constants, V sum)
      : k(constants),
        inverse(hn::Div(hn::Set(D(), 1.0f), sum)),
        log_sum(kGradient ? sum : Log(D(), sum)) {}

  HWY_INLINE V of(V e, V z, V t) const {
    const V log_softmax = hn::Sub(z, log_sum);
    if constexpr (kWhat == What::kLoss)
      return hn::Neg(images::Term(images::Smoothed(t, k), log_softmax));
    if constexpr (kWhat == What::kByT) return hn::Mul(log_softmax, hn::Set(D(), -k.keep));
    return hn::MulSub(e, inverse, images::Smoothed(t, k));
  }
};

template <What kWhat>
HWY_INLINE double SoftmaxRow(const ImageLossRows& row, const Tail& tail, const Constants& k) {
  const D d;
  constexpr bool kGradient = kWhat == What::kByY;
  const Softmax softmax = {.y = row.y, .tail = tail};
  const double sum = softmax.sum(kGradient ? row.results : nullptr);
  const SoftmaxValue<kWhat> value(k, hn::Set(d, static_cast<float>(sum)));
  const V unused = hn::Zero(d);
  Output<kWhat> output(row);
  for (size_t i = 0; i < tail.main(); i += hn::Lanes(d)) {
    const auto load = [&](const float* at) HWY_ATTR { return hn::LoadU(d, at + i); };
    const V e = kGradient ? load(row.results) : unused;
    const V z = kGradient ? unused : softmax.z(i);
    output.put(
        value.of(e, z, load(row.t)), load,
        [&](V v, float* at) HWY_ATTR { hn::StoreU(v, d, at + i); }, [](V v) HWY_ATTR { return v; });
  }
  const auto load = [&](const float* at) HWY_ATTR { return tail.load(at); };
  output.put(
      value.of(softmax.e_tail, hn::Sub(softmax.y_tail, softmax.max), load(row.t)), load,
      [&](V v, float* at) HWY_ATTR { tail.store(v, at); },
      [&](V v) HWY_ATTR { return tail.counted(v); });
  return output.total();
}

#if HWY_TARGET != HWY_SCALAR
// Rows that are shorter than a vector: one lane for each of up to Lanes() rows, element after
// element. Lanes that are left over repeat the last row and do not count.
template <What kWhat>
HWY_INLINE double SoftmaxColumns(const ImageLossRows& rows, const Constants& k) {
  const D d;
  const hn::RebindToSigned<D> di;
  const size_t n = rows.n;
  const auto counts = hn::FirstN(d, rows.rows);
  const auto last = hn::Set(di, static_cast<int32_t>(rows.rows - 1));
  const auto row_of_lane = hn::Min(hn::Iota(di, 0), last);
  const auto at = hn::Mul(row_of_lane, hn::Set(di, static_cast<int32_t>(n)));
  const auto load = [&](const float* row, size_t c)
                        HWY_ATTR { return hn::GatherIndex(d, row + c, at); };
  V max = load(rows.y, 0);
  for (size_t c = 1; c < n; ++c) max = hn::Max(load(rows.y, c), max);
  HWY_ALIGN float es[hn::MaxLanes(d) * hn::MaxLanes(d)];
  V sum = hn::Zero(d);
  for (size_t c = 0; c < n; ++c) {
    const V e = ExpNonPositive(d, hn::Sub(load(rows.y, c), max));
    hn::Store(e, d, es + c * hn::Lanes(d));
    sum = hn::Add(sum, e);
  }
  const SoftmaxValue<kWhat> value(k, sum);
  Output<kWhat> output(rows);
  for (size_t c = 0; c < n; ++c) {
    const V e = hn::Load(d, es + c * hn::Lanes(d)), z = hn::Sub(load(rows.y, c), max);
    output.put(
        value.of(e, z, load(rows.t, c)), [&](const float* row) HWY_ATTR { return load(row, c); },
        [&](V v, float* row) HWY_ATTR { hn::ScatterIndex(v, d, row + c, at); },
        [&](V v) HWY_ATTR { return hn::IfThenElseZero(counts, v); });
  }
  return output.total();
}
#endif

template <What kWhat>
double SoftmaxRows(const ImageLossRows& rows, const Constants& constants) {
  const Constants k = constants;
  double sum = 0;
#if HWY_TARGET != HWY_SCALAR
  const size_t lanes = hn::Lanes(D());
  if (rows.n < lanes) {
    for (size_t r = 0; r < rows.rows; r += lanes)
      sum += SoftmaxColumns<kWhat>(RowOf(rows, r, HWY_MIN(lanes, rows.rows - r)), k);
    return sum;
  }
#endif
  const Tail tail(rows.n);
  for (size_t r = 0; r < rows.rows; ++r) sum += SoftmaxRow<kWhat>(RowOf(rows, r, 1), tail, k);
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
#include "ops/convert/convert.h"

namespace bnns::impl {

HWY_EXPORT(ImageTable);
const ImageKernels* image_kernels() {
  return pick(HWY_DISPATCH_TABLE(ImageTable))();
}

void convert_halves(const uint16_t* in, size_t n, float* out) {
  convert_kernels()->half_to_float(in, n, out);
}
void convert_halves(const float* in, size_t n, uint16_t* out) {
  convert_kernels()->float_to_half(in, n, out);
}

}  // namespace bnns::impl
#endif
