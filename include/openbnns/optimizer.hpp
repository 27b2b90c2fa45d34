// Optimizers: values with public fields, which may change from step to step. step() updates the
// parameters in place. With a ParameterList one call is one step of the network, and counts it.
// With lists of descriptors several calls may be one step: the caller advances time_step, which
// begins with 1, once all parameters were stepped. Accumulators are grouped by kind, then by
// parameter, and are 0 before the first step.
#ifndef OPENBNNS_OPTIMIZER_HPP
#define OPENBNNS_OPTIMIZER_HPP

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "filter_parameters.hpp"
#include "parameter_list.hpp"
#include "required.hpp"

namespace bnns {

namespace clipping {

struct None {};
struct ByValue {
  float lower;
  float upper;
};
struct ByNorm {
  float threshold;
};
struct ByGlobalNorm {
  float threshold;
  float global_norm = 0;  // 0: computed
};

}  // namespace clipping

// In the order of the C values.
using GradientClipping =
    std::variant<clipping::None, clipping::ByValue, clipping::ByNorm, clipping::ByGlobalNorm>;

enum class RegularizationFunction : std::uint32_t {
  none = BNNSOptimizerRegularizationNone,
  l1 = BNNSOptimizerRegularizationL1,
  l2 = BNNSOptimizerRegularizationL2,
};

enum class SGDMomentumVariant : std::uint32_t {
  variant0 = BNNSSGDMomentumVariant0,
  variant1 = BNNSSGDMomentumVariant1,
  variant2 = BNNSSGDMomentumVariant2,
};

namespace detail {

template <typename Fields>
void set_clipping(Fields& fields, const GradientClipping& clipping) {
  fields.clipping_func = static_cast<BNNSOptimizerClippingFunction>(clipping.index());
  if (const auto* by_value = std::get_if<clipping::ByValue>(&clipping)) {
    fields.clip_gradients_min = by_value->lower;
    fields.clip_gradients_max = by_value->upper;
  } else if (const auto* by_norm = std::get_if<clipping::ByNorm>(&clipping)) {
    fields.clip_gradients_max_norm = by_norm->threshold;
  } else if (const auto* by_global_norm = std::get_if<clipping::ByGlobalNorm>(&clipping)) {
    fields.clip_gradients_max_norm = by_global_norm->threshold;
    fields.clip_gradients_use_norm = by_global_norm->global_norm;
  }
}

template <typename Pointer>
std::vector<Pointer> pointers_to(DescriptorList& descriptors) {
  std::vector<Pointer> pointers;
  pointers.reserve(descriptors.size());
  for (Descriptor& descriptor : descriptors) pointers.push_back(&descriptor);
  return pointers;
}

inline void optimizer_step(BNNSOptimizerFunction function, const void* fields,
                           std::size_t accumulator_count, DescriptorList parameters,
                           DescriptorList gradients, DescriptorList accumulators,
                           const FilterParameters& filter_parameters, const char* operation) {
  constexpr auto kCode = Error::Code::optimizer_step_fail;
  require(parameters.size() == gradients.size(), kCode, operation,
          "there are not as many gradients as parameters");
  require(accumulators.size() == parameters.size() * accumulator_count, kCode, operation,
          "the number of accumulators is not accumulator_count_multiplier() per parameter");
  for (const DescriptorList* list : {&parameters, &gradients, &accumulators}) {
    for (const Descriptor& descriptor : *list) {
      require_one_sample(descriptor, operation, "a parameter, gradient or accumulator");
    }
  }
  auto p = pointers_to<BNNSNDArrayDescriptor*>(parameters);
  auto g = pointers_to<const BNNSNDArrayDescriptor*>(gradients);
  auto a = pointers_to<BNNSNDArrayDescriptor*>(accumulators);
  const BNNSFilterParameters parameters_of_c = native(filter_parameters);
  check(
      BNNSOptimizerStep(function, fields, p.size(), p.data(), g.data(), a.data(), &parameters_of_c),
      kCode, operation);
}

}  // namespace detail

struct AdamOptimizer {
  float learning_rate = 0.001f;
  float beta1 = 0.9f;
  float beta2 = 0.999f;
  float time_step = 1;
  float epsilon = 1e-8f;
  float gradient_scale = 1;
  float regularization_scale = 0;
  GradientClipping gradient_clipping = clipping::None{};
  RegularizationFunction regularization_function = RegularizationFunction::none;
  bool uses_ams_grad = false;

