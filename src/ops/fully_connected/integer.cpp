#include "ops/fully_connected/integer.h"

#include <algorithm>

#include "core/checked.h"
#include "core/parallel.h"
#include "ops/convert/convert.h"

namespace bnns::impl {
namespace {

constexpr size_t kBlock = 128;

int64_t dot(const IntegerFullyConnected& p, const View& in, size_t sample, size_t o) {
  // Unsigned, so that an overflow of huge operands wraps instead of being undefined.
  uint64_t sum = 0;
  for (size_t i = 0; i < p.in_size; i += kBlock) {
    int64_t x[kBlock], w[kBlock];
    const size_t n = std::min(kBlock, p.in_size - i);
    read_values(in, sample * p.in_size + i, n, x);
    read_values(p.weights, o * p.in_size + i, n, w);
    for (size_t k = 0; k < n; ++k) sum += static_cast<uint64_t>(x[k]) * static_cast<uint64_t>(w[k]);
  }
  int64_t bias = 0;
  if (p.bias.data != nullptr) read_values(p.bias, o, 1, &bias);
  return static_cast<int64_t>(sum + static_cast<uint64_t>(bias));
}

}  // namespace

void run_integer_fully_connected(const IntegerFullyConnected& p, const IntegerLinear& f,
                                 size_t threads, size_t batch, const View& in, const View& out) {
  const size_t total = batch * p.out_size;
  const double work = 4.0 * static_cast<double>(total) * static_cast<double>(p.in_size);
  parallel_for(useful_threads(threads, work), div_up(total, kBlock), [&](size_t g, size_t) {
    int64_t results[kBlock];
    const size_t first = g * kBlock;
    const size_t n = std::min(kBlock, total - first);
    for (size_t k = 0; k < n; ++k) {
      const size_t o = (first + k) % p.out_size;
      const int64_t sum = dot(p, in, (first + k) / p.out_size, o);
      results[k] = integer_linear(f, o / f.plane % f.channels, sum);
    }
    write_values(out, first, n, results);
  });
}

}  // namespace bnns::impl
