#include "workloads/gram.h"

#include <iterator>

#include "harness/random.h"

namespace bench {

Gram::Gram(size_t batch_size, size_t channel_count, size_t in_side)
    : batch(batch_size),
      channels(channel_count),
      side(in_side),
      in(batch * channels * pixels()),
      out_delta(batch * channels * channels) {
  Random random(batch + channels + side);
  random.fill(in, -1, 1);
  random.fill(out_delta, -1, 1);
}

Row Gram::row(const std::string& op) const {
  const bool forward = op == "fwd";
  const size_t c = channels, n = pixels();
  const double x = 4.0 * double(in.size()), g = 4.0 * double(out_delta.size());
  Row row{.op = op,
          .flops = 2.0 * double(in.size() * c),
          .read_bytes = forward ? x : x + g,
          .write_bytes = forward ? g : x,
          .working_set = forward ? x + g : 2 * x + g};
  Expected all{.tensor = forward ? "out" : "in_delta", .value = {}, .bound = {}};
  std::vector<float> s(c * c);
  for (size_t b = 0; b < batch; ++b) {
    const float *image = in.data() + b * c * n, *delta = out_delta.data() + b * c * c;
    for (size_t i = 0; i < c * c; ++i) s[i] = delta[i] + delta[i % c * c + i / c];
    const Expected one = expected_product(all.tensor, {.rows = c,
                                                       .columns = forward ? c : n,
                                                       .terms = forward ? n : c,
                                                       .a = forward ? image : s.data(),
                                                       .a_row = forward ? n : c,
                                                       .a_term = 1,
                                                       .b = image,
                                                       .b_term = forward ? 1 : n,
                                                       .b_column = forward ? n : 1});
    std::copy(one.value.begin(), one.value.end(), std::back_inserter(all.value));
    std::copy(one.bound.begin(), one.bound.end(), std::back_inserter(all.bound));
  }
  row.expected.push_back(std::move(all));
  return row;
}

void append_gram(std::vector<Workload>& list, bool quick) {
  for (const size_t channels : {16, 64, 256}) {
    if (quick && channels > 64) break;
    list.push_back({.family = "gram",
                    .name = "b8 " + std::to_string(channels) + "x28x28",
                    .ops = {"fwd", "bwd"},
                    .make = [=] { return std::make_unique<Gram>(8, channels, 28); }});
  }
}

}  // namespace bench
