#include "openbnns/train/gradient_check.hpp"

#include <algorithm>
#include <cmath>

#include "train/counter_random.h"
#include "train/network/runner.h"

namespace bnns::train {
namespace {

constexpr std::size_t kBatch = 4;
constexpr float kStep = 1e-3f;

// In [-1/2, 1/2).
void fill(std::span<float> values, const CounterRandom& random, float scale) {
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = scale * (random.uniform(i) - 0.5f);
}

class Check {
 public:
  Check(Network& network, std::uint64_t seed)
      : seed_(seed), runner_(network, kBatch, 1), upstream_(runner_.output().count()) {
    impl::ParameterSet& set = network.state().parameters();
    std::vector<float> noise(set.weights().count());
    fill(noise, CounterRandom({seed, 1}), 0.2f);  // biases and betas away from 0
    std::ranges::transform(noise, set.weights().values(), set.weights().data(), std::plus<>());
    fill(runner_.input().values(), CounterRandom({seed, 2}), 2);
    const impl::ResolvedLayer& first = network.state().layers[0];
    takes_ids_ = first.kind->takes_ids;
    for (float& value : runner_.input().values()) {
      if (!takes_ids_) break;
      const auto items = static_cast<float>(first.fields.integer("items"));
      value = std::min(items - 1, std::floor((value + 1) / 2 * items));
    }
    fill(upstream_, CounterRandom({seed, 3}), 1);
  }

  std::vector<GradientCheck> run(impl::ParameterSet& set) {
    output();
    runner_.output_delta().copy_from(upstream_);
    Tensor input_delta(runner_.input().shape(), kBatch);
    runner_.backward(pass_, input_delta);
    const auto gradients = set.gradients().values();
    std::vector<GradientCheck> checks;
    if (!takes_ids_) {
      checks.push_back(compare("input", runner_.input().values(), input_delta.values()));
    }
    for (const auto& entry : set.entries()) {
      if (!entry.is_trained()) continue;
      checks.push_back(
          compare(entry.name, set.values(entry), gradients.subspan(entry.offset, entry.count)));
    }
    return checks;
  }

 private:
  // The upstream gradient times the network's output; `size_` is the same of absolute values.
  double output() {
    runner_.forward(pass_);
    double sum = 0;
    size_ = 0;
    for (std::size_t i = 0; i < upstream_.size(); ++i) {
      const double term = static_cast<double>(upstream_[i]) * runner_.output()[i];
      sum += term;
      size_ += std::abs(term);
    }
    return sum;
  }

  GradientCheck compare(const std::string& name, std::span<float> values,
                        std::span<const float> gradient) {
    const std::vector<float> kept(values.begin(), values.end());
    std::vector<float> direction(values.size());
    fill(direction, CounterRandom({seed_, 4}), 1);
    double expected = 0, terms = 0;
    for (std::size_t i = 0; i < values.size(); ++i) {
      const double term = static_cast<double>(direction[i]) * gradient[i];
      expected += term;
      terms += std::abs(term);
    }
    const auto moved = [&](float h) {
      for (std::size_t i = 0; i < values.size(); ++i) values[i] = kept[i] + h * direction[i];
      return output();
    };
    // The central difference of fourth order.
    const double measured =
        (8 * (moved(kStep) - moved(-kStep)) - (moved(2 * kStep) - moved(-2 * kStep))) /
        (12 * static_cast<double>(kStep));
    std::ranges::copy(kept, values.begin());
    // An output has an error of 1e-7 of its size; divided by the step it is 1e-4 of it.
    const double scale = terms + 0.1 * size_;
    const double error = scale == 0 ? 0 : std::abs(measured - expected) / scale;
    return {.name = name, .gradient = expected, .difference = measured, .error = error};
  }

  std::uint64_t seed_;
  impl::Pass pass_ = {.samples = kBatch, .training = true, .seed = 7};
  impl::Runner runner_;
  std::vector<float> upstream_;
  double size_ = 0;
  bool takes_ids_ = false;  // there is no gradient for ids
};

}  // namespace

std::vector<GradientCheck> check_gradients(Network network, std::uint64_t seed) {
  network.initialize(seed);
  return Check(network, seed).run(network.state().parameters());
}

}  // namespace bnns::train
