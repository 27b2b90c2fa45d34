// Statistics and the map to normalized values; see kernels.h.

#if defined(OPENBNNS_OPS_NORMALIZATION_FORWARD_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef OPENBNNS_OPS_NORMALIZATION_FORWARD_INL_H_
#undef OPENBNNS_OPS_NORMALIZATION_FORWARD_INL_H_
#else
#define OPENBNNS_OPS_NORMALIZATION_FORWARD_INL_H_
#endif

#include "hwy/highway.h"
#include "ops/normalization/vectors-inl.h"
#include "ops/normalization/kernels.h"

HWY_BEFORE_NAMESPACE();
namespace bnns::impl::HWY_NAMESPACE {
namespace norm {

// Number of first values of a block whose mean stands in for the mean.
constexpr size_t kHead = 128;

// ---- Statistics ----

// Moments of one block. Deviations are taken from the mean of the first kHead values. Since these
// are part of the block, their mean differs from that of the block by at most sqrt(n / kHead)
// standard deviations, and little cancels in the result. The code computes mean - x, not x - mean,
// so that the load of x folds into the subtraction.
class BlockMoments {
 public:
  HWY_INLINE BlockMoments(const float* x, size_t n)
      // The divisions start early, where nothing waits for them.
      : count_(static_cast<double>(n)), share_(1 / count_) {
    const size_t head = HWY_MIN(kHead, n);
    const double head_share = 1 / static_cast<double>(head);
    sum_ = NoSum();
    ForVectors<4>(head, [&](auto extent, size_t i) HWY_ATTR {
      for (size_t k = 0; k < extent.kVectors; ++k)
        sum_[k] = hn::Add(sum_[k], LoadOne(extent, x + i, k));
    });
    about_ = static_cast<float>(Total(sum_) * head_share);
    from_ = hn::Set(D(), about_);
    sum_ = squares_ = NoSum();
  }
  // Adds vector k of those at x.
  template <class Extent>
  HWY_INLINE void Add(Extent extent, const float* x, size_t k) {
    const V apart = hn::Sub(from_, LoadOne(extent, x, k, about_));
    sum_[k] = hn::Add(sum_[k], apart);
    squares_[k] = hn::MulAdd(apart, apart, squares_[k]);
  }
  HWY_INLINE Moments Result() const {
    const double rest = Total(sum_) * share_;
    const double deviations = Total(squares_) - rest * rest * count_;
    return {
        .count = count_, .mean = double{about_} - rest, .squares = deviations < 0 ? 0 : deviations};
  }

