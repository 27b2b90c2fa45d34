// Resizing: input data and right results.
#include "workloads/resize.h"

#include <algorithm>

#include "harness/random.h"
#include "spec/layers/resize.h"
#include "workloads/reference.h"

namespace bench {
namespace {

// Planes that the reference computes; all are computed alike.
constexpr size_t kPlanes = 8;

Expected expected_result(const Resize& p, bool forward) {
  const Indices planes = some_of(p.planes(), std::min(kPlanes, p.planes()));
  const size_t cells = p.side * p.side, targets = p.out_side() * p.out_side();
  const Indices x_at = positions({{p.planes(), planes}, {cells, all_of(cells)}});
  const Indices y_at = positions({{p.planes(), planes}, {targets, all_of(targets)}});
  const Tensor x = gather(spec::image(p.side, p.side, 1), p.in, x_at);
  const Tensor dy = gather(spec::image(p.out_side(), p.out_side(), 1), p.out_delta, y_at);
  Tensors values = {.batch = planes.size(), .value = {x, dy}, .delta = {x, dy}};
  const spec::reference::Resize layer = {.linear = p.linear, .corners = false};
  if (forward) {
    layer.forward(values);
    return expect("out", values.value[1], p.out_delta.size(), y_at);
  }
  layer.backward(values);
  return expect("in_delta", values.delta[0], p.in.size(), x_at);
}

}  // namespace

Resize::Resize(bool is_linear, size_t batch_size, size_t channel_count, size_t in_side)
    : linear(is_linear),
      batch(batch_size),
      channels(channel_count),
      side(in_side),
      in(planes() * side * side),
      out_delta(planes() * out_side() * out_side()) {
  Random random(batch + channels + side);
  random.fill(in, -1, 1);
  random.fill(out_delta, -1, 1);
}

Row Resize::row(const std::string& op) const {
  const bool forward = op == "fwd";
  const double x = 4.0 * double(in.size()), y = 4.0 * double(out_delta.size());
  Row row{.op = op,
          .read_bytes = forward ? x : y,
          .write_bytes = forward ? y : x,
          .working_set = x + y,
          .expected = {}};
  row.expected.push_back(expected_result(*this, forward));
  return row;
}

void append_resize(std::vector<Workload>& list, bool quick) {
  const auto add = [&](bool linear, size_t channels, size_t side) {
    const std::string name = std::string(linear ? "linear" : "nearest") + " 2x b8 " +
                             std::to_string(channels) + "x" + std::to_string(side) + "x" +
                             std::to_string(side);
    list.push_back({.family = "resize", .name = name, .ops = {"fwd", "bwd"}, .make = [=] {
                      return std::make_unique<Resize>(linear, 8, channels, side);
                    }});
  };
  for (const bool linear : {true, false}) {
    add(linear, quick ? 4 : 64, 56);
    add(linear, 16, 14);
  }
}

}  // namespace bench
