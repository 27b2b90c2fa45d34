// Optimizers: values with public fields, which may change from step to step. step() updates the
// parameters in place. Accumulators are grouped by kind, then by parameter, and are 0 before the
// first step. The time step begins with 1 and is advanced by the caller, once all parameters of the
// network were stepped: several calls of step() may be one step of the network.
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

namespace bnns {

// A field without a default: leaving it out does not compile.
template <typename T>
class Required {
 public:
  template <typename U>
  requires std::convertible_to<U, T>
  constexpr Required(U&& value) : value_(static_cast<T>(std::forward<U>(value))) {}
  constexpr operator const T&() const noexcept { return value_; }
  constexpr Required& operator+=(const T& step) requires std::floating_point<T> {
    value_ += step;
    return *this;
  }

 private:
  T value_;
};

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

using DescriptorList = std::vector<Descriptor>;

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
                           const std::optional<FilterParameters>& filter_parameters,
                           const char* operation) {
  constexpr auto kCode = Error::Code::optimizer_step_fail;
  require(parameters.size() == gradients.size(), kCode, operation,
          "there are not as many gradients as parameters");
  require(accumulators.size() == parameters.size() * accumulator_count, kCode, operation,
          "the number of accumulators is not accumulator_count_multiplier() per parameter");
  auto p = pointers_to<BNNSNDArrayDescriptor*>(parameters);
  auto g = pointers_to<const BNNSNDArrayDescriptor*>(gradients);
  auto a = pointers_to<BNNSNDArrayDescriptor*>(accumulators);
  const NativeFilterParameters native(filter_parameters);
  check(BNNSOptimizerStep(function, fields, p.size(), p.data(), g.data(), a.data(), native.get()),
        kCode, operation);
}

}  // namespace detail

struct AdamOptimizer {
  float learning_rate = 0.001f;
  float beta1 = 0.9f;
  float beta2 = 0.999f;
  Required<float> time_step;
  float epsilon = 1e-8f;
  Required<float> gradient_scale;
  Required<float> regularization_scale;
  Required<GradientClipping> gradient_clipping;
  Required<RegularizationFunction> regularization_function;
  bool uses_ams_grad = false;

  BNNSOptimizerFunction native_function() const noexcept {
    return uses_ams_grad ? BNNSOptimizerFunctionAdamAMSGradWithClipping
                         : BNNSOptimizerFunctionAdamWithClipping;
  }
  // Per parameter: first moment, second moment, with AMSGrad its maximum.
  std::size_t accumulator_count_multiplier() const noexcept { return uses_ams_grad ? 3 : 2; }

  void step(const DescriptorList& parameters, const DescriptorList& gradients,
            const DescriptorList& accumulators,
            const std::optional<FilterParameters>& filter_parameters = std::nullopt) const {
    BNNSOptimizerAdamWithClippingFields fields = {};
    fields.learning_rate = learning_rate;
    fields.beta1 = beta1;
    fields.beta2 = beta2;
    fields.time_step = time_step;
    fields.epsilon = epsilon;
    fields.gradient_scale = gradient_scale;
    fields.regularization_scale = regularization_scale;
    const RegularizationFunction regularization = regularization_function;
    fields.regularization_func = static_cast<BNNSOptimizerRegularizationFunction>(regularization);
    detail::set_clipping(fields, gradient_clipping);
    detail::optimizer_step(native_function(), &fields, accumulator_count_multiplier(), parameters,
                           gradients, accumulators, filter_parameters, "AdamOptimizer::step");
  }
};

struct AdamWOptimizer {
  float learning_rate = 0.001f;
  float beta1 = 0.9f;
  float beta2 = 0.999f;
  float time_step = 1;
  float epsilon = 1e-8f;
  Required<float> gradient_scale;
  float weight_decay = 1e-2f;
  Required<GradientClipping> gradient_clipping;
  bool uses_ams_grad = false;

