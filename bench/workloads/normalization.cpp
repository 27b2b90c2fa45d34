// Input data and right results of normalization, in double by plain loops. Results may be off by
// 4e-6 times the size of what they are made of, and sums of k terms by 4 sqrt(k) 2^-24 times the
// sum of the absolute terms. Where the value before the rectifier is too small for its sign to be
// certain, either side is right.
#include "workloads/normalization.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "harness/random.h"

namespace bench {
namespace {

constexpr double kElementError = 4e-6;

double rounding(size_t terms) {
  return 4 * std::sqrt(double(terms)) * 0x1p-24;
}

// Positions of the values that are normalized together, set by set.
struct Sets {
  explicit Sets(const Normalization& p)
      : count(p.by_row() ? p.batch : p.channels),
        size(p.size() / count),
        plane(p.plane()),
        step(p.channels * p.plane()),
        by_row(p.by_row()) {}
  size_t at(size_t set, size_t i) const {
    return by_row ? set * size + i : i / plane * step + set * plane + i % plane;
  }
  size_t parameter(size_t set, size_t i) const { return by_row ? i : set; }

  size_t count, size, plane, step;
  bool by_row;
};

struct Normalized {
  std::vector<double> k, inverse;
};

Normalized normalize(const Normalization& p, const Sets& sets) {
  Normalized n{.k = std::vector<double>(p.size()), .inverse = {}};
  for (size_t s = 0; s < sets.count; ++s) {
    double sum = 0, squares = 0;
    for (size_t i = 0; i < sets.size; ++i) sum += double(p.in.data()[sets.at(s, i)]);
    const double mean = sum / double(sets.size);
    for (size_t i = 0; i < sets.size; ++i) {
      const double apart = double(p.in.data()[sets.at(s, i)]) - mean;
      squares += apart * apart;
    }
    const double variance = squares / double(sets.size);
    n.inverse.push_back(1 / std::sqrt(variance + double(Normalization::kEpsilon)));
    for (size_t i = 0; i < sets.size; ++i) {
      const size_t at = sets.at(s, i);
      n.k[at] = (double(p.in.data()[at]) - mean) * n.inverse.back();
    }
  }
  return n;
}

Expected blank(const char* tensor, size_t n) {
  return {.tensor = tensor, .value = std::vector<double>(n), .bound = std::vector<double>(n)};
}

Expected forward(const Normalization& p) {
  const Sets sets(p);
  const Normalized n = normalize(p, sets);
  Expected out = blank("out", p.size());
  for (size_t s = 0; s < sets.count; ++s) {
    for (size_t i = 0; i < sets.size; ++i) {
      const size_t at = sets.at(s, i), j = sets.parameter(s, i);
      const double z = double(p.gamma.data()[j]) * n.k[at] + double(p.beta.data()[j]);
      out.value[at] = p.by_row() ? z : std::max(z, 0.0);
      out.bound[at] = (kElementError + rounding(sets.size)) * (2 + std::abs(n.k[at]));
    }
  }
  return out;
}

std::vector<Expected> backward(const Normalization& p) {
  const Sets sets(p);
  const Normalized n = normalize(p, sets);
  Expected in = blank("in_delta", p.size()), beta = blank("beta_delta", p.channels),
           gamma = blank("gamma_delta", p.channels);
  std::vector<double> g(sets.size), doubt(sets.size);
  for (size_t s = 0; s < sets.count; ++s) {
    double h = 0, hk = 0, size = 0;
    for (size_t i = 0; i < sets.size; ++i) {
      const size_t at = sets.at(s, i), j = sets.parameter(s, i);
      const double dy = double(p.out_delta.data()[at]), scale = double(p.gamma.data()[j]);
      const double z = scale * n.k[at] + double(p.beta.data()[j]);
      g[i] = p.by_row() || z > 0 ? dy : 0;
      doubt[i] = !p.by_row() && std::abs(z) < 1e-5 ? std::abs(scale * dy) : 0;
      h += scale * g[i];
      hk += scale * g[i] * n.k[at];
      const double terms = std::abs(g[i]) + doubt[i] / kElementError;
      size += std::abs(scale) * terms * (1 + std::abs(n.k[at]));
      const double error = kElementError + rounding(p.size() / p.channels);
      beta.value[j] += g[i];
      beta.bound[j] += error * terms;
      gamma.value[j] += g[i] * n.k[at];
      gamma.bound[j] += error * terms * (1 + std::abs(n.k[at]));
    }
    const double count = double(sets.size), r = n.inverse[s];
    for (size_t i = 0; i < sets.size; ++i) {
      const size_t at = sets.at(s, i);
      const double scale = double(p.gamma.data()[sets.parameter(s, i)]);
      in.value[at] = r * (scale * g[i] - h / count - n.k[at] * hk / count);
      const double terms = std::abs(scale * g[i]) + size / count * (1 + std::abs(n.k[at]));
      in.bound[at] = r * ((kElementError + rounding(sets.size)) * terms + doubt[i]);
    }
  }
  return {in, beta, gamma};
}

}  // namespace

Normalization::Normalization(size_t batch_size, size_t channel_count, size_t plane_side)
    : batch(batch_size),
      channels(channel_count),
      side(plane_side),
      in(size()),
      out_delta(size()),
      gamma(channels),
      beta(channels) {
  Random random(batch + channels + side);
  random.fill(in, -1, 2);
  random.fill(out_delta, -1, 1);
  random.fill(gamma, 0.5, 1.5);
  random.fill(beta, -0.5, 0.5);
}

Row Normalization::row(const std::string& op) const {
  const double bytes = 4.0 * double(size());
  const bool is_forward = op == "fwd";
  Row row{.op = op,
          .read_bytes = is_forward ? bytes : 2 * bytes,
          .write_bytes = bytes,
          .working_set = is_forward ? 3 * bytes : 4 * bytes};
  if (is_forward) {
    row.expected.push_back(forward(*this));
  } else {
    row.expected = backward(*this);
  }
  return row;
}

void append_normalization(std::vector<Workload>& list, bool quick) {
  const auto add = [&](const std::string& name, size_t batch, size_t channels, size_t side) {
    list.push_back({.family = "normalization", .name = name, .ops = {"fwd", "bwd"}, .make = [=] {
                      return std::make_unique<Normalization>(batch, channels, side);
                    }});
  };
  if (quick) {
    add("bn+relu b2 16x14x14", 2, 16, 14);
    add("layernorm b16 256", 16, 256, 0);
    return;
  }
  add("bn+relu b8 64x56x56", 8, 64, 56);
  add("bn+relu b32 32x28x28", 32, 32, 28);
  add("bn+relu b256 128x1x1", 256, 128, 1);
  add("layernorm b256 1024", 256, 1024, 0);
}

}  // namespace bench
