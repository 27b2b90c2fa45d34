// Pooling: input data and right results.
#include "workloads/pooling.h"

#include "harness/random.h"
#include "spec/layers/pooling_reference.h"
#include "workloads/reference.h"

namespace bench {
namespace {

using Layer = spec::reference::Pooling;

Layer layer_of(const Pooling& p) {
  const PoolingWindow& w = p.window;
  return {
      .function = w.max ? BNNSPoolingFunctionMax : BNNSPoolingFunctionAverageCountIncludePadding,
      .size = {.width = p.side,
               .height = p.side,
               .channels = p.channels,
               .batch = p.batch,
               .kernel = {w.kernel, w.kernel},
               .stride = {w.stride, w.stride},
               .pad = {w.pad, w.pad, w.pad, w.pad}},
      .activation = activation_of(w.fused)};
}

Tensors values_of(const Pooling& p, const Layer& layer) {
  const Tensor x = gather(layer.size.cells_shape(), p.in);
  const Tensor dy = gather(layer.size.windows_shape(), p.out_delta);
  const Tensor y = p.window.fused == Fused::kNone ? dy : gather(dy.shape(), p.out);
  return {.batch = p.batch, .value = {x, y}, .delta = {x, dy}};
}

Expected expected_out(const Pooling& p) {
  const Layer layer = layer_of(p);
  Tensors values = values_of(p, layer);
  layer.forward(values);
  return expect("out", values.value[spec::reference::kPoolOut], approximation_of(p.window.fused));
}

Expected expected_in_delta(const Pooling& p) {
  const Layer layer = layer_of(p);
  Tensors values = values_of(p, layer);
  layer.backward(values);
  return expect("in_delta", values.delta[spec::reference::kPoolIn]);
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
      out(w.fused == Fused::kNone ? 0 : out_size()) {
  Random random(31 + w.kernel);
  random.fill(in, -1, 1);
  random.fill(out_delta, -1, 1);
  fill_output(w.fused, random, out);
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
  for (const size_t side : {28, 14, 8, 7}) {
    list.push_back(pooling({true, 2, 2, 0}, 8, channels, side));
    list.push_back(pooling({false, 2, 2, 0}, 8, channels, side));
  }
  list.push_back(pooling({true, 2, 2, 0, Fused::kRelu}, 8, channels, 56));
  list.push_back(pooling({false, 3, 2, 1, Fused::kTanh}, 8, channels, 56));
  list.push_back(pooling({false, 7, 1, 0, Fused::kRelu}, 8, 8 * channels, 7));
}

}  // namespace bench