  BNNSOptimizerFunction native_function() const noexcept {
    return uses_ams_grad ? BNNSOptimizerFunctionAdamWAMSGradWithClipping
                         : BNNSOptimizerFunctionAdamWWithClipping;
  }
  std::size_t accumulator_count_multiplier() const noexcept { return uses_ams_grad ? 3 : 2; }

  void step(const DescriptorList& parameters, const DescriptorList& gradients,
            const DescriptorList& accumulators,
            const std::optional<FilterParameters>& filter_parameters = std::nullopt) const {
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
};

struct RMSPropOptimizer {
  float learning_rate = 1e-2f;
  float alpha = 0.99f;
  float epsilon = 1e-8f;
  Required<bool> centered;
  float momentum = 0;
  Required<float> gradient_scale;
  Required<float> regularization_scale;
  Required<GradientClipping> gradient_clipping;
  Required<RegularizationFunction> regularization_function;

  BNNSOptimizerFunction native_function() const noexcept {
    return BNNSOptimizerFunctionRMSPropWithClipping;
  }
  // Per parameter: mean square, mean if centered, last update if there is momentum.
  std::size_t accumulator_count_multiplier() const noexcept {
    return std::size_t{1} + (centered ? 1 : 0) + (momentum != 0 ? 1 : 0);
  }

  void step(const DescriptorList& parameters, const DescriptorList& gradients,
            const DescriptorList& accumulators,
            const std::optional<FilterParameters>& filter_parameters = std::nullopt) const {
    BNNSOptimizerRMSPropWithClippingFields fields = {};
    fields.learning_rate = learning_rate;
    fields.alpha = alpha;
    fields.epsilon = epsilon;
    fields.centered = centered;
    fields.momentum = momentum;
    fields.gradient_scale = gradient_scale;
    fields.regularization_scale = regularization_scale;
    const RegularizationFunction regularization = regularization_function;
    fields.regularization_func = static_cast<BNNSOptimizerRegularizationFunction>(regularization);
    detail::set_clipping(fields, gradient_clipping);
    detail::optimizer_step(native_function(), &fields, accumulator_count_multiplier(), parameters,
                           gradients, accumulators, filter_parameters, "RMSPropOptimizer::step");
  }
};

struct SGDMomentumOptimizer {
  Required<float> learning_rate;
  float momentum = 0;
  Required<float> gradient_scale;
  Required<float> regularization_scale;
  Required<GradientClipping> gradient_clipping;
  bool uses_nesterov_momentum = false;
  Required<RegularizationFunction> regularization_function;
  Required<SGDMomentumVariant> sgd_momentum_variant;

  BNNSOptimizerFunction native_function() const noexcept {
    return BNNSOptimizerFunctionSGDMomentumWithClipping;
  }
  // Per parameter: the velocity. Without momentum there may also be none at all.
  std::size_t accumulator_count_multiplier() const noexcept { return 1; }

  void step(const DescriptorList& parameters, const DescriptorList& gradients,
            const DescriptorList& accumulators,
            const std::optional<FilterParameters>& filter_parameters = std::nullopt) const {
    BNNSOptimizerSGDMomentumWithClippingFields fields = {};
    fields.learning_rate = learning_rate;
    fields.momentum = momentum;
    fields.gradient_scale = gradient_scale;
    fields.regularization_scale = regularization_scale;
    fields.nesterov = uses_nesterov_momentum;
    const RegularizationFunction regularization = regularization_function;
    fields.regularization_func = static_cast<BNNSOptimizerRegularizationFunction>(regularization);
    const SGDMomentumVariant variant = sgd_momentum_variant;
    fields.sgd_momentum_variant = static_cast<BNNSOptimizerSGDMomentumVariant>(variant);
    detail::set_clipping(fields, gradient_clipping);
    const bool without = momentum == 0 && accumulators.empty();
    detail::optimizer_step(native_function(), &fields, without ? 0 : accumulator_count_multiplier(),
                           parameters, gradients, accumulators, filter_parameters,
                           "SGDMomentumOptimizer::step");
  }
};

}  // namespace bnns

#endif
