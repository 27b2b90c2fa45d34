// Convolution: input data and right results.
#include "workloads/convolution.h"

#include <string>

#include "harness/random.h"
#include "workloads/partial_convolution.h"

namespace bench {
namespace {

size_t terms(const ConvolutionShape& s) {
  return s.inputs / s.groups * s.kernel * s.kernel + 1;
}

using Layer = spec::reference::Convolution;

// Grouped layers are small enough to be computed as a whole.
Part part_of(const ConvolutionShape& s, Part (SumLayer::*choose)() const) {
  if (s.groups > 1)
    return {.samples = all_of(s.batch), .inputs = all_of(s.inputs), .outputs = all_of(s.outputs)};
  const SumLayer layer{.batch = s.batch,
                       .inputs = s.inputs,
                       .outputs = s.outputs,
                       .products = s.kernel * s.kernel * s.out_side() * s.out_side()};
  return (layer.*choose)();
}

}  // namespace

PartialConvolution::PartialConvolution(const Convolution& p, const Part& part)
    : layer{.size = {}, .activation = activation_of(p.shape.fused)} {
  const ConvolutionShape& s = p.shape;
  const size_t in_group = s.inputs / s.groups;
  const spec::ConvolutionAxisSize axis{.large = s.side,
                                       .small = s.out_side(),
                                       .kernel = s.kernel,
                                       .stride = s.stride,
                                       .before = s.pad,
                                       .after = s.pad};
  layer.size = {.in_channels = part.inputs.size(),
                .out_channels = part.outputs.size(),
                .groups = s.groups,
                .batch = part.samples.size(),
                .x = axis,
                .y = axis};
  const Axis cells{s.side * s.side, all_of(s.side * s.side)};
  const Axis pixels{s.out_side() * s.out_side(), all_of(s.out_side() * s.out_side())};
  const Axis taps{s.kernel * s.kernel, all_of(s.kernel * s.kernel)};
  const Axis group_inputs{in_group, s.groups > 1 ? all_of(in_group) : part.inputs};
  in = positions({{s.batch, part.samples}, {s.inputs, part.inputs}, cells});
  out = positions({{s.batch, part.samples}, {s.outputs, part.outputs}, pixels});
  weights = positions({{s.outputs, part.outputs}, group_inputs, taps});

  const spec::Shape in_shape = spec::image(s.side, s.side, part.inputs.size());
  const spec::Shape out_shape = spec::image(s.out_side(), s.out_side(), part.outputs.size());
  const Tensor x = gather(in_shape, p.in, in), dy = gather(out_shape, p.out_delta, out);
  const Tensor w =
      gather(spec::convolution_weights_shape(layer.size, BNNSDataLayoutConvolutionWeightsOIHW),
             p.weights, weights);
  const Tensor b = gather(spec::vector_of(part.outputs.size()), p.bias, part.outputs);
  const Tensor y = s.fused == Fused::kNone ? Tensor(out_shape, part.samples.size())
                                           : gather(out_shape, p.out, out);
  values = {.batch = part.samples.size(), .value = {x, y, w, b}, .delta = {x, dy, w, b}};
}

namespace {

Expected expected_out(const Convolution& p) {
  PartialConvolution c(p, part_of(p.shape, &SumLayer::part_for_out));
  c.layer.forward(c.values);
  return expect("out", c.values.value[Layer::kOut], p.shape.out_size(), c.out,
                approximation_of(p.shape.fused));
}

Expected expected_in_delta(const Convolution& p) {
  PartialConvolution c(p, part_of(p.shape, &SumLayer::part_for_in_delta));
  c.layer.backward(c.values);
  return expect("in_delta", c.values.delta[Layer::kIn], p.shape.in_size(), c.in);
}

void append_parameter_deltas(const Convolution& p, std::vector<Expected>& list) {
  const Part part = part_of(p.shape, &SumLayer::part_for_weights_delta);
  PartialConvolution c(p, part);
  c.layer.backward(c.values);
  list.push_back(
      expect("weights_delta", c.values.delta[Layer::kWeights], p.shape.weights_size(), c.weights));
  list.push_back(expect("bias_delta", c.values.delta[Layer::kBias], p.shape.outputs, part.outputs));
}

std::string name_of(const ConvolutionShape& s) {
  std::string name = "b";
  name.append(std::to_string(s.batch)).append(" ");
  if (s.groups > 1) {
    name.append("dw").append(std::to_string(s.groups));
  } else {
    name.append(std::to_string(s.inputs)).append("->").append(std::to_string(s.outputs));
  }
  const std::string side = std::to_string(s.side), kernel = std::to_string(s.kernel);
  name.append(" ").append(side).append("x").append(side);
  name.append(" ").append(kernel).append("x").append(kernel);
  if (s.stride > 1) name.append("s").append(std::to_string(s.stride));
  return name + suffix(s.fused);
}

}  // namespace

Convolution::Convolution(const ConvolutionShape& s)
    : shape(s),
      in(s.in_size()),
      weights(s.weights_size()),
      bias(s.outputs),
      out_delta(s.out_size()),
      out(s.fused == Fused::kNone ? 0 : s.out_size()) {
  Random random(s.batch + 100 * s.inputs + s.outputs);
  random.fill(in, -1, 1);
  random.fill(weights, -1, 1);
  random.fill(bias, -1, 1);
  random.fill(out_delta, -1, 1);
  fill_output(s.fused, random, out);
}

Row Convolution::row(const std::string& op) const {
  return layer_row(
      op,
      {.in = 4.0 * double(in.size()),
       .out = 4.0 * double(out_delta.size()),
       .weights = 4.0 * double(weights.size()),
       .flops = 2.0 * double(shape.out_size() * (terms(shape) - 1))},
      {.out = [&] { return expected_out(*this); },
       .in_delta = [&] { return expected_in_delta(*this); },
       .append_parameter_deltas =
           [&](std::vector<Expected>& list) { append_parameter_deltas(*this, list); }});
}

void append_convolution(std::vector<Workload>& list, bool quick) {
  const ConvolutionShape shapes[] = {
      {.batch = 32, .inputs = 1, .outputs = 32, .side = 28, .kernel = 3, .pad = 1},
      {.batch = 32, .inputs = 32, .outputs = 64, .side = 14, .kernel = 3, .pad = 1},
      {.batch = 8, .inputs = 64, .outputs = 64, .side = 56, .kernel = 3, .pad = 1},
      {.batch = 8, .inputs = 256, .outputs = 256, .side = 14, .kernel = 3, .pad = 1},
      {.batch = 8, .inputs = 256, .outputs = 64, .side = 56, .kernel = 1},
      {.batch = 8, .inputs = 128, .outputs = 128, .side = 28, .kernel = 3, .pad = 1, .groups = 128},
      {.batch = 4, .inputs = 3, .outputs = 64, .side = 224, .kernel = 7, .stride = 2, .pad = 3},
      {.batch = 1, .inputs = 8, .outputs = 8, .side = 16, .kernel = 3, .pad = 1},
  };
  const auto add = [&](const ConvolutionShape& s, std::vector<std::string> ops) {
    if (quick && s.out_size() * terms(s) > 20000000) return;
    list.push_back(
        {.family = "convolution", .name = name_of(s), .ops = std::move(ops), .make = [=] {
           return std::make_unique<Convolution>(s);
         }});
  };
  for (const ConvolutionShape& s : shapes) add(s, {"fwd", "bwd_data", "bwd_weights", "fwd+bwd"});
  // Layers of real networks, with the activation they have.
  ConvolutionShape fused[] = {
      {.batch = 64, .inputs = 16, .outputs = 32, .side = 14, .kernel = 3, .pad = 1},
      {.batch = 64, .inputs = 3, .outputs = 32, .side = 32, .kernel = 3, .pad = 1},
      {.batch = 64, .inputs = 1, .outputs = 16, .side = 28, .kernel = 3, .pad = 1},
      {.batch = 64, .inputs = 32, .outputs = 64, .side = 14, .kernel = 3, .pad = 1},
      {.batch = 2, .inputs = 1, .outputs = 16, .side = 28, .kernel = 3, .pad = 1},
  };
  for (ConvolutionShape& s : fused) {
    s.fused = Fused::kRelu;
    add(s, {"fwd", "bwd"});
  }
  for (const size_t k : {0, 4}) {
    fused[k].fused = Fused::kTanh;
    add(fused[k], {"fwd", "bwd"});
  }
}

}  // namespace bench
