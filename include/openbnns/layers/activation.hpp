// Activation functions, and the layer that applies one.
#ifndef OPENBNNS_LAYERS_ACTIVATION_HPP
#define OPENBNNS_LAYERS_ACTIVATION_HPP

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <optional>
#include <vector>

#include "../layer.hpp"

namespace bnns {

// A function with its parameters. Functions of C without a name here are made from a
// BNNSActivation.
class ActivationFunction {
 public:
  ActivationFunction() : ActivationFunction(identity()) {}
  explicit ActivationFunction(const BNNSActivation& activation) : activation_(activation) {}

  static ActivationFunction identity() { return make(BNNSActivationFunctionIdentity); }
  static ActivationFunction rectified_linear() {
    return make(BNNSActivationFunctionRectifiedLinear);
  }
  static ActivationFunction leaky_rectified_linear(float alpha) {
    return make(BNNSActivationFunctionLeakyRectifiedLinear, alpha);
  }
  static ActivationFunction sigmoid() { return make(BNNSActivationFunctionSigmoid); }
  static ActivationFunction tanh() { return make(BNNSActivationFunctionTanh); }
  static ActivationFunction scaled_tanh(float alpha, float beta) {
    return make(BNNSActivationFunctionScaledTanh, alpha, beta);
  }
  static ActivationFunction abs() { return make(BNNSActivationFunctionAbs); }
  static ActivationFunction linear(float alpha) {
    return make(BNNSActivationFunctionLinear, alpha);
  }
  static ActivationFunction clamp(float lower, float upper) {
    return make(BNNSActivationFunctionClamp, lower, upper);
  }
  static ActivationFunction softmax() { return make(BNNSActivationFunctionSoftmax); }
  static ActivationFunction gelu_approximation(float alpha, float beta) {
    return make(BNNSActivationFunctionGELUApproximation, alpha, beta);
  }
  static ActivationFunction gumbel(float alpha, float beta) {
    return make(BNNSActivationFunctionGumbel, alpha, beta);
  }
  static ActivationFunction gumbel_max(float alpha, float beta) {
    return make(BNNSActivationFunctionGumbelMax, alpha, beta);
  }
  static ActivationFunction hard_sigmoid(float alpha, float beta) {
    return make(BNNSActivationFunctionHardSigmoid, alpha, beta);
  }
  static ActivationFunction softplus(float alpha, float beta) {
    return make(BNNSActivationFunctionSoftplus, alpha, beta);
  }
  static ActivationFunction softsign() { return make(BNNSActivationFunctionSoftsign); }
  static ActivationFunction elu(float alpha) { return make(BNNSActivationFunctionELU, alpha); }
  static ActivationFunction clamped_leaky_rectified_linear(float alpha, float beta) {
    return make(BNNSActivationFunctionClampedLeakyRectifiedLinear, alpha, beta);
  }
  static ActivationFunction linear_with_bias(float alpha, float beta) {
    return make(BNNSActivationFunctionLinearWithBias, alpha, beta);
  }
  static ActivationFunction log_softmax() { return make(BNNSActivationFunctionLogSoftmax); }
  static ActivationFunction log_sigmoid() { return make(BNNSActivationFunctionLogSigmoid); }
  static ActivationFunction selu() { return make(BNNSActivationFunctionSELU); }
  static ActivationFunction celu(float alpha) { return make(BNNSActivationFunctionCELU, alpha); }
  static ActivationFunction hard_shrink(float alpha) {
    return make(BNNSActivationFunctionHardShrink, alpha);
  }
  static ActivationFunction soft_shrink(float alpha) {
    return make(BNNSActivationFunctionSoftShrink, alpha);
  }
  static ActivationFunction tanh_shrink() { return make(BNNSActivationFunctionTanhShrink); }
  static ActivationFunction threshold(float alpha, float beta) {
    return make(BNNSActivationFunctionThreshold, alpha, beta);
  }
  static ActivationFunction gelu_approximation2(float alpha, float beta) {
    return make(BNNSActivationFunctionGELUApproximation2, alpha, beta);
  }
  static ActivationFunction hard_swish(float alpha, float beta) {
    return make(BNNSActivationFunctionHardSwish, alpha, beta);
  }
  static ActivationFunction silu() { return make(BNNSActivationFunctionSiLU); }

