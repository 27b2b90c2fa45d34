// The axes of a padding, and which cell of an axis a cell of its mirror images is a copy of.
#pragma once

#include <algorithm>
#include <cstddef>
#include <iterator>

#include "ops/movement/padding.h"

namespace bnns::impl {

// As few axes as possible. An axis that is not padded is joined with the next one, which may be
// padded with a constant: its cells are then that many times as large.
inline PaddingProblem simplified(const PaddingProblem& given) {
  PaddingProblem result;
  result.kind = given.kind;
  std::copy(std::begin(given.fill), std::end(given.fill), result.fill);
  for (size_t k = 0; k < given.rank; ++k) {
    const PaddingAxis& a = given.axis[k];
    if (a.out_extent() == 1) continue;
    if (result.rank > 0) {
      PaddingAxis& low = result.axis[result.rank - 1];
      const bool line = a.in == low.in * low.extent && a.out == low.out * low.extent;
      const bool allowed = given.kind == PaddingKind::kConstant || !a.is_padded();
      if (!low.is_padded() && line && allowed) {
        low.before = a.before * low.extent;
        low.after = a.after * low.extent;
        low.extent *= a.extent;
        continue;
      }
    }
    result.push(a);
  }
  if (result.rank == 0) result.push({.extent = 1, .before = 0, .after = 0, .in = 1, .out = 1});
  return result;
}

// Cells after which the images repeat.
inline size_t mirror_period(PaddingKind kind, size_t extent) {
  return kind == PaddingKind::kReflect ? 2 * (extent - 1) : 2 * extent;
}

// The element of the axis that cell j of the padded axis shows; j may be inside.
inline size_t mirrored(PaddingKind kind, const PaddingAxis& a, size_t j) {
  const size_t edge = kind == PaddingKind::kSymmetric ? 1 : 0;
  const auto extent = static_cast<ptrdiff_t>(a.extent), repeats = static_cast<ptrdiff_t>(edge);
  ptrdiff_t i = static_cast<ptrdiff_t>(j) - static_cast<ptrdiff_t>(a.before);
  // The nearest image on either side, without a division.
  if (i < 0) i = -repeats - i;
  if (i < extent) return static_cast<size_t>(i);
  if (i < 2 * extent - 2 + repeats) return static_cast<size_t>(2 * extent - 2 + repeats - i);
  const size_t period = mirror_period(kind, a.extent);
  const size_t in_period = static_cast<size_t>(i) % period;
  return in_period < a.extent ? in_period : period - edge - in_period;
}

// The cells that show element i, first every other image, which runs forwards, then those that run
// backwards.
class Images {
 public:
  Images(PaddingKind kind, const PaddingAxis& a, size_t i) : limit_(a.out_extent()) {
    if (!a.is_padded()) {
      cell_ = i;
      period_ = limit_;
      return;
    }
    period_ = mirror_period(kind, a.extent);
    cell_ = within(i + a.before, period_);
    const bool reflects = kind == PaddingKind::kReflect;
    // An edge that is not repeated belongs to both directions.
    two_ = !reflects || (i != 0 && i + 1 != a.extent);
    backwards_ = within(a.before + period_ - i - (reflects ? 0 : 1), period_);
    if (cell_ >= limit_) turn();
  }

  bool done() const { return done_; }
  size_t cell() const { return cell_; }
  void next() {
    cell_ += period_;
    if (cell_ >= limit_) turn();
  }

 private:
  // value % period, without a division where padding is not longer than the axis.
  static size_t within(size_t value, size_t period) {
    if (value >= period) value -= period;
    return value < period ? value : value % period;
  }
  void turn() {
    done_ = !two_ || backwards_ >= limit_;
    cell_ = backwards_;
    two_ = false;
  }

  size_t limit_, period_ = 1, cell_ = 0, backwards_ = 0;
  bool two_ = false, done_ = false;
};

}  // namespace bnns::impl
