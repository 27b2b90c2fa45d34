#include "ops/movement/band.h"

#include <algorithm>

#include "core/checked.h"
#include "core/parallel.h"
#include "ops/movement/rows.h"

namespace bnns::impl {
namespace {

constexpr size_t kGrain = 8192;  // values
constexpr double kNanoseconds = 0.4;

}  // namespace

void run_band(size_t threads, size_t bytes, const BandProblem& p, const void* from, void* to) {
  const MoveAxis inner = p.move.axis[0];
  const size_t count = p.move.count(), rows = count / inner.extent;
  const auto extent = static_cast<ptrdiff_t>(inner.extent);
  const size_t grain = std::max<size_t>(1, kGrain / inner.extent);
  with_value_type(bytes, [&](auto type) {
    using T = decltype(type);
    const auto run_row = [&](size_t row) {
      const auto k = static_cast<ptrdiff_t>(row % p.move.axis[1].extent);
      const T* source = static_cast<const T*>(from);
      T* target = static_cast<T*>(to);
      for (size_t a = 1; a < p.move.rank; ++a) {
        const size_t i = row % p.move.axis[a].extent;
        row /= p.move.axis[a].extent;
        source += i * p.move.axis[a].from;
        target += i * p.move.axis[a].to;
      }
      const ptrdiff_t begin = p.below < 0 ? 0 : std::clamp<ptrdiff_t>(k - p.below, 0, extent);
      const ptrdiff_t end = p.above < 0 ? extent : std::clamp(k + p.above + 1, begin, extent);
      const auto first = static_cast<size_t>(begin), last = static_cast<size_t>(end);
      fill_row(T(), target, inner.to, first);
      copy_row(source + first * inner.from, inner.from, target + first * inner.to, inner.to,
               last - first);
      fill_row(T(), target + last * inner.to, inner.to, inner.extent - last);
    };
    const double work = kNanoseconds * static_cast<double>(count);
    parallel_for(useful_threads(threads, work), div_up(rows, grain), [&](size_t g, size_t) {
      const size_t end = std::min(rows, (g + 1) * grain);
      for (size_t row = g * grain; row < end; ++row) run_row(row);
    });
  });
}

}  // namespace bnns::impl
