#include "ops/convolution/integer.h"

#include <algorithm>

#include "core/checked.h"
#include "core/parallel.h"
#include "ops/convert/convert.h"

namespace bnns::impl {
namespace {

// A block of outputs: some channels of a group, some columns of a row.
constexpr size_t kChannels = 16, kColumns = 64;
struct Block {
  size_t n, group, channel, channels;  // channel is an index over all groups
  size_t row, column, columns;
};

// Columns [first, end) of the block whose tap s is inside the image.
struct Reached {
  size_t first, end;
};

Reached reached(const ConvolutionAxis& x, size_t s, const Block& b) {
  const size_t at = s * x.dilation;
  const size_t first = x.before > at ? div_up(x.before - at, x.stride) : size_t{0};
  const size_t end =
      x.large + x.before > at ? div_up(x.large + x.before - at, x.stride) : size_t{0};
  const size_t low = std::max(first, b.column), high = std::min(end, b.column + b.columns);
  return {.first = low - b.column, .end = std::max(low, high) - b.column};
}

// Reads the inputs that tap s multiplies for the columns [first, end).
void read_inputs(const ConvolutionAxis& x, View row, size_t s, const Block& b, const Reached& r,
                 int64_t* to) {
  const size_t position = (b.column + r.first) * x.stride + s * x.dilation - x.before;
  row.data = static_cast<char*>(row.data) + position * row.stride[0] * type_bytes(row.type);
  row.stride[0] *= x.stride;
  row.extent[0] = row.count = r.end - r.first;
  read_values(row, 0, row.count, to);
}

class Runner {
 public:
  Runner(const IntegerConvolution& p, const IntegerLinear& f, const Batch& in, const Batch& out)
      : p_(p), f_(f), in_(in), out_(out), weights_(line_of(p.weights.view)) {}

  void run(const Block& b) const {
    // Unsigned, so that an overflow of huge operands wraps instead of being undefined.
    uint64_t sums[kChannels][kColumns] = {};
    const ConvolutionGeometry& g = p_.geometry;
    for (size_t r = 0; r < g.y.taps; ++r) {
      const size_t y = b.row * g.y.stride + r * g.y.dilation;
      if (y < g.y.before || y - g.y.before >= g.y.large) continue;
      for (size_t c = 0; c < g.large_channels; ++c) {
        const View row = row_view(in_, b.n, b.group * g.large_channels + c, y - g.y.before);
        for (size_t s = 0; s < g.x.taps; ++s) add_tap(b, row, c, r, s, sums);
      }
    }
    for (size_t m = 0; m < b.channels; ++m) finish(b, b.channel + m, sums[m]);
  }

 private:
  void add_tap(const Block& b, const View& row, size_t c, size_t r, size_t s,
               uint64_t (&sums)[kChannels][kColumns]) const {
    const Reached columns = reached(p_.geometry.x, s, b);
    if (columns.first >= columns.end) return;
    int64_t x[kColumns];
    read_inputs(p_.geometry.x, row, s, b, columns, x);
    const ptrdiff_t tap =
        static_cast<ptrdiff_t>(r) * p_.weights.row + static_cast<ptrdiff_t>(s) * p_.weights.column;
    for (size_t m = 0; m < b.channels; ++m) {
      const ptrdiff_t at = p_.weights.at(p_.geometry, b.channel + m, c) + tap;
      int64_t w;
      read_values(weights_, static_cast<size_t>(at), 1, &w);
      for (size_t q = columns.first; q < columns.end; ++q)
        sums[m][q] += static_cast<uint64_t>(w) * static_cast<uint64_t>(x[q - columns.first]);
    }
  }

  void finish(const Block& b, size_t channel, const uint64_t* sums) const {
    int64_t bias = 0, results[kColumns];
    if (p_.bias.data != nullptr) read_values(p_.bias, channel, 1, &bias);
    for (size_t q = 0; q < b.columns; ++q) {
      const auto sum = static_cast<int64_t>(sums[q] + static_cast<uint64_t>(bias));
      results[q] = integer_linear(f_, channel % f_.channels, sum);
    }
    write_values(row_view(out_, b.n, channel, b.row), b.column, b.columns, results);
  }

  const IntegerConvolution& p_;
  const IntegerLinear& f_;
  const Batch &in_, &out_;
  View weights_;
};

}  // namespace

void run_integer_convolution(const IntegerConvolution& p, const IntegerLinear& f, size_t threads,
                             const Batch& in, const Batch& out) {
  const ConvolutionGeometry& g = p.geometry;
  const Runner runner(p, f, in, out);
  const size_t rows = in.size * g.groups * g.y.small;
  const double products = static_cast<double>(g.x.small) * static_cast<double>(g.small_channels) *
                          static_cast<double>(g.large_channels * g.taps());
  parallel_for(useful_threads(threads, static_cast<double>(rows) * products), rows,
               [&](size_t i, size_t) {
                 const size_t group = i / g.y.small % g.groups;
                 for (size_t m = 0; m < g.small_channels; m += kChannels) {
                   for (size_t q = 0; q < g.x.small; q += kColumns) {
                     runner.run({.n = i / g.y.small / g.groups,
                                 .group = group,
                                 .channel = group * g.small_channels + m,
                                 .channels = std::min(kChannels, g.small_channels - m),
                                 .row = i % g.y.small,
                                 .column = q,
                                 .columns = std::min(kColumns, g.x.small - q)});
                   }
                 }
               });
}

}  // namespace bnns::impl
