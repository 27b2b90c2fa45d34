// Convolution, batch normalization and a rectifier: input data and right results.
#include "workloads/fused.h"

#include <algorithm>
#include <string>

#include "harness/random.h"
#include "spec/layers/normalization.h"
#include "workloads/partial_convolution.h"

namespace bench {
namespace {

using Second = spec::reference::Normalization;

// Both layers for some of the outputs. The statistics need all samples, the sums all inputs; the
// gradient of the input needs all outputs and is checked where these are few enough.
struct PartialFused {
  explicit PartialFused(const FusedConvolution& p);
  void forward();
  void backward();

  const FusedConvolution& p;
  Indices outputs;
  PartialConvolution first;
  Second second;
  Tensors values;  // of the second layer
};

Indices some_outputs(const ConvolutionShape& s) {
  const size_t products = s.weights_size() / s.outputs * s.batch * s.out_side() * s.out_side();
  const size_t most = std::max<size_t>(1, (size_t{1} << 24) / products);
  return some_of(s.outputs, std::min(most, s.outputs));
}

PartialFused::PartialFused(const FusedConvolution& problem)
    : p(problem),
      outputs(some_outputs(p.shape())),
      first(p.convolution, {.samples = all_of(p.shape().batch),
                            .inputs = all_of(p.shape().inputs),
                            .outputs = outputs}),
      second{.s = {.type = BNNSBatchNorm,
                   .shape = spec::image(p.shape().out_side(), p.shape().out_side(), outputs.size()),
                   .epsilon = FusedConvolution::kEpsilon,
                   .activation = activation_of(Fused::kRelu),
                   .parameter = spec::vector_of(outputs.size())}} {}

void PartialFused::forward() {
  first.layer.forward(first.values);
  const Tensor &z = first.values.value[1], &dy = first.values.delta[1];
  const Tensor beta = gather(second.s.parameter, p.beta, outputs),
               gamma = gather(second.s.parameter, p.gamma, outputs);
  values = {.batch = p.shape().batch, .value = {z, z, beta, gamma}, .delta = {z, dy, beta, gamma}};
  second.forward(values);
}

void PartialFused::backward() {
  admit_both_sides(second, values);
  second.backward(values);
  first.values.delta[1] = values.delta[spec::reference::kNormIn];
  first.layer.backward(first.values);
}

}  // namespace

FusedConvolution::FusedConvolution(const ConvolutionShape& s)
    : convolution(s), gamma(s.outputs), beta(s.outputs) {
  Random random(s.batch + s.outputs);
  random.fill(gamma, 0.5, 1.5);
  random.fill(beta, -0.5, 0.5);
}

Row FusedConvolution::row(const std::string& op) const {
  using namespace spec::reference;
  const ConvolutionShape& s = shape();
  PartialFused part(*this);
  part.forward();
  const Expected out = expect("out", part.values.value[kNormOut], s.out_size(), part.first.out);
  if (op != "fwd") part.backward();
  const auto& deltas = part.first.values.delta;
  return layer_row(op,
                   {.in = 4.0 * double(s.in_size()),
                    .out = 4.0 * double(s.out_size()),
                    .weights = 4.0 * double(s.weights_size()),
                    .flops = 2.0 * double(s.out_size() * (s.weights_size() / s.outputs))},
                   {.out = [&] { return out; },
                    .in_delta =
                        [&] {
                          const bool whole = part.outputs.size() == s.outputs;
                          return whole ? expect("in_delta", deltas[0])
                                       : Expected{.tensor = "in_delta", .size = s.in_size()};
                        },
                    .append_parameter_deltas =
                        [&](std::vector<Expected>& list) {
                          const auto by_output = [&](const char* name, const Tensor& right) {
                            list.push_back(expect(name, right, s.outputs, part.outputs));
                          };
                          list.push_back(expect("weights_delta", deltas[2], s.weights_size(),
                                                part.first.weights));
                          by_output("bias_delta", deltas[3]);
                          by_output("beta_delta", part.values.delta[kBeta]);
                          by_output("gamma_delta", part.values.delta[kGamma]);
                        }});
}

void append_fused(std::vector<Workload>& list, bool quick) {
  const auto add = [&](const ConvolutionShape& s) {
    const std::string side = std::to_string(s.side);
    std::string name = "conv+bn+relu b";
    name.append(std::to_string(s.batch)).append(" ").append(std::to_string(s.inputs));
    name.append("->").append(std::to_string(s.outputs)).append(" ");
    name.append(side).append("x").append(side);
    list.push_back({.family = "fused", .name = name, .ops = {"fwd", "fwd+bwd"}, .make = [=] {
                      return std::make_unique<FusedConvolution>(s);
                    }});
  };
  if (quick)
    return add({.batch = 4, .inputs = 3, .outputs = 16, .side = 14, .kernel = 3, .pad = 1});
  add({.batch = 64, .inputs = 1, .outputs = 32, .side = 28, .kernel = 3, .pad = 1});
  add({.batch = 64, .inputs = 32, .outputs = 64, .side = 14, .kernel = 3, .pad = 1});
  add({.batch = 8, .inputs = 64, .outputs = 64, .side = 56, .kernel = 3, .pad = 1});
}

}  // namespace bench
