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
  float label_smoothing = 0;
};
struct SigmoidCrossEntropy {
  float label_smoothing = 0;
};
struct MeanSquareError {};
struct Huber {
  Required<float, field::huber_delta> huber_delta;
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
  Required<Descriptor, field::input> input;
  Required<Descriptor, field::output> output;
  Required<LossFunction, field::loss_function> loss_function;
  LossReduction loss_reduction = LossReduction::mean;
  FilterParameters filter_parameters = {};
};

// `weights` are one value if `broadcasts_weights`; else one per sample for SoftmaxCrossEntropy and
// one per element for the other functions.
struct LossArguments {
  Required<Descriptor, field::input> input;
  Required<Descriptor, field::labels> labels;
  Required<Descriptor, field::output> output;
  std::optional<Descriptor> weights = std::nullopt;
  bool broadcasts_weights = false;
  std::optional<Descriptor> input_gradient = std::nullopt;
};

struct LossBackwardArguments {
  Required<Descriptor, field::input> input;
  Required<Descriptor, field::labels> labels;
  std::optional<Descriptor> weights = std::nullopt;
  bool broadcasts_weights = false;
  Required<Descriptor, field::output_gradient> output_gradient;
  Required<Descriptor, field::input_gradient> input_gradient;
};

class LossLayer : public Layer {
 public:
  explicit LossLayer(const LossLayerOptions& options)
      : Layer(std::visit([&](const auto& function) { return create(function, options); },
                         *options.loss_function),
              "LossLayer"),
        input_(*options.input),
        function_(static_cast<BNNSLossFunction>(options.loss_function->index() + 1)),
        reduction_(options.loss_reduction) {}

  BNNSLossFunction loss_function() const noexcept { return function_; }

  // The loss, and if it is wanted the gradient for this being the last layer.
  void apply(std::size_t batch_size, LossArguments arguments) {
    constexpr const char* kOperation = "LossLayer::apply";
    const Weights weights = check_inputs(batch_size, arguments, kOperation);
    require_floats(*arguments.output, entries(batch_size, kOperation), kOperation, "output");
    std::optional<Descriptor>& gradient = arguments.input_gradient;
    if (gradient) detail::require_samples(*gradient, batch_size, kOperation, "input_gradient");
    detail::check(BNNSLossFilterApplyBatch(
                      native_handle(), batch_size, arguments.input->data,
                      detail::batch_stride(*arguments.input), arguments.labels->data,
                      detail::batch_stride(*arguments.labels), weights.data, weights.size,
                      arguments.output->data, detail::pointer_or_null(gradient),
                      gradient ? detail::batch_stride(*gradient) : 0),
                  Error::Code::layer_apply_fail, kOperation);
  }

  void apply(const LossArguments& arguments) {
    apply(common_batch_size(arguments, "LossLayer::apply"), arguments);
  }

  // The gradient for an upstream gradient. Needs no apply() before it.
  void apply_backward(std::size_t batch_size, LossBackwardArguments arguments) {
    constexpr const char* kOperation = "LossLayer::apply_backward";
    const Weights weights = check_inputs(batch_size, arguments, kOperation);
    detail::require_data(*arguments.output_gradient, kOperation, "output_gradient");
    detail::require_samples(*arguments.input_gradient, batch_size, kOperation, "input_gradient");
    require_floats(*arguments.output_gradient, entries(batch_size, kOperation), kOperation,
                   "output_gradient");
    detail::check(BNNSLossFilterApplyBackwardBatch(
                      native_handle(), batch_size, arguments.input->data,
                      detail::batch_stride(*arguments.input), &*arguments.input_gradient,
                      detail::batch_stride(*arguments.input_gradient), arguments.labels->data,
                      detail::batch_stride(*arguments.labels), weights.data, weights.size,
                      &*arguments.output_gradient, upstream_stride(*arguments.output_gradient)),
                  Error::Code::layer_apply_fail, kOperation);
  }
  void apply_backward(const LossBackwardArguments& arguments) {
    apply_backward(common_batch_size(arguments, "LossLayer::apply_backward"), arguments);
  }

 private:
  template <typename Arguments>
  static std::size_t common_batch_size(const Arguments& arguments, const char* operation) {
    return detail::common_batch_size(operation,
                                     {{"input", *arguments.input}, {"labels", *arguments.labels}});
  }

  struct Weights {
    const void* data = nullptr;
    std::size_t size = 0;
  };

  template <typename Arguments>
  Weights check_inputs(std::size_t batch_size, const Arguments& arguments,
                       const char* operation) const {
    require_ready(batch_size, operation);
    input_.check(*arguments.input, batch_size, operation, "input");
    input_.check(*arguments.labels, batch_size, operation, "labels");
    if (!arguments.weights) return {};
    const std::size_t count = weight_count(batch_size, arguments.broadcasts_weights, operation);
    require_floats(*arguments.weights, count, operation, "weights");
    return {arguments.weights->data, count};
  }

  std::size_t weight_count(std::size_t batch_size, bool broadcast, const char* operation) const {
    if (broadcast) return 1;
    detail::require(function_ != BNNSLossFunctionYolo, Error::Code::layer_apply_fail, operation,
                    "the YOLO loss takes no weights");
    if (function_ == BNNSLossFunctionSoftmaxCrossEntropy) return batch_size;
    return detail::multiply(batch_size, input_.count(), operation);
  }

  bool is_per_sample() const {
    return function_ == BNNSLossFunctionSoftmaxCrossEntropy ||
           function_ == BNNSLossFunctionCosineDistance ||
           function_ == BNNSLossFunctionCategoricalCrossEntropy;
  }

  // How many values the loss of a batch has.
  std::size_t entries(std::size_t batch_size, const char* operation) const {
    if (reduction_ != LossReduction::none || function_ == BNNSLossFunctionYolo) return 1;
    return is_per_sample() ? batch_size : detail::multiply(batch_size, input_.count(), operation);
  }

  // At least `count` of them, as far as the extent of the memory is known.
  static void require_floats(const Descriptor& given, std::size_t count, const char* operation,
                             const char* argument) {
    detail::require_data(given, operation, argument);
    constexpr auto invalid = Error::Code::invalid_argument;
    if (given.data_type != BNNSDataTypeFloat32) {
      detail::fail(invalid, operation, argument, " is ", detail::to_text(given.data_type),
                   ", it must be Float32");
    }
    if (given.batch_size == 0) return;
    const std::size_t held =
        detail::multiply(given.batch_size, detail::batch_stride(given), operation);
    detail::require(held >= count, invalid, operation, argument, " has ", held,
                    " values, the call needs ", count);
  }

  // Losses with one value per sample take the upstream gradient of a batch as one tensor, too; its
  // values lie as far apart as its elements do.
  std::size_t upstream_stride(const Descriptor& gradient) const {
    const Shape shape = shape_of(gradient);
    return is_per_sample() && shape.dense_count() > 1 ? gradient.stride[0] : shape.batch_stride();
  }

  template <typename Parameters>
  static BNNSFilter create_from(Parameters parameters, const LossLayerOptions& options) {
    parameters.function = static_cast<BNNSLossFunction>(options.loss_function->index() + 1);
    parameters.i_desc = *options.input;
    parameters.o_desc = *options.output;
    parameters.reduction = static_cast<BNNSLossReductionFunction>(options.loss_reduction);
    const BNNSFilterParameters native = detail::native(options.filter_parameters);
    return BNNSFilterCreateLayerLoss(&parameters, &native);
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

  detail::Form input_;
  BNNSLossFunction function_;
  LossReduction reduction_;
};

}  // namespace bnns

#endif
