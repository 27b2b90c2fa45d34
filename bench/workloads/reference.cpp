// Parts of layers, and the way from a reference's numbers to expected values.
#include "workloads/reference.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "harness/random.h"

namespace bench {
namespace {

// Products of one part: a reference takes some nanoseconds for each.
constexpr size_t kProducts = size_t{1} << 24;

// Indices of two axes whose pairs cost `each` products, within the limit.
std::pair<Indices, Indices> some_pairs(size_t a, size_t b, size_t each) {
  const size_t limit = std::max<size_t>(kProducts / each, 1);
  size_t some_a = std::min(a, std::max<size_t>(size_t(std::sqrt(double(limit))), 1));
  const size_t some_b = std::min(b, std::max<size_t>(limit / some_a, 1));
  some_a = std::min(a, std::max<size_t>(limit / some_b, 1));
  return {some_of(a, some_a), some_of(b, some_b)};
}

}  // namespace

Indices all_of(size_t n) {
  Indices indices(n);
  std::iota(indices.begin(), indices.end(), size_t{0});
  return indices;
}

Indices some_of(size_t n, size_t count) {
  if (count >= n) return all_of(n);
  Indices indices(count);
  for (size_t i = 1; i < count; ++i) indices[i] = i * (n - 1) / (count - 1);
  return indices;
}

Indices positions(const std::vector<Axis>& axes) {
  Indices result = {0};
  for (const Axis& axis : axes) {
    Indices next;
    next.reserve(result.size() * axis.chosen.size());
    for (size_t base : result)
      for (size_t i : axis.chosen) next.push_back(base * axis.size + i);
    result = std::move(next);
  }
  return result;
}

Part SumLayer::part_for_out() const {
  auto [some_samples, some_outputs] = some_pairs(batch, outputs, inputs * products);
  return {.samples = some_samples, .inputs = all_of(inputs), .outputs = some_outputs};
}

Part SumLayer::part_for_in_delta() const {
  auto [some_samples, some_inputs] = some_pairs(batch, inputs, outputs * products);
  return {.samples = some_samples, .inputs = some_inputs, .outputs = all_of(outputs)};
}

Part SumLayer::part_for_weights_delta() const {
  auto [some_outputs, some_inputs] = some_pairs(outputs, inputs, batch * products);
  return {.samples = all_of(batch), .inputs = some_inputs, .outputs = some_outputs};
}

Tensor gather(const spec::Shape& shape, const Buffer& from, const Indices& at) {
  Tensor tensor(shape, at.size() / shape.count());
  for (size_t i = 0; i < at.size(); ++i) tensor.data()[i] = double(from.data()[at[i]]);
  return tensor;
}

Tensor gather(const spec::Shape& shape, const Buffer& from) {
  return gather(shape, from, all_of(from.size()));
}

Expected expect(const std::string& tensor, const Tensor& right, size_t size, Indices at,
                double approximation) {
  Expected e{.tensor = tensor, .size = size, .at = std::move(at), .value = {}, .bound = {}};
  const spec::ElementType float32;
  for (const spec::Bounded& v : right.data()) {
    const spec::Judgement judgement = spec::judge(float32, v, v.value);
    // Without an error only the nearest float is right.
    e.value.push_back(v.error == 0 ? judgement.expected : v.value);
    e.bound.push_back(judgement.bound +
                      (approximation > 0 ? approximation * (1 + std::abs(v.value)) : 0));
  }
  return e;
}

Expected expect(const std::string& tensor, const Tensor& right, double approximation) {
  const size_t size = right.data().size();
  return expect(tensor, right, size, all_of(size), approximation);
}

Row layer_row(const std::string& op, const LayerCost& c, const LayerResults& results) {
  const bool both = op == "fwd+bwd", backward = both || op == "bwd";
  Row row{.op = op, .working_set = c.in + c.out + c.weights, .expected = {}};
  const auto add_pass = [&](double read, double written) {
    row.flops += c.flops;
    row.read_bytes += read;
    row.write_bytes += written;
  };
  if (both || op == "fwd") {
    add_pass(c.in + c.weights, c.out);
    row.expected.push_back(results.out());
  }
  if (backward || op == "bwd_data") {
    add_pass(c.out + c.weights, c.in);
    row.expected.push_back(results.in_delta());
  }
  if (backward || op == "bwd_weights") {
    add_pass(c.in + c.out, c.weights);
    results.append_parameter_deltas(row.expected);
  }
  if (both) row.working_set *= 2;
  return row;
}

BNNSActivation activation_of(Fused f) {
  constexpr BNNSActivationFunction kFunctions[] = {
      // in the order of Fused
      BNNSActivationFunctionIdentity, BNNSActivationFunctionRectifiedLinear,
      BNNSActivationFunctionTanh};
  return {.function = kFunctions[size_t(f)]};
}

BNNSActivation activation_of(Function f) {
  constexpr BNNSActivationFunction kFunctions[] = {
      // in the order of Function
      BNNSActivationFunctionRectifiedLinear, BNNSActivationFunctionSigmoid,
      BNNSActivationFunctionTanh, BNNSActivationFunctionGELU, BNNSActivationFunctionSiLU};
  return {.function = kFunctions[size_t(f)]};
}

double approximation_of(Fused f) {
  return f == Fused::kTanh ? kApproximation : 0;
}

void fill_output(Fused f, Random& random, const Buffer& out) {
  random.fill(out, -1, 1);
  if (f != Fused::kRelu) return;
  for (size_t i = 0; i < out.size(); ++i) out.data()[i] = std::max(out.data()[i], 0.0f);
}

}  // namespace bench
