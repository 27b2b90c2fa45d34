// Dropout: input data, and what can be said of a result that is drawn at random.
#include "workloads/dropout.h"

#include <algorithm>
#include <cmath>

#include "harness/random.h"

namespace bench {

Dropout::Dropout(size_t count) : n(count), in(count), out_delta(count) {
  Random random(count);
  random.fill(in, 1, 2);
  random.fill(out_delta, 1, 2);
}

Row Dropout::row(const std::string& op) const {
  const double bytes = 4.0 * double(n);
  Row row{.op = op, .read_bytes = bytes, .write_bytes = bytes, .working_set = 2 * bytes};
  const double share = 1 - double(kRate);
  row.expected.push_back({.tensor = "share kept",
                          .size = 1,
                          .at = {0},
                          .value = {share},
                          .bound = {5 * std::sqrt(share * (1 - share) / double(n))}});
  row.expected.push_back(
      {.tensor = "largest error", .size = 1, .at = {0}, .value = {0}, .bound = {4e-7}});
  return row;
}

std::vector<Result> Dropout::results(const Buffer& from, const float* to) const {
  double kept = 0, error = 0;
  for (size_t i = 0; i < n; ++i) {
    if (to[i] == 0) continue;
    ++kept;
    error = std::max(error, std::abs(double(to[i]) - double(from.data()[i]) / (1 - double(kRate))));
  }
  return {{.tensor = "share kept", .value = {float(kept / double(n))}},
          {.tensor = "largest error", .value = {float(error)}}};
}

void append_dropout(std::vector<Workload>& list, bool quick) {
  const size_t n = quick ? 1 << 16 : 1 << 20;
  list.push_back(
      {.family = "dropout", .name = quick ? "64K" : "1M", .ops = {"fwd", "bwd"}, .make = [=] {
         return std::make_unique<Dropout>(n);
       }});
}

}  // namespace bench
