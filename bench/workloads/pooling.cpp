// Pooling: input data and right results, in double by plain loops. A maximum and the gradient of
// windows that do not overlap are exact; where k values are added, 4 sqrt(k) 2^-24 of their
// absolute sum is allowed.
#include "workloads/pooling.h"

#include <cmath>

#include "harness/random.h"

namespace bench {
namespace {

double rounding(size_t terms) {
  return terms == 1 ? 0 : 4 * std::sqrt(double(terms)) * 0x1p-24;
}

// body(cell) for the cells of a window inside the plane, in the order of a scan.
template <class Body>
void for_cells(const Pooling& p, size_t X, size_t Y, const Body& body) {
  const PoolingWindow& w = p.window;
  for (size_t ky = 0; ky < w.kernel; ++ky) {
    for (size_t kx = 0; kx < w.kernel; ++kx) {
      // Before the plane these wrap around to very large numbers.
      const size_t x = X * w.stride + kx - w.pad, y = Y * w.stride + ky - w.pad;
      if (x < p.side && y < p.side) body(y * p.side + x);
    }
  }
}

size_t first_maximum(const Pooling& p, const float* plane, size_t X, size_t Y) {
  size_t best = p.side * p.side;
  for_cells(p, X, Y, [&](size_t cell) {
    if (best == p.side * p.side || plane[cell] > plane[best]) best = cell;
  });
  return best;
}

struct Sums {
  double value = 0, magnitude = 0;
  size_t terms = 0;

  void add(double v) {
    value += v;
    magnitude += std::abs(v);
    ++terms;
  }
};

void append(Expected& e, const Sums& s, bool divided) {
  e.value.push_back(s.value);
  e.bound.push_back((rounding(s.terms) + (divided ? 0x1p-22 : 0)) * s.magnitude);
}

Expected expected_out(const Pooling& p) {
  Expected e{.tensor = "out", .value = {}, .bound = {}};
  const size_t n = p.out_side();
  const double taps = double(p.window.kernel * p.window.kernel);
  for (size_t k = 0; k < p.out_size(); ++k) {
    const float* plane = p.in.data() + k / (n * n) * p.side * p.side;
    const size_t X = k % n, Y = k / n % n;
    Sums sum;
    if (p.window.max) {
      sum.add(double(plane[first_maximum(p, plane, X, Y)]));
    } else {
      for_cells(p, X, Y, [&](size_t cell) { sum.add(double(plane[cell]) / taps); });
    }
    append(e, sum, !p.window.max);
  }
  return activated(std::move(e), p.window.fused);
}

Expected expected_in_delta(const Pooling& p) {
  Expected e{.tensor = "in_delta", .value = {}, .bound = {}};
  const size_t n = p.out_side();
  const double taps = double(p.window.kernel * p.window.kernel);
  for (size_t c = 0; c < p.planes(); ++c) {
    std::vector<Sums> sums(p.side * p.side);
    for (size_t k = 0; k < n * n; ++k) {
      const Buffer& deltas = p.window.fused == Fused::kNone ? p.out_delta : p.gradient;
      const double g = double(deltas.data()[c * n * n + k]);
      const float* plane = p.in.data() + c * p.side * p.side;
      if (p.window.max) {
        sums[first_maximum(p, plane, k % n, k / n)].add(g);
      } else {
        for_cells(p, k % n, k / n, [&](size_t cell) { sums[cell].add(g / taps); });
      }
    }
    for (const Sums& s : sums) append(e, s, !p.window.max);
  }
  return e;
}

Workload pooling(const PoolingWindow& w, size_t batch, size_t channels, size_t side) {
  const auto text = [](size_t n) { return std::to_string(n); };
  std::string name = w.max ? "max " : "avg ";
  name.append(text(w.kernel)).append("x").append(text(w.kernel)).append("s").append(text(w.stride));
  if (w.pad > 0) name.append("p").append(text(w.pad));
  name.append(" b").append(text(batch)).append(" ").append(text(channels)).append("x");
  name.append(text(side)).append("x").append(text(side)).append(suffix(w.fused));
  return {.family = "pooling", .name = name, .ops = {"fwd", "bwd"}, .make = [=] {
            return std::make_unique<Pooling>(w, batch, channels, side);
          }};
}

}  // namespace

Pooling::Pooling(const PoolingWindow& w, size_t batch_size, size_t channel_count, size_t in_side)
    : window(w),
      batch(batch_size),
      channels(channel_count),
      side(in_side),
      in(in_size()),
      out_delta(out_size()),
      out(w.fused == Fused::kNone ? 0 : out_size()),
      gradient(out.size()) {
  Random random(31 + w.kernel);
  random.fill(in, -1, 1);
  random.fill(out_delta, -1, 1);
  if (w.fused != Fused::kNone) fill_fused(w.fused, expected_out(*this), out_delta, out, gradient);
}

Row Pooling::row(const std::string& op) const {
  const double x = 4.0 * double(in_size()), y = 4.0 * double(out_size());
  const double index = window.max ? double(out_size()) : 0;  // a byte would do
  const bool forward = op == "fwd";
  Row row{.op = op,
          .read_bytes = forward ? x : y + index,
          .write_bytes = forward ? y + index : x,
          .working_set = x + y + index,
          .expected = {}};
  row.expected.push_back(forward ? expected_out(*this) : expected_in_delta(*this));
  return row;
}

void append_pooling(std::vector<Workload>& list, bool quick) {
  const size_t channels = quick ? 4 : 64;
  list.push_back(pooling({true, 2, 2, 0}, 8, channels, 56));
  list.push_back(pooling({true, 3, 2, 1}, 8, channels, 56));
  list.push_back(pooling({false, 3, 2, 1}, 8, channels, 56));
  list.push_back(pooling({false, 7, 1, 0}, 8, 8 * channels, 7));
  list.push_back(pooling({true, 2, 2, 0, Fused::kRelu}, 8, channels, 56));
  list.push_back(pooling({false, 3, 2, 1, Fused::kTanh}, 8, channels, 56));
  list.push_back(pooling({false, 7, 1, 0, Fused::kRelu}, 8, 8 * channels, 7));
}

}  // namespace bench
