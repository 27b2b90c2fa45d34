// Reductions: the sum, mean, largest value, ... of the elements along some axes. The output has the
// size 1 where the input is reduced, else the sizes of the input.
#ifndef OPENBNNS_LAYERS_REDUCTION_HPP
#define OPENBNNS_LAYERS_REDUCTION_HPP

#include <optional>

#include "../layer.hpp"

namespace bnns {

class ReductionFunction {
 public:
  static ReductionFunction max() { return BNNSReduceFunctionMax; }
  static ReductionFunction min() { return BNNSReduceFunctionMin; }
  static ReductionFunction arg_max() { return BNNSReduceFunctionArgMax; }
  static ReductionFunction arg_min() { return BNNSReduceFunctionArgMin; }
  static ReductionFunction mean() { return BNNSReduceFunctionMean; }
  static ReductionFunction mean_non_zero() { return BNNSReduceFunctionMeanNonZero; }
  static ReductionFunction sum() { return BNNSReduceFunctionSum; }
  static ReductionFunction sum_of_squares() { return BNNSReduceFunctionSumSquare; }
  static ReductionFunction sum_of_logs(float epsilon) {
    return {BNNSReduceFunctionSumLog, epsilon};
  }
  static ReductionFunction sum_of_absolutes() { return BNNSReduceFunctionL1Norm; }
  static ReductionFunction any() { return BNNSReduceFunctionLogicalOr; }
  static ReductionFunction all() { return BNNSReduceFunctionLogicalAnd; }
  static ReductionFunction logical_or() { return any(); }
  static ReductionFunction logical_and() { return all(); }
  // Not in Swift.
  static ReductionFunction l2_norm() { return BNNSReduceFunctionL2Norm; }
  static ReductionFunction log_sum_exp() { return BNNSReduceFunctionLogSumExp; }
  static ReductionFunction product() { return BNNSReduceFunctionProduct; }
  static ReductionFunction log_sum() { return BNNSReduceFunctionLogSum; }

  BNNSReduceFunction function() const noexcept { return function_; }
  float epsilon() const noexcept { return epsilon_; }

 private:
  ReductionFunction(BNNSReduceFunction function, float epsilon = 0)
      : function_(function), epsilon_(epsilon) {}

  BNNSReduceFunction function_;
  float epsilon_;
};

namespace detail {

inline BNNSLayerParametersReduction reduction_parameters(const ReductionFunction& function,
                                                         const Descriptor& input,
                                                         const Descriptor& output,
                                                         const BNNSNDArrayDescriptor& weights) {
  return {.i_desc = input,
          .o_desc = output,
          .w_desc = weights,
          .reduce_func = function.function(),
          .epsilon = function.epsilon()};
}

}  // namespace detail

struct ReductionLayerOptions {
  ReductionFunction function;
  Required<Descriptor, field::input> input;
  Required<Descriptor, field::output> output;
  std::optional<ParameterDescriptor> weights = std::nullopt;  // the sizes of the input
  FilterParameters filter_parameters = {};
};

// `input` may be left out where the gradients do not depend on it: for sums and means without a
// gradient of the weights.
struct ReductionBackwardArguments {
  Descriptor input = {};
  Descriptor output = {};
  Required<Descriptor, field::output_gradient> output_gradient;
  std::optional<Descriptor> input_gradient = std::nullopt;
  std::optional<Descriptor> weights_gradient = std::nullopt;
};

class ReductionLayer : public UnaryLayer {
 public:
  explicit ReductionLayer(const ReductionLayerOptions& options)
      : UnaryLayer(create(options), "ReductionLayer", options.input, options.output,
                   {options.weights}) {}

  void apply_backward(std::size_t batch_size, const ReductionBackwardArguments& arguments) {
    backward(batch_size,
             {.input = arguments.input,
              .output = arguments.output,
              .output_gradient = arguments.output_gradient,
              .input_gradient = arguments.input_gradient},
             arguments.weights_gradient, std::nullopt, "ReductionLayer::apply_backward");
  }
  void apply_backward(const ReductionBackwardArguments& arguments) {
    apply_backward(common_batch_size(arguments, "ReductionLayer::apply_backward"), arguments);
  }

 private:
  static BNNSFilter create(const ReductionLayerOptions& options) {
    const BNNSLayerParametersReduction parameters = detail::reduction_parameters(
        options.function, *options.input, *options.output, detail::value_or_zero(options.weights));
    const BNNSFilterParameters native = detail::native(options.filter_parameters);
    return BNNSFilterCreateLayerReduction(&parameters, &native);
  }
};

}  // namespace bnns

#endif
