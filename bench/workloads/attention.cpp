// Multi-head attention: input data and right results.
#include "workloads/attention.h"

#include <algorithm>
#include <cmath>

#include "harness/random.h"
#include "spec/layers/attention.h"
#include "workloads/reference.h"

namespace bench {
namespace {

// Products that the reference computes: about a second. Of more, some samples are checked.
constexpr size_t kProducts = size_t{1} << 26;

void append_expected(const Attention& p, bool forward, std::vector<Expected>& list) {
  const size_t sample = p.length * p.model;
  const size_t each = (forward ? 4 : 20) * sample * (p.model + p.length);
  const Indices samples = some_of(p.batch, std::clamp<size_t>(kProducts / each, 1, p.batch));
  const Indices at = positions({{p.batch, samples}, {sample, all_of(sample)}});
  const spec::AttentionSettings settings = {.target = p.length,
                                            .source = p.length,
                                            .model = p.model,
                                            .key_size = p.model,
                                            .value_size = p.model,
                                            .heads = p.heads,
                                            .key_depth = p.head_size(),
                                            .value_depth = p.head_size(),
                                            .self = true,
                                            .bias = true};
  const spec::Shape rows = settings.rows(p.length, p.model);
  const Tensor x = gather(rows, p.in, at), dy = gather(rows, p.out_delta, at);
  Tensors values = {.batch = samples.size(), .value = {x, dy}, .delta = {x, dy}};
  const auto add = [&](const Tensor& parameter) {
    values.value.push_back(parameter);
    values.delta.push_back(parameter);
  };
  // In the order of memory, the weights of heads are (column of the head, head, row).
  for (size_t i = 0; i < 3; ++i) {
    const spec::Shape shape = {BNNSDataLayout3DLastMajor, {p.head_size(), p.heads, p.model}};
    const Tensor stored = gather(shape, p.weights[i]);
    Tensor w(spec::Shape{BNNSDataLayoutMHA_DHK, {p.model, p.head_size(), p.heads}}, 1);
    for (size_t k = 0; k < p.model; ++k)
      for (size_t d = 0; d < p.head_size(); ++d)
        for (size_t h = 0; h < p.heads; ++h) w.at(0, {k, d, h}) = stored.at(0, {d, h, k});
    add(w);
  }
  add(gather(settings.rows(p.model, p.model), p.weights[3]));
  for (size_t i = 0; i < 3; ++i)
    add(gather({BNNSDataLayout2DLastMajor, {p.head_size(), p.heads}}, p.bias[i]));
  add(gather(spec::vector_of(p.model), p.bias[3]));
  const spec::reference::Attention layer(settings);
  layer.forward(values);
  list.push_back(expect("out", values.value[1], p.in.size(), at, kApproximation));
  if (forward) return;
  layer.backward(values);
  list.push_back(expect("in_delta", values.delta[0], p.in.size(), at, kApproximation));
}

}  // namespace

Attention::Attention(size_t batch_size, size_t sequence_length, size_t model_size,
                     size_t head_count)
    : batch(batch_size),
      length(sequence_length),
      model(model_size),
      heads(head_count),
      in(batch * length * model),
      out_delta(in.size()) {
  Random random(batch + length + model);
  random.fill(in, -1, 1);
  random.fill(out_delta, -1, 1);
  // Weights that leave the spread of the numbers as it is, about.
  const float limit = 1.7f / std::sqrt(float(model));
  for (size_t i = 0; i < 4; ++i) {
    weights.emplace_back(model * model);
    bias.emplace_back(model);
    random.fill(weights.back(), -limit, limit);
    random.fill(bias.back(), -limit, limit);
  }
}

Row Attention::row(const std::string& op) const {
  const bool forward = op == "fwd";
  const double rows = double(batch * length), x = 4.0 * double(in.size());
  const double w = 4.0 * 4.0 * double(model * model + model);
  Row row{
      .op = op,
      .flops = (forward ? 1.0 : 3.0) * 2.0 * rows * double(model) * double(4 * model + 2 * length),
      .read_bytes = forward ? x + w : 2 * x + w,
      .write_bytes = forward ? x : 2 * x + w,
      .working_set = forward ? 2 * x + w : 4 * x + 2 * w};
  append_expected(*this, forward, row.expected);
  return row;
}

void append_attention(std::vector<Workload>& list, bool quick) {
  struct Case {
    size_t batch, length, model, heads;
  };
  for (const Case c : {Case{4, 24, 48, 4}, {8, 128, 512, 8}}) {
    if (quick != (c.model < 512)) continue;
    list.push_back(
        {.family = "attention",
         .name = "b" + std::to_string(c.batch) + " t" + std::to_string(c.length) + " " +
                 std::to_string(c.model) + "/" + std::to_string(c.heads),
         .ops = {"fwd", "fwd+bwd"},
         .make = [=] { return std::make_unique<Attention>(c.batch, c.length, c.model, c.heads); }});
  }
}

}  // namespace bench