  const BNNSActivation& native() const noexcept { return activation_; }

 private:
  // NaN for a parameter that the function has not: if it were read, the C call would fail.
  static ActivationFunction make(BNNSActivationFunction function,
                                 float alpha = std::numeric_limits<float>::quiet_NaN(),
                                 float beta = std::numeric_limits<float>::quiet_NaN()) {
    BNNSActivation activation = {};
    activation.function = function;
    activation.alpha = alpha;
    activation.beta = beta;
    activation.iscale = 1;
    return ActivationFunction(activation);
  }

  BNNSActivation activation_;
};

namespace detail {

inline std::uint32_t axis_flags(const std::vector<std::size_t>& axes, const char* operation) {
  std::uint32_t flags = 0;
  for (const std::size_t axis : axes) {
    require(axis < 32, Error::Code::invalid_argument, operation, "an axis is above 31");
    flags |= std::uint32_t{1} << axis;
  }
  return flags;
}

}  // namespace detail

namespace detail {

// A layer whose parameters are going to be trained must have a backward pass.
inline void require_trainable(const ActivationFunction& activation,
                              std::initializer_list<std::optional<ParameterDescriptor>> parameters,
                              const char* class_name) {
  for (const auto& parameter : parameters) {
    if (!parameter || !parameter->is_trained()) continue;
    check(OpenBNNSCheckFusedActivation(&activation.native()), Error::Code::unable_to_create_layer,
          class_name);
  }
}

}  // namespace detail

struct ActivationLayerOptions {
  Required<ActivationFunction, field::function> function;
  std::vector<std::size_t> axes = {};  // of the softmax family; none: the default axis
  Required<Descriptor, field::input> input;
  Required<Descriptor, field::output> output;
  FilterParameters filter_parameters = {};
};

namespace detail {

inline BNNSLayerParametersActivation activation_parameters(const ActivationLayerOptions& options,
                                                           const char* operation) {
  return {.i_desc = *options.input,
          .o_desc = *options.output,
          .activation = options.function->native(),
          .axis_flags = axis_flags(options.axes, operation)};
}

}  // namespace detail

class ActivationLayer : public UnaryLayer {
 public:
  explicit ActivationLayer(const ActivationLayerOptions& options)
      : UnaryLayer(create(options), "ActivationLayer", options.input, options.output) {}

 private:
  static BNNSFilter create(const ActivationLayerOptions& options) {
    const auto parameters = detail::activation_parameters(options, "ActivationLayer");
    const BNNSFilterParameters native = detail::native(options.filter_parameters);
    return BNNSFilterCreateLayerActivation(&parameters, &native);
  }
};

// The same once, without a layer.
inline void apply_activation(std::size_t batch_size, const ActivationLayerOptions& options) {
  constexpr const char* kOperation = "apply_activation";
  detail::require(batch_size > 0, Error::Code::invalid_argument, kOperation, "batch_size is 0");
  for (const auto& [name, array] : {detail::NamedArgument{"input", *options.input},
                                    detail::NamedArgument{"output", *options.output}}) {
    detail::require_data(array, kOperation, name);
    detail::require_samples(array, batch_size, kOperation, name);
  }
  const auto parameters = detail::activation_parameters(options, kOperation);
  const BNNSFilterParameters native = detail::native(options.filter_parameters);
  detail::check(BNNSDirectApplyActivationBatch(&parameters, &native, batch_size,
                                               detail::batch_stride(options.input),
                                               detail::batch_stride(options.output)),
                Error::Code::layer_apply_fail, kOperation);
}

}  // namespace bnns

#endif
