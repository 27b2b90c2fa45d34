#include "ops/activation/integer.h"

#include <algorithm>

#include "core/checked.h"
#include "core/parallel.h"
#include "ops/convert/convert.h"

namespace bnns::impl {

void run_integer_linear(const IntegerLinear& f, size_t threads, const View& x, const View& y) {
  constexpr size_t kGrain = 256;
  const size_t useful = useful_threads(threads, 2.0 * static_cast<double>(x.count));
  parallel_for(useful, div_up(x.count, kGrain), [&](size_t g, size_t) {
    int64_t values[kGrain];
    const size_t first = g * kGrain;
    const size_t n = std::min(kGrain, x.count - first);
    read_values(x, first, n, values);
    for (size_t i = 0; i < n; ++i) {
      values[i] = integer_linear(f, (first + i) / f.plane % f.channels, values[i]);
    }
    write_values(y, first, n, values);
  });
}

}  // namespace bnns::impl
