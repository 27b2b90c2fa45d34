// Permute and padding: input data and right results.
#include "workloads/movement.h"

#include <algorithm>

#include "harness/random.h"
#include "spec/layers/padding.h"
#include "spec/layers/permute.h"
#include "workloads/reference.h"

namespace bench {
namespace {

// The first and the last sample are checked.
template <class Layer>
Expected expected_result(const Movement& p, const spec::Shape& in, const spec::Shape& out,
                         const Layer& layer, bool forward) {
  const Indices samples = some_of(p.batch, std::min<size_t>(2, p.batch));
  const Indices x_at = positions({{p.batch, samples}, {in.count(), all_of(in.count())}});
  const Indices y_at = positions({{p.batch, samples}, {out.count(), all_of(out.count())}});
  const Tensor x = gather(in, p.in, x_at), y = gather(out, p.out_delta, y_at);
  Tensors values = {.batch = samples.size(), .value = {x, y}, .delta = {x, y}};
  if (forward) {
    layer.forward(values);
    return expect("out", values.value[1], p.out_delta.size(), y_at);
  }
  layer.backward(values);
  return expect("in_delta", values.delta[0], p.in.size(), x_at);
}

}  // namespace

Movement::Movement(Moves kind, size_t batch_size, size_t channel_count, size_t in_side,
                   size_t padding)
    : moves(kind),
      batch(batch_size),
      channels(channel_count),
      side(in_side),
      pad(padding),
      in(batch * channels * side * side),
      out_delta(batch * channels * out_side() * out_side()) {
  Random random(batch + channels + side + pad);
  random.fill(in, -1, 1);
  random.fill(out_delta, -1, 1);
}

Row Movement::row(const std::string& op) const {
  const bool forward = op == "fwd";
  const double x = 4.0 * double(in.size()), y = 4.0 * double(out_delta.size());
  Row row{.op = op,
          .flops = 0,
          .read_bytes = forward ? x : y,
          .write_bytes = forward ? y : x,
          .working_set = x + y};
  const spec::Shape image = spec::image(side, side, channels);
  if (moves == Moves::kPermute) {
    const spec::Shape turned = spec::image(channels, side, side);
    row.expected.push_back(
        expected_result(*this, image, turned, spec::reference::Permute{{2, 0, 1}}, forward));
  } else {
    const auto mode = moves == Moves::kConstant ? BNNSPaddingModeConstant : BNNSPaddingModeReflect;
    const spec::Index cells = {pad, pad, 0};
    const spec::reference::Padding layer{mode, cells, cells};
    const spec::Shape padded = spec::image(out_side(), out_side(), channels);
    row.expected.push_back(expected_result(*this, image, padded, layer, forward));
  }
  return row;
}

void append_movement(std::vector<Workload>& list, bool quick) {
  struct Shape {
    size_t batch, channels, side;
  };
  const auto add = [&](const char* name, Moves moves, const Shape& s, size_t pad) {
    list.push_back({.family = "movement", .name = name, .ops = {"fwd", "bwd"}, .make = [=] {
                      return std::make_unique<Movement>(moves, s.batch, s.channels, s.side, pad);
                    }});
  };
  constexpr Shape kSmall = {2, 8, 28}, kImages = {32, 64, 56}, kPictures = {8, 3, 224};
  add("permute nchw->nhwc b2 8x28x28", Moves::kPermute, kSmall, 0);
  add("pad 1 constant b2 8x28x28", Moves::kConstant, kSmall, 1);
  add("pad 2 reflect b2 8x28x28", Moves::kReflect, kSmall, 2);
  if (quick) return;
  add("permute nchw->nhwc b32 64x56x56", Moves::kPermute, kImages, 0);
  add("permute nchw->nhwc b8 3x224x224", Moves::kPermute, kPictures, 0);
  add("pad 1 constant b32 64x56x56", Moves::kConstant, kImages, 1);
  add("pad 2 constant b32 64x56x56", Moves::kConstant, kImages, 2);
  add("pad 1 reflect b32 64x56x56", Moves::kReflect, kImages, 1);
  add("pad 2 reflect b32 64x56x56", Moves::kReflect, kImages, 2);
}

}  // namespace bench