  BNNSOptimizerFunction native_function() const noexcept {
    return uses_ams_grad ? BNNSOptimizerFunctionAdamAMSGradWithClipping
                         : BNNSOptimizerFunctionAdamWithClipping;
  }
  // Per parameter: first moment, second moment, with AMSGrad its maximum.
  std::size_t accumulator_count_multiplier() const noexcept { return uses_ams_grad ? 3 : 2; }

  void step(const DescriptorList& parameters, const DescriptorList& gradients,
            const DescriptorList& accumulators,
            const FilterParameters& filter_parameters = {}) const {
    BNNSOptimizerAdamWithClippingFields fields = {};
    fields.learning_rate = learning_rate;
    fields.beta1 = beta1;
    fields.beta2 = beta2;
    fields.time_step = time_step;
    fields.epsilon = epsilon;
    fields.gradient_scale = gradient_scale;
    fields.regularization_scale = regularization_scale;
    fields.regularization_func =
        static_cast<BNNSOptimizerRegularizationFunction>(regularization_function);
    detail::set_clipping(fields, gradient_clipping);
    detail::optimizer_step(native_function(), &fields, accumulator_count_multiplier(), parameters,
                           gradients, accumulators, filter_parameters, "AdamOptimizer::step");
  }
  // One step of a network, counted by time_step.
  void step(ParameterList& parameters, const FilterParameters& filter_parameters = {}) {
    step(parameters.values(), parameters.gradients(),
         parameters.moments(accumulator_count_multiplier()), filter_parameters);
    time_step += 1;
  }
};

struct AdamWOptimizer {
  float learning_rate = 0.001f;
  float beta1 = 0.9f;
  float beta2 = 0.999f;
  float time_step = 1;
  float epsilon = 1e-8f;
  float gradient_scale = 1;
  float weight_decay = 1e-2f;
  GradientClipping gradient_clipping = clipping::None{};
  bool uses_ams_grad = false;

  BNNSOptimizerFunction native_function() const noexcept {
    return uses_ams_grad ? BNNSOptimizerFunctionAdamWAMSGradWithClipping
                         : BNNSOptimizerFunctionAdamWWithClipping;
  }
  std::size_t accumulator_count_multiplier() const noexcept { return uses_ams_grad ? 3 : 2; }

  void step(const DescriptorList& parameters, const DescriptorList& gradients,
            const DescriptorList& accumulators,
            const FilterParameters& filter_parameters = {}) const {
    BNNSOptimizerAdamWithClippingFields fields = {};
    fields.learning_rate = learning_rate;
    fields.beta1 = beta1;
    fields.beta2 = beta2;
    fields.time_step = time_step;
    fields.epsilon = epsilon;
    fields.gradient_scale = gradient_scale;
    fields.regularization_scale = weight_decay;
    detail::set_clipping(fields, gradient_clipping);
    detail::optimizer_step(native_function(), &fields, accumulator_count_multiplier(), parameters,
                           gradients, accumulators, filter_parameters, "AdamWOptimizer::step");
  }
  // One step of a network, counted by time_step.
  void step(ParameterList& parameters, const FilterParameters& filter_parameters = {}) {
    step(parameters.values(), parameters.gradients(),
         parameters.moments(accumulator_count_multiplier()), filter_parameters);
    time_step += 1;
  }
};

struct RMSPropOptimizer {
  float learning_rate = 1e-2f;
  float alpha = 0.99f;
  float epsilon = 1e-8f;
  bool centered = false;
  float momentum = 0;
  float gradient_scale = 1;
  float regularization_scale = 0;
  GradientClipping gradient_clipping = clipping::None{};
  RegularizationFunction regularization_function = RegularizationFunction::none;

