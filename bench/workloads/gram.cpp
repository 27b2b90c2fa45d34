// The Gram layer: input data and right results.
#include "workloads/gram.h"

#include <algorithm>

#include "harness/random.h"
#include "spec/layers/gram.h"
#include "workloads/reference.h"

namespace bench {
namespace {

// Products that the reference computes: about a second. Of more, some samples are checked.
constexpr size_t kProducts = size_t{1} << 26;

Expected expected_result(const Gram& p, bool forward) {
  const size_t c = p.channels, each = c * c * p.pixels();
  const Indices samples = some_of(p.batch, std::clamp<size_t>(kProducts / each, 1, p.batch));
  const Indices x_at = positions({{p.batch, samples}, {c * p.pixels(), all_of(c * p.pixels())}});
  const Indices g_at = positions({{p.batch, samples}, {c * c, all_of(c * c)}});
  const spec::Shape image = spec::image(p.side, p.side, c);
  const spec::Shape matrix = {BNNSDataLayoutRowMajorMatrix, {c, c}};
  const Tensor x = gather(image, p.in, x_at), g = gather(matrix, p.out_delta, g_at);
  Tensors values = {.batch = samples.size(), .value = {x, g}, .delta = {x, g}};
  const spec::reference::Einsum layer(spec::gram_einsum(image, matrix, 1));
  if (forward) {
    layer.forward(values);
    return expect("out", values.value[1], p.out_delta.size(), g_at);
  }
  layer.backward(values);
  return expect("in_delta", values.delta[0], p.in.size(), x_at);
}

}  // namespace

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
  const double x = 4.0 * double(in.size()), g = 4.0 * double(out_delta.size());
  Row row{.op = op,
          .flops = 2.0 * double(in.size() * channels),
          .read_bytes = forward ? x : x + g,
          .write_bytes = forward ? g : x,
          .working_set = forward ? x + g : 2 * x + g};
  row.expected.push_back(expected_result(*this, forward));
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
