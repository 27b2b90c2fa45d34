// Loss functions, their reductions, and the layer that computes loss and gradient.
#ifndef OPENBNNS_LAYERS_LOSS_HPP
#define OPENBNNS_LAYERS_LOSS_HPP

#include <cstddef>
#include <cstdint>
#include <optional>
#include <type_traits>
#include <variant>

#include "../layer.hpp"

namespace bnns {

namespace loss {

struct SoftmaxCrossEntropy {
  float label_smoothing;
};
struct SigmoidCrossEntropy {
  float label_smoothing;
};
struct MeanSquareError {};
struct Huber {
  float huber_delta;
};
struct Yolo {
  float huber_delta;
  std::size_t grid_column_count;
  std::size_t grid_rows_count;
  std::size_t anchor_box_count;
  std::size_t anchor_box_size;
  bool rescore;
  float xy_scale;
  float wh_scale;
  float object_scale;
  float no_object_scale;
  float classification_scale;
  float object_minimum_iou;
  float no_object_maximum_iou;
  float* anchors_data;
};
struct Log {};
struct CosineDistance {};
struct Hinge {};
struct MeanAbsoluteError {};
struct CategoricalCrossEntropy {};

}  // namespace loss

// In the order of the C values, which begin with 1.
using LossFunction =
    std::variant<loss::SoftmaxCrossEntropy, loss::SigmoidCrossEntropy, loss::MeanSquareError,
                 loss::Huber, loss::Yolo, loss::Log, loss::CosineDistance, loss::Hinge,
                 loss::MeanAbsoluteError, loss::CategoricalCrossEntropy>;

enum class LossReduction : std::uint32_t {
  none = BNNSLossReductionNone,
  sum = BNNSLossReductionSum,
  weighted_mean = BNNSLossReductionWeightedMean,
  mean = BNNSLossReductionMean,                               // Swift: reductionMean
  non_zero_weight_mean = BNNSLossReductionNonZeroWeightMean,  // Swift: zeroWeightMean
};

struct LossLayerOptions {
  Descriptor input;
  Descriptor output;
  LossFunction loss_function;
  LossReduction loss_reduction;
  std::optional<FilterParameters> filter_parameters = std::nullopt;
};

// `weights` are one value if `broadcasts_weights`; else one per sample for SoftmaxCrossEntropy and
// one per element for the other functions.
struct LossArguments {
  Descriptor input;
  Descriptor labels;
  Descriptor output;
  std::optional<Descriptor> weights = std::nullopt;
  bool broadcasts_weights = false;
  std::optional<Descriptor> input_gradient = std::nullopt;
};

struct LossBackwardArguments {
  Descriptor input;
  Descriptor labels;
  std::optional<Descriptor> weights = std::nullopt;
  bool broadcasts_weights = false;
  Descriptor output_gradient;
  Descriptor input_gradient;
};

class LossLayer : public Layer {
 public:
  explicit LossLayer(const LossLayerOptions& options)
      : Layer(std::visit([&](const auto& function) { return create(function, options); },
                         options.loss_function),
              "LossLayer"),
        function_(static_cast<BNNSLossFunction>(options.loss_function.index() + 1)) {}

  BNNSLossFunction loss_function() const noexcept { return function_; }

  // The loss, and if it is wanted the gradient for this being the last layer.
  void apply(std::size_t batch_size, LossArguments arguments) {
    constexpr const char* kOperation = "LossLayer::apply";
    const Weights weights = check_inputs(batch_size, arguments, kOperation);
    detail::require_data(arguments.output, kOperation, "output");
    std::optional<Descriptor>& gradient = arguments.input_gradient;
    detail::check(
        BNNSLossFilterApplyBatch(native_handle(), batch_size, arguments.input.data,
                                 detail::batch_stride(arguments.input), arguments.labels.data,
                                 detail::batch_stride(arguments.labels), weights.data, weights.size,
                                 arguments.output.data, detail::pointer_or_null(gradient),
                                 gradient ? detail::batch_stride(*gradient) : 0),
        Error::Code::layer_apply_fail, kOperation);
  }

  // The gradient for an upstream gradient. Needs no apply() before it.
  void apply_backward(std::size_t batch_size, LossBackwardArguments arguments) {
    constexpr const char* kOperation = "LossLayer::apply_backward";
    const Weights weights = check_inputs(batch_size, arguments, kOperation);
    detail::require_data(arguments.output_gradient, kOperation, "output_gradient");
    detail::check(BNNSLossFilterApplyBackwardBatch(
                      native_handle(), batch_size, arguments.input.data,
                      detail::batch_stride(arguments.input), &arguments.input_gradient,
                      detail::batch_stride(arguments.input_gradient), arguments.labels.data,
                      detail::batch_stride(arguments.labels), weights.data, weights.size,
                      &arguments.output_gradient, upstream_stride(arguments.output_gradient)),
                  Error::Code::layer_apply_fail, kOperation);
  }

