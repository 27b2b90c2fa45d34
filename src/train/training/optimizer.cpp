#include "train/training/optimizer.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace bnns::train::impl {
namespace {

using Kind = OptimizerOptions::Kind;

float to_float(double number) {
  return static_cast<float>(number);
}

// The gradients are sums over the batch: bounds of their mean are bounds of the sums, scaled.
GradientClipping clipping_of(const OptimizerOptions& options, double scale) {
  if (options.clip_norm > 0) {
    return clipping::ByGlobalNorm{.threshold = to_float(options.clip_norm / scale)};
  }
  if (options.clip_value > 0) {
    const float bound = to_float(options.clip_value / scale);
    return clipping::ByValue{.lower = -bound, .upper = bound};
  }
  return clipping::None{};
}

template <typename Rule>
void set_common(Rule& rule, const OptimizerOptions& options, double scale) {
  rule.gradient_scale = to_float(scale);
  rule.gradient_clipping = clipping_of(options, scale);
  if constexpr (requires { rule.regularization_function; }) {
    if (options.weight_decay > 0) {
      rule.regularization_function = RegularizationFunction::l2;
      rule.regularization_scale = to_float(options.weight_decay);
    }
  }
}

AdamOptimizer adam_of(const OptimizerOptions& options) {
  return {.beta1 = to_float(options.beta1),
          .beta2 = to_float(options.beta2),
          .epsilon = to_float(options.epsilon)};
}

AdamWOptimizer adamw_of(const OptimizerOptions& options) {
  return {.beta1 = to_float(options.beta1),
          .beta2 = to_float(options.beta2),
          .epsilon = to_float(options.epsilon),
          .weight_decay = to_float(options.weight_decay)};
}

RMSPropOptimizer rmsprop_of(const OptimizerOptions& options) {
  return {.alpha = to_float(options.alpha),
          .epsilon = to_float(options.epsilon),
          .momentum = to_float(options.momentum)};
}

SGDMomentumOptimizer sgd_of(const OptimizerOptions& options, double rate) {
  return {.learning_rate = to_float(rate),
          .momentum = to_float(options.momentum),
          .uses_nesterov_momentum = options.nesterov,
          .sgd_momentum_variant = SGDMomentumVariant::variant1};
}

std::size_t moments_of(const OptimizerOptions& options) {
  switch (options.kind) {
    case Kind::rmsprop:
      return rmsprop_of(options).accumulator_count_multiplier();
    case Kind::sgd:
      return options.momentum == 0 ? 0 : 1;
    default:
      return 2;
  }
}

}  // namespace

double learning_rate(const TrainingOptions& options, std::size_t step,
                     std::size_t steps_per_epoch) {
  const Schedule& schedule = options.schedule;
  double factor = 1;
  if (schedule.kind == Schedule::Kind::step) {
    const std::size_t epoch = step / steps_per_epoch;
    factor = std::pow(schedule.step_factor, static_cast<double>(epoch / schedule.step_epochs));
  } else if (schedule.kind == Schedule::Kind::cosine) {
    const double total = static_cast<double>(options.epochs * steps_per_epoch);
    const double done = std::min(1.0, static_cast<double>(step) / total);
    factor = schedule.least + (1 - schedule.least) * (1 + std::cos(std::numbers::pi * done)) / 2;
  }
  if (step < schedule.warm_up_steps) {
    factor *= static_cast<double>(step + 1) / static_cast<double>(schedule.warm_up_steps);
  }
  return options.optimizer.learning_rate * factor;
}

Optimizer::Optimizer(const TrainingOptions& options, ParameterSet& parameters)
    : options_(options.optimizer),
      threads_(options.threads),
      values_(parameters.trained_values()),
      gradients_(parameters.trained_gradients()) {
  for (std::size_t k = 0; k < moments_of(options_); ++k) {
    moments_.push_back(Tensor(parameters.weights().shape()));
    const DescriptorList parts = parameters.trained_parts(moments_.back());
    accumulators_.insert(accumulators_.end(), parts.begin(), parts.end());
  }
}

void Optimizer::step(std::size_t step, double rate, double scale) {
  const FilterParameters filter_parameters = {.thread_count = threads_};
  const auto apply = [&](auto rule) {
    rule.learning_rate = to_float(rate);
    set_common(rule, options_, scale);
    if constexpr (requires { rule.time_step; }) rule.time_step = static_cast<float>(step + 1);
    rule.step(values_, gradients_, accumulators_, filter_parameters);
  };
  switch (options_.kind) {
    case Kind::adam:
      return apply(adam_of(options_));
    case Kind::adamw:
      return apply(adamw_of(options_));
    case Kind::rmsprop:
      return apply(rmsprop_of(options_));
    case Kind::sgd:
      return apply(sgd_of(options_, rate));
  }
}

}  // namespace bnns::train::impl
