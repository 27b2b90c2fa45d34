#include "train/network/runner.h"

#include <algorithm>
#include <cmath>

#include "openbnns/train/error.hpp"

namespace bnns::train::impl {
namespace {

const std::vector<ResolvedLayer>& layers_of(NetworkState& state) {
  if (state.layers.empty()) throw Error(Error::Kind::network, "network", "it has no layers");
  return state.layers;
}

Sequence sequence_of(NetworkState& state, std::size_t batch_size, std::size_t threads) {
  return Sequence(layers_of(state), state.description.input,
                  {.layers = {},
                   .parameters = state.parameters(),
                   .batch_size = batch_size,
                   .filter_parameters = {.thread_count = threads}});
}

void apply_softmax(std::span<float> row) {
  const float largest = *std::ranges::max_element(row);
  double sum = 0;
  for (float& value : row) sum += value = std::exp(value - largest);
  for (float& value : row) value = static_cast<float>(value / sum);
}

}  // namespace

Runner::Runner(Network& network, std::size_t batch_size, std::size_t threads)
    : input_(impl::shape_of(network.input_shape()), batch_size),
      output_(impl::shape_of(layers_of(network.state()).back().output), batch_size),
      output_delta_(output_.shape(), batch_size),
      sequence_(sequence_of(network.state(), batch_size, threads)) {}

void Runner::forward(const Pass& pass) {
  sequence_.forward(pass, input_, output_);
}

void Runner::backward(const Pass& pass) {
  sequence_.backward(pass, input_, output_, output_delta_, std::nullopt);
}

void Runner::backward(const Pass& pass, Tensor& input_delta) {
  sequence_.backward(pass, input_, output_, output_delta_, Descriptor(input_delta));
}

void finish_predictions(const Network& network, std::span<float> scores) {
  const std::size_t outputs = network.output_count();
  for (std::size_t at = 0; at < scores.size(); at += outputs) {
    const std::span<float> row = scores.subspan(at, outputs);
    if (network.description().output == OutputKind::softmax) {
      apply_softmax(row);
    } else {
      network.preprocessing().restore_targets(row);
    }
  }
}

std::vector<float> predict_all(Network& network, std::span<const float> samples) {
  constexpr std::size_t kBlock = 64;
  const std::size_t count = network.input_shape().count(), total = samples.size() / count,
                    outputs = network.output_count();
  Runner runner(network, std::min(kBlock, total));
  std::vector<float> results(total * outputs);
  for (std::size_t at = 0; at < total; at += kBlock) {
    const std::size_t n = std::min(kBlock, total - at);
    std::ranges::copy(samples.subspan(at * count, n * count), runner.input().data());
    runner.forward({.samples = n});
    std::copy_n(runner.output().data(), n * outputs, results.data() + at * outputs);
  }
  return results;
}

}  // namespace bnns::train::impl
