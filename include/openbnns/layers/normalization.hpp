// Normalization: values are brought to mean 0 and variance 1, then scaled and shifted.
#ifndef OPENBNNS_LAYERS_NORMALIZATION_HPP
#define OPENBNNS_LAYERS_NORMALIZATION_HPP

#include <cstddef>
#include <optional>
#include <variant>

#include "activation.hpp"

namespace bnns {

namespace normalization {

// Per channel over all samples. The moving statistics, one value per channel, are updated by
// training and used by inference; without both of them inference uses those of its input.
struct Batch {
  std::optional<ParameterDescriptor> moving_mean = std::nullopt;
  std::optional<ParameterDescriptor> moving_variance = std::nullopt;
};
// Per channel of each sample.
struct Instance {
  std::optional<ParameterDescriptor> moving_mean = std::nullopt;
  std::optional<ParameterDescriptor> moving_variance = std::nullopt;
};
// Per sample over channels, height and width (axis 0), height and width (1) or width (2).
struct Layer {
  std::size_t normalization_axis = 0;
};
// Per sample over groups of neighbouring channels.
struct Group {
  Required<std::size_t, field::group_count> group_count;
};

}  // namespace normalization

using NormalizationType = std::variant<normalization::Batch, normalization::Instance,
                                       normalization::Layer, normalization::Group>;

enum class LearningPhase { training, inference };

struct NormalizationLayerOptions {
  Required<NormalizationType, field::type> type;
  Required<Descriptor, field::input> input;
  Required<Descriptor, field::output> output;
  std::optional<ParameterDescriptor> beta = std::nullopt;   // absent: 0
  std::optional<ParameterDescriptor> gamma = std::nullopt;  // absent: 1
  float momentum = 0;                                       // weight of the old moving statistics
  float epsilon = 1e-5f;
  ActivationFunction activation = ActivationFunction::identity();
  FilterParameters filter_parameters = {};
};

// `output` is that of the forward pass; without an activation it may be left out.
struct NormalizationBackwardArguments {
  Descriptor output = {};
  Required<Descriptor, field::output_gradient> output_gradient;
  std::optional<Descriptor> input_gradient = std::nullopt;
  std::optional<Descriptor> beta_gradient = std::nullopt;
  std::optional<Descriptor> gamma_gradient = std::nullopt;
};

namespace detail {

// Of the two types that have them.
inline normalization::Batch moving_statistics(const NormalizationType& type) {
  if (const auto* batch = std::get_if<normalization::Batch>(&type)) return *batch;
  if (const auto* instance = std::get_if<normalization::Instance>(&type)) {
    return {instance->moving_mean, instance->moving_variance};
  }
  return {};
}

// With the fields of the type set.
inline BNNSLayerParametersNormalization normalization_parameters(const NormalizationType& type) {
  BNNSLayerParametersNormalization parameters = {};
  if (const auto* layer = std::get_if<normalization::Layer>(&type)) {
    parameters.normalization_axis = layer->normalization_axis;
  } else if (const auto* group = std::get_if<normalization::Group>(&type)) {
    parameters.num_groups = group->group_count;
  }
  const normalization::Batch moving = moving_statistics(type);
  parameters.moving_mean_desc = value_or_zero(moving.moving_mean);
  parameters.moving_variance_desc = value_or_zero(moving.moving_variance);
  return parameters;
}

}  // namespace detail

class NormalizationLayer : public Layer {
 public:
  explicit NormalizationLayer(const NormalizationLayerOptions& options)
      : Layer(create(options), "NormalizationLayer",
              {options.beta, options.gamma, detail::moving_statistics(*options.type).moving_mean,
               detail::moving_statistics(*options.type).moving_variance}),
        input_(*options.input),
        output_(*options.output) {}

  // The output may be the input.
  void apply(std::size_t batch_size, const Descriptor& input, const Descriptor& output,
             LearningPhase phase) {
    constexpr const char* kOperation = "NormalizationLayer::apply";
    require_ready(batch_size, kOperation);
    input_.check(input, batch_size, kOperation, "input");
    output_.check(output, batch_size, kOperation, "output");
    detail::check(BNNSNormalizationFilterApplyBatch(
                      native_handle(), batch_size, input.data, detail::batch_stride(input),
                      output.data, detail::batch_stride(output), phase == LearningPhase::training),
                  Error::Code::layer_apply_fail, kOperation);
  }

  void apply(const Descriptor& input, const Descriptor& output, LearningPhase phase) {
    const std::size_t batch_size = detail::common_batch_size(
        "NormalizationLayer::apply", {{"input", input}, {"output", output}});
    apply(batch_size, input, output, phase);
  }

  // After an apply() with the same batch size in the training phase.
  void apply_backward(std::size_t batch_size, NormalizationBackwardArguments arguments) {
    constexpr const char* kOperation = "NormalizationLayer::apply_backward";
    require_ready(batch_size, kOperation);
    std::optional<Descriptor>& input_gradient = arguments.input_gradient;
    output_.check_optional(arguments.output, batch_size, kOperation, "output");
    detail::require_samples(*arguments.output_gradient, batch_size, kOperation, "output_gradient");
    if (input_gradient) {
      detail::require_samples(*input_gradient, batch_size, kOperation, "input_gradient");
    }
    detail::check(BNNSNormalizationFilterApplyBackwardBatch(
                      native_handle(), batch_size, detail::pointer_or_null(input_gradient),
                      input_gradient ? detail::batch_stride(*input_gradient) : 0,
                      arguments.output.data, detail::batch_stride(arguments.output),
                      &*arguments.output_gradient, detail::batch_stride(*arguments.output_gradient),
                      detail::pointer_or_null(arguments.beta_gradient),
                      detail::pointer_or_null(arguments.gamma_gradient)),
                  Error::Code::layer_apply_fail, kOperation);
  }
  void apply_backward(const NormalizationBackwardArguments& arguments) {
    const std::size_t batch_size = detail::common_batch_size(
        "NormalizationLayer::apply_backward",
        {{"output", arguments.output}, {"output_gradient", *arguments.output_gradient}});
    apply_backward(batch_size, arguments);
  }

 private:
  static BNNSFilter create(const NormalizationLayerOptions& options) {
    detail::require_trainable(options.activation, {options.beta, options.gamma},
                              "NormalizationLayer");
    BNNSLayerParametersNormalization parameters = detail::normalization_parameters(*options.type);
    parameters.i_desc = *options.input;
    parameters.o_desc = *options.output;
    if (options.beta) parameters.beta_desc = *options.beta;
    if (options.gamma) parameters.gamma_desc = *options.gamma;
    parameters.momentum = options.momentum;
    parameters.epsilon = options.epsilon;
    parameters.activation = options.activation.native();
    const BNNSFilterParameters native = detail::native(options.filter_parameters);
    const auto type = static_cast<BNNSFilterType>(BNNSBatchNorm + options.type->index());
    return BNNSFilterCreateLayerNormalization(type, &parameters, &native);
  }

  detail::Form input_, output_;
};

}  // namespace bnns

#endif
