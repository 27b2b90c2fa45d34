// Normalization: input data and right results.
#include "workloads/normalization.h"

#include <cmath>
#include <string>

#include "harness/random.h"
#include "spec/layers/normalization.h"
#include "workloads/reference.h"

namespace bench {
namespace {

using Layer = spec::reference::Normalization;

Layer layer_of(const Normalization& p, Fused f) {
  return {.s = {.type = p.by_row() ? BNNSLayerNorm : BNNSBatchNorm,
                .shape = p.by_row() ? spec::vector_of(p.channels)
                                    : spec::image(p.side, p.side, p.channels),
                .epsilon = Normalization::kEpsilon,
                .activation = activation_of(f),
                .parameter = spec::vector_of(p.channels)}};
}

Tensors values_of(const Normalization& p, const Layer& layer) {
  const Tensor x = gather(layer.s.shape, p.in), dy = gather(layer.s.shape, p.out_delta);
  const Tensor beta = gather(layer.s.parameter, p.beta), gamma = gather(layer.s.parameter, p.gamma);
  return {.batch = p.batch, .value = {x, dy, beta, gamma}, .delta = {x, dy, beta, gamma}};
}

Expected forward(const Normalization& p) {
  const Layer layer = layer_of(p, p.fused());
  Tensors values = values_of(p, layer);
  layer.forward(values);
  return expect("out", values.value[spec::reference::kNormOut]);
}

std::vector<Expected> backward(const Normalization& p) {
  using namespace spec::reference;
  const Layer layer = layer_of(p, p.fused());
  Tensors values = values_of(p, layer);
  layer.forward(values);
  if (p.fused() != Fused::kNone) admit_both_sides(layer, values);
  layer.backward(values);
  return {expect("in_delta", values.delta[kNormIn]), expect("beta_delta", values.delta[kBeta]),
          expect("gamma_delta", values.delta[kGamma])};
}

}  // namespace

void admit_both_sides(const Layer& layer, Tensors& values) {
  using spec::reference::kNormOut;
  Tensors before = values;
  Layer without = layer;
  without.s.activation = activation_of(Fused::kNone);
  without.forward(before);
  for (size_t i = 0; i < before.value[kNormOut].data().size(); ++i) {
    const spec::Bounded& z = before.value[kNormOut].data()[i];
    if (std::abs(z.value) > z.error) continue;
    spec::Bounded& dy = values.delta[kNormOut].data()[i];
    values.value[kNormOut].data()[i] = z.error;  // the side whose slope is 1
    dy = {dy.value / 2, std::abs(dy.value) / 2};
  }
}

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
  add("bn+relu b8 64x28x28", 8, 64, 28);
  add("bn+relu b8 64x14x14", 8, 64, 14);
  add("bn+relu b8 64x8x8", 8, 64, 8);
  add("bn+relu b8 64x7x7", 8, 64, 7);
  add("bn+relu b32 32x28x28", 32, 32, 28);
  add("bn+relu b256 128x1x1", 256, 128, 1);
  add("layernorm b256 1024", 256, 1024, 0);
}

}  // namespace bench
