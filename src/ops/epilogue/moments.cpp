#include "ops/epilogue/moments.h"

#include <algorithm>

#include "core/checked.h"
#include "core/parallel.h"
#include "ops/normalization/column_moments.h"

namespace bnns::impl {
namespace {

// Columns of a grain: four cache lines of each row.
constexpr size_t kColumns = 64;
// Rows whose deviations are taken from one approximate mean.
constexpr size_t kRows = 256;
constexpr size_t kChannels = 64;
constexpr double kElementNanoseconds = 0.4, kJoinNanoseconds = 10;

}  // namespace

void join_column_moments(const NormalizationKernels& kernels, size_t threads, const float* x,
                         size_t rows, size_t step, size_t columns, Moments* to) {
  const double work = kElementNanoseconds * static_cast<double>(rows * columns);
  const auto body = [&](size_t grain, size_t) {
    const size_t first = grain * kColumns, n = std::min(kColumns, columns - first);
    for (size_t row = 0; row < rows; row += kRows) {
      const float* from = x + row * step + first;
      const auto visit = [&](size_t begin, size_t end, const auto& add) {
        add(from + begin * step, end - begin, step, n, 0);
      };
      normalization::column_moments(
          kernels, std::min(kRows, rows - row), n, visit,
          [&](size_t column, const Moments& part) { to[first + column].join(part); });
    }
  };
  parallel_for(useful_threads(threads, work), div_up(columns, kColumns), body);
}

void join_parts(size_t threads, const Moments* parts, size_t count, size_t channels, Moments* to) {
  const double work = kJoinNanoseconds * static_cast<double>(count * channels);
  const auto body = [&](size_t grain, size_t) {
    const size_t first = grain * kChannels, end = std::min(channels, first + kChannels);
    std::fill(to + first, to + end, Moments());
    for (size_t part = 0; part < count; ++part) {
      for (size_t c = first; c < end; ++c) to[c].join(parts[part * channels + c]);
    }
  };
  parallel_for(useful_threads(threads, work), div_up(channels, kChannels), body);
}

}  // namespace bnns::impl