  BNNSOptimizerFunction native_function() const noexcept {
    return BNNSOptimizerFunctionRMSPropWithClipping;
  }
  // Per parameter: mean square, mean if centered, last update if there is momentum.
  std::size_t accumulator_count_multiplier() const noexcept {
    return std::size_t{1} + (centered ? 1 : 0) + (momentum != 0 ? 1 : 0);
  }

  void step(const DescriptorList& parameters, const DescriptorList& gradients,
            const DescriptorList& accumulators,
            const FilterParameters& filter_parameters = {}) const {
    BNNSOptimizerRMSPropWithClippingFields fields = {};
    fields.learning_rate = learning_rate;
    fields.alpha = alpha;
    fields.epsilon = epsilon;
    fields.centered = centered;
    fields.momentum = momentum;
    fields.gradient_scale = gradient_scale;
    fields.regularization_scale = regularization_scale;
    fields.regularization_func =
        static_cast<BNNSOptimizerRegularizationFunction>(regularization_function);
    detail::set_clipping(fields, gradient_clipping);
    detail::optimizer_step(native_function(), &fields, accumulator_count_multiplier(), parameters,
                           gradients, accumulators, filter_parameters, "RMSPropOptimizer::step");
  }
  void step(ParameterList& parameters, const FilterParameters& filter_parameters = {}) const {
    step(parameters.values(), parameters.gradients(),
         parameters.moments(accumulator_count_multiplier()), filter_parameters);
  }
};

struct SGDMomentumOptimizer {
  Required<float, field::learning_rate> learning_rate;
  float momentum = 0;
  float gradient_scale = 1;
  float regularization_scale = 0;
  GradientClipping gradient_clipping = clipping::None{};
  bool uses_nesterov_momentum = false;
  RegularizationFunction regularization_function = RegularizationFunction::none;
  SGDMomentumVariant sgd_momentum_variant = SGDMomentumVariant::variant0;

  BNNSOptimizerFunction native_function() const noexcept {
    return BNNSOptimizerFunctionSGDMomentumWithClipping;
  }
  // Per parameter: the velocity. Without momentum there may also be none at all.
  std::size_t accumulator_count_multiplier() const noexcept { return 1; }

  void step(const DescriptorList& parameters, const DescriptorList& gradients,
            const DescriptorList& accumulators,
            const FilterParameters& filter_parameters = {}) const {
    BNNSOptimizerSGDMomentumWithClippingFields fields = {};
    fields.learning_rate = learning_rate;
    fields.momentum = momentum;
    fields.gradient_scale = gradient_scale;
    fields.regularization_scale = regularization_scale;
    fields.nesterov = uses_nesterov_momentum;
    fields.regularization_func =
        static_cast<BNNSOptimizerRegularizationFunction>(regularization_function);
    fields.sgd_momentum_variant =
        static_cast<BNNSOptimizerSGDMomentumVariant>(sgd_momentum_variant);
    detail::set_clipping(fields, gradient_clipping);
    const bool without = momentum == 0 && accumulators.empty();
    detail::optimizer_step(native_function(), &fields, without ? 0 : accumulator_count_multiplier(),
                           parameters, gradients, accumulators, filter_parameters,
                           "SGDMomentumOptimizer::step");
  }
  void step(ParameterList& parameters, const FilterParameters& filter_parameters = {}) const {
    step(parameters.values(), parameters.gradients(),
         parameters.moments(accumulator_count_multiplier()), filter_parameters);
  }
};

}  // namespace bnns

#endif
