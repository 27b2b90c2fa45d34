#include "ops/movement/padding.h"

#include <algorithm>
#include <cstring>

#include "core/checked.h"
#include "core/parallel.h"
#include "ops/movement/padding_axes.h"
#include "ops/movement/rows.h"

namespace bnns::impl {
namespace {

constexpr size_t kGrain = 8192;  // values
constexpr double kNanoseconds = 0.4;

// The axes around the rows. Counts rows of the output, and knows the row of the input that each is
// a copy of.
class RowPosition {
 public:
  RowPosition(const PaddingProblem& problem, size_t row) : p_(problem) {
    for (size_t k = 1; k < p_.rank; ++k) {
      index_[k] = row % p_.axis[k].out_extent();
      row /= p_.axis[k].out_extent();
      out_ += index_[k] * p_.axis[k].out;
      enter(k);
    }
  }

  bool is_outside() const { return outside_ > 0; }
  size_t in() const { return in_; }  // if it is not outside
  size_t out() const { return out_; }

  void advance() {
    for (size_t k = 1; k < p_.rank; ++k) {
      const PaddingAxis& a = p_.axis[k];
      leave(k);
      out_ += a.out;
      const bool wraps = ++index_[k] == a.out_extent();
      if (wraps) {
        out_ -= index_[k] * a.out;
        index_[k] = 0;
      }
      enter(k);
      if (!wraps) return;
    }
  }

 private:
  void enter(size_t k) {
    const PaddingAxis& a = p_.axis[k];
    const size_t i = index_[k] - a.before;  // wraps around where it is below 0
    const bool inside = i < a.extent;
    if (!inside && p_.kind == PaddingKind::kConstant) {
      ++outside_;
      source_[k] = 0;
    } else {
      source_[k] = a.in * (inside ? i : mirrored(p_.kind, a, index_[k]));
    }
    in_ += source_[k];
  }
  void leave(size_t k) {
    const PaddingAxis& a = p_.axis[k];
    if (p_.kind == PaddingKind::kConstant && index_[k] - a.before >= a.extent) --outside_;
    in_ -= source_[k];
  }

  const PaddingProblem& p_;
  size_t index_[kMaxRank + 1] = {};
  size_t source_[kMaxRank + 1] = {};  // what each axis adds to in_
  size_t in_ = 0, out_ = 0, outside_ = 0;
};

template <class T>
void write_row(const PaddingProblem& p, const T* in, T fill, T* out) {
  const PaddingAxis& a = p.axis[0];
  if (p.kind == PaddingKind::kConstant) {
    fill_row(fill, out, a.out, a.before);
    fill_row(fill, out + (a.before + a.extent) * a.out, a.out, a.after);
  } else {
    for (size_t j = 0; j < a.before; ++j) out[j * a.out] = in[mirrored(p.kind, a, j) * a.in];
    for (size_t j = a.before + a.extent; j < a.out_extent(); ++j)
      out[j * a.out] = in[mirrored(p.kind, a, j) * a.in];
  }
  copy_row(in, a.in, out + a.before * a.out, a.out, a.extent);
}

}  // namespace

void run_padding(size_t threads, size_t bytes, const PaddingProblem& given, const void* in,
                 void* out) {
  const PaddingProblem p = simplified(given);
  const PaddingAxis& inner = p.axis[0];
  size_t rows = 1;
  for (size_t k = 1; k < p.rank; ++k) rows *= p.axis[k].out_extent();
  const size_t grain = std::max<size_t>(1, kGrain / inner.out_extent());
  const double work = kNanoseconds * static_cast<double>(rows * inner.out_extent());
  with_value_type(bytes, [&](auto type) {
    using T = decltype(type);
    T fill;
    std::memcpy(&fill, p.fill, sizeof fill);
    parallel_for(useful_threads(threads, work), div_up(rows, grain), [&](size_t g, size_t) {
      const size_t last = std::min(rows, (g + 1) * grain);
      RowPosition at(p, g * grain);
      for (size_t row = g * grain; row < last; ++row, at.advance()) {
        T* to = static_cast<T*>(out) + at.out();
        if (at.is_outside()) {
          fill_row(fill, to, inner.out, inner.out_extent());
        } else {
          write_row(p, static_cast<const T*>(in) + at.in(), fill, to);
        }
      }
    });
  });
}

}  // namespace bnns::impl