 private:
  double count_, share_;
  float about_;
  V from_;
  Sum sum_, squares_;
};

inline Moments StretchMoments(const float* x, size_t n, ptrdiff_t next) {
  Moments result;
  for (size_t i = 0; i < n; i += kSumBlock) {
    const size_t size = HWY_MIN(kSumBlock, n - i);
    BlockMoments block(x + i, size);
    ForVectors<4>(size, [&](auto extent, size_t j) HWY_ATTR {
      if (next != 0) Prefetch<0>(extent, x + i + j + next);
      for (size_t k = 0; k < extent.kVectors; ++k) block.Add(extent, x + i + j, k);
    });
    result.join(block.Result());
  }
  return result;
}

// The column sums stay in registers from row to row.
inline void AddRows(const float* x, size_t rows, size_t step, float* sum, size_t n) {
  ForVectors<4>(n, [&](auto extent, size_t i) HWY_ATTR {
    auto total = Load(extent, sum + i);
    for (size_t row = 0; row < rows; ++row) {
      const auto value = Load(extent, x + row * step + i);
      for (size_t k = 0; k < extent.kVectors; ++k) total[k] = hn::Add(total[k], value[k]);
    }
    Store(extent, total, sum + i);
  });
}

inline void Deviations(const float* x, size_t rows, size_t step, const float* from, float* sum,
                       float* squares, size_t n) {
  ForVectors<4>(n, [&](auto extent, size_t i) HWY_ATTR {
    const auto about = Load(extent, from + i);
    auto total = Load(extent, sum + i), square = Load(extent, squares + i);
    for (size_t row = 0; row < rows; ++row) {
      const auto value = Load(extent, x + row * step + i);
      for (size_t k = 0; k < extent.kVectors; ++k) {
        const V apart = hn::Sub(value[k], about[k]);
        total[k] = hn::Add(total[k], apart);
        square[k] = hn::MulAdd(apart, apart, square[k]);
      }
    }
    Store(extent, total, sum + i);
    Store(extent, square, squares + i);
  });
}

inline void Flush(float* HWY_RESTRICT sum, double* HWY_RESTRICT to, size_t n) {
  for (size_t i = 0; i < n; ++i) {
    to[i] += double{sum[i]};
    sum[i] = 0;
  }
}

inline void Join(const float* HWY_RESTRICT sums, size_t count, size_t step, double* HWY_RESTRICT to,
                 size_t n) {
  for (size_t i = 0; i < n; ++i) to[i] = double{sums[i]};
  for (size_t k = 1; k < count; ++k) {
    for (size_t i = 0; i < n; ++i) to[i] += double{sums[k * step + i]};
  }
}

// ---- Maps ----

// (x - mean) inverse - low, written with mean - x so that the load of x folds into the subtraction.
HWY_INLINE V Normalized(V x, V mean, V inverse, V low) {
  return hn::NegMulSub(hn::Sub(mean, x), inverse, low);
}

HWY_INLINE V Rectified(V y) {
  return hn::IfThenZeroElse(hn::Lt(y, hn::Zero(D())), y);
}

template <Spread kSpread, bool kRectify, bool kStoreNormalized, size_t kRows>
HWY_INLINE void NormalizeRows(const NormalizeRow r, size_t first) {
  const Coefficient<kSpread == kAll> mean(r.mean), inverse(r.inverse), low(r.low);
  const Coefficient<kSpread != kNone> gamma(r.gamma), beta(r.beta);
  ForVectors<kRows == 1 ? 4 : 2>(r.n, [&](auto extent, size_t i) HWY_ATTR {
    const auto m = mean.at(extent, i), s = inverse.at(extent, i), l = low.at(extent, i);
    for (size_t row = 0; row < kRows; ++row) {
      const size_t at = (first + row) * r.step + i;
      if (kSpread == kNone && r.next != 0) {
        Prefetch<1>(extent, r.y + at + r.next);
        if constexpr (kStoreNormalized) Prefetch<1>(extent, r.normalized + at + r.next);
      }
      Vectors<decltype(extent)> normalized, y;
      for (size_t k = 0; k < extent.kVectors; ++k) {
        normalized[k] = Normalized(LoadOne(extent, r.x + at, k), m[k], s[k], l[k]);
        y[k] = hn::MulAdd(normalized[k], gamma.at(extent, i, k), beta.at(extent, i, k));
        if constexpr (kRectify) y[k] = Rectified(y[k]);
      }
      if constexpr (kStoreNormalized) Store(extent, normalized, r.normalized + at);
      Store(extent, y, r.y + at);
    }
  });
}

// With a coefficient per element, rows are taken in pairs, which share the loads of the statistics.
template <Spread kSpread, bool kRectify>
void Normalize(const NormalizeRow& row) {
  size_t k = 0;
  if constexpr (kSpread == kAll) {
    for (; k + 2 <= row.rows; k += 2) {
      if (row.normalized != nullptr) {
        NormalizeRows<kSpread, kRectify, true, 2>(row, k);
      } else {
        NormalizeRows<kSpread, kRectify, false, 2>(row, k);
      }
    }
  }
  for (; k < row.rows; ++k) {
    if (row.normalized != nullptr) {
      NormalizeRows<kSpread, kRectify, true, 1>(row, k);
    } else {
      NormalizeRows<kSpread, kRectify, false, 1>(row, k);
    }
  }
}

// Normalizes a row, whose gamma and beta start at `at`, and computes the moments of the next row in
// the same loop, so that the reads of one overlap with the writes of the other.
template <bool kRectify, bool kStoreNormalized>
HWY_INLINE Moments NormalizeBeforeNext(const NormalizeGroups& s, size_t row, size_t at,
                                       const GroupCoefficients& c) {
  const D d;
  const V mean = hn::Set(d, c.mean), inverse = hn::Set(d, c.inverse), low = hn::Set(d, c.low);
  Moments moments;
  for (size_t i = 0; i < s.n; i += kSumBlock) {
    const size_t first = row * s.n + i, n = HWY_MIN(kSumBlock, s.n - i);
    const float *x = s.x + first, *next = x + s.n;
    const float *gamma = s.gamma + at + i, *beta = s.beta + at + i;
    float *y = s.y + first, *normalized = kStoreNormalized ? s.normalized + first : nullptr;
    BlockMoments block(next, n);
    ForVectors<4>(n, [&](auto extent, size_t j) HWY_ATTR {
      for (size_t k = 0; k < extent.kVectors; ++k) {
        block.Add(extent, next + j, k);
        const V value = Normalized(LoadOne(extent, x + j, k), mean, inverse, low);
        V out = hn::MulAdd(value, LoadOne(extent, gamma + j, k), LoadOne(extent, beta + j, k));
        if constexpr (kRectify) out = Rectified(out);
        if constexpr (kStoreNormalized) StoreOne(extent, value, normalized + j, k);
        StoreOne(extent, out, y + j, k);
        CompilerBarrier();
      }
    });
    moments.join(block.Result());
  }
  return moments;
}

template <bool kRectify, bool kStoreNormalized>
HWY_INLINE void NormalizeEach(const NormalizeGroups s) {
  const auto finish = [&](size_t k, const Moments& moments) HWY_ATTR {
    const double variance = moments.squares / moments.count;
    const double inverse = inverse_deviation(variance, s.epsilon);
    s.mean[k] = moments.mean;
    s.variance[k] = variance;
    s.inverse[k] = inverse;
    return GroupCoefficients(moments.mean, inverse);
  };
  GroupCoefficients c = finish(0, StretchMoments(s.x, s.n, 0));
  for (size_t k = 0, at = s.at; k < s.rows; ++k, at = at + s.n == s.count ? 0 : at + s.n) {
    const GroupCoefficients own = c;
    if (k + 1 < s.rows) {
      c = finish(k + 1, NormalizeBeforeNext<kRectify, kStoreNormalized>(s, k, at, own));
      continue;
    }
    const size_t first = k * s.n;
    NormalizeRows<kAffine, kRectify, kStoreNormalized, 1>(
        {.x = s.x + first,
         .y = s.y + first,
         .normalized = kStoreNormalized ? s.normalized + first : nullptr,
         .n = s.n,
         .mean = &own.mean,
         .inverse = &own.inverse,
         .low = &own.low,
         .gamma = s.gamma + at,
         .beta = s.beta + at},
        0);
  }
}

template <bool kRectify>
void NormalizeOwn(const NormalizeGroups& groups) {
  groups.normalized != nullptr ? NormalizeEach<kRectify, true>(groups)
                               : NormalizeEach<kRectify, false>(groups);
}

}  // namespace norm
}  // namespace bnns::impl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