 private:
  struct Weights {
    const void* data = nullptr;
    std::size_t size = 0;
  };

  template <typename Arguments>
  Weights check_inputs(std::size_t batch_size, const Arguments& arguments,
                       const char* operation) const {
    require_ready(batch_size, operation);
    detail::require_data(arguments.input, operation, "input");
    detail::require_data(arguments.labels, operation, "labels");
    if (!arguments.weights) return {};
    detail::require_data(*arguments.weights, operation, "weights");
    if (arguments.broadcasts_weights) return {arguments.weights->data, 1};
    detail::require(function_ != BNNSLossFunctionYolo, Error::Code::layer_apply_fail, operation,
                    "the YOLO loss takes no weights");
    if (function_ == BNNSLossFunctionSoftmaxCrossEntropy) {
      return {arguments.weights->data, batch_size};
    }
    return {arguments.weights->data,
            detail::multiply(batch_size, shape_of(arguments.input).dense_count(), operation)};
  }

  // Losses with one value per sample take the upstream gradient of a batch as one tensor, too; its
  // values lie as far apart as its elements do.
  std::size_t upstream_stride(const Descriptor& gradient) const {
    const bool per_sample = function_ == BNNSLossFunctionSoftmaxCrossEntropy ||
                            function_ == BNNSLossFunctionCosineDistance ||
                            function_ == BNNSLossFunctionCategoricalCrossEntropy;
    const Shape shape = shape_of(gradient);
    return per_sample && shape.dense_count() > 1 ? gradient.stride[0] : shape.batch_stride();
  }

  template <typename Parameters>
  static BNNSFilter create_from(Parameters parameters, const LossLayerOptions& options) {
    parameters.function = static_cast<BNNSLossFunction>(options.loss_function.index() + 1);
    parameters.i_desc = options.input;
    parameters.o_desc = options.output;
    parameters.reduction = static_cast<BNNSLossReductionFunction>(options.loss_reduction);
    const detail::NativeFilterParameters native(options.filter_parameters);
    return BNNSFilterCreateLayerLoss(&parameters, native.get());
  }
  template <typename Function>
  requires std::is_empty_v<Function>
  static BNNSFilter create(const Function&, const LossLayerOptions& options) {
    return create_from(BNNSLayerParametersLossBase{}, options);
  }
  static BNNSFilter create(const loss::SoftmaxCrossEntropy& function,
                           const LossLayerOptions& options) {
    BNNSLayerParametersLossSoftmaxCrossEntropy parameters = {};
    parameters.label_smooth = function.label_smoothing;
    return create_from(parameters, options);
  }
  static BNNSFilter create(const loss::SigmoidCrossEntropy& function,
                           const LossLayerOptions& options) {
    BNNSLayerParametersLossSigmoidCrossEntropy parameters = {};
    parameters.label_smooth = function.label_smoothing;
    return create_from(parameters, options);
  }
  static BNNSFilter create(const loss::Huber& function, const LossLayerOptions& options) {
    BNNSLayerParametersLossHuber parameters = {};
    parameters.huber_delta = function.huber_delta;
    return create_from(parameters, options);
  }
  static BNNSFilter create(const loss::Yolo& function, const LossLayerOptions& options) {
    BNNSLayerParametersLossYolo parameters = {};
    parameters.huber_delta = function.huber_delta;
    parameters.number_of_grid_columns = function.grid_column_count;
    parameters.number_of_grid_rows = function.grid_rows_count;
    parameters.number_of_anchor_boxes = function.anchor_box_count;
    parameters.anchor_box_size = function.anchor_box_size;
    parameters.rescore = function.rescore;
    parameters.scale_xy = function.xy_scale;
    parameters.scale_wh = function.wh_scale;
    parameters.scale_object = function.object_scale;
    parameters.scale_no_object = function.no_object_scale;
    parameters.scale_classification = function.classification_scale;
    parameters.object_minimum_iou = function.object_minimum_iou;
    parameters.no_object_maximum_iou = function.no_object_maximum_iou;
    parameters.anchors_data = function.anchors_data;
    return create_from(parameters, options);
  }

  BNNSLossFunction function_;
};

}  // namespace bnns

#endif
