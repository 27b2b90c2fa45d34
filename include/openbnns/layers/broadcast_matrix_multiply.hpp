// Products of matrices: output = alpha op(input_a) op(input_b), or added to what output holds. The
// last two axes are those of the matrices, axes before them are broadcast.
#ifndef OPENBNNS_LAYERS_BROADCAST_MATRIX_MULTIPLY_HPP
#define OPENBNNS_LAYERS_BROADCAST_MATRIX_MULTIPLY_HPP

#include <cstddef>
#include <memory>
#include <optional>
#include <utility>

#include "../binary_layer.hpp"

namespace bnns {

// An operand: an input, or weights whose memory the layer goes on using.
class MatrixOperand : public Descriptor {
 public:
  MatrixOperand() = default;
  template <typename T>
  requires std::convertible_to<const T&, Descriptor> MatrixOperand(const T& array)
      : Descriptor(array) {
    if constexpr (OwnsMemory<T>) owner_ = array.owner();
  }

 private:
  friend class BroadcastMatrixMultiplyLayer;
  std::optional<ParameterDescriptor> parameter(bool is_weights) const {
    if (!is_weights) return std::nullopt;
    return ParameterDescriptor(*this, owner_);
  }

  std::shared_ptr<const void> owner_;
};

struct BroadcastMatrixMultiplyLayerOptions {
  Required<MatrixOperand, field::input_a> input_a;
  MatrixOperand input_b = {};  // left out if is_quadratic
  Required<Descriptor, field::output> output;
  bool transpose_a = false;
  bool transpose_b = false;
  bool a_is_weights = false;  // shared by all samples; the layer has one input then
  bool b_is_weights = false;
  float alpha = 1;
  bool accumulates_to_output = false;
  bool is_quadratic = false;  // input_a times itself; the layer has one input
  FilterParameters filter_parameters = {};
};

// Arguments of a backward pass of a layer with one input.
struct MatrixMultiplyBackwardArguments {
  Descriptor input = {};
  Required<Descriptor, field::output_gradient> output_gradient;
  std::optional<Descriptor> input_gradient = std::nullopt;
  std::optional<Descriptor> weights_gradient = std::nullopt;  // summed over the batch
};

// Layers with two inputs have the calls of BinaryLayer, those with one input the calls below.
class BroadcastMatrixMultiplyLayer : public BinaryLayer {
 public:
  explicit BroadcastMatrixMultiplyLayer(const BroadcastMatrixMultiplyLayerOptions& options)
      : BinaryLayer(create(options), "BroadcastMatrixMultiplyLayer", *options.input_a,
                    options.is_quadratic ? *options.input_a : options.input_b, options.output,
                    {options.input_a->parameter(options.a_is_weights),
                     options.input_b.parameter(options.b_is_weights)}),
        input_is_b_(options.a_is_weights),
        two_inputs_(!options.a_is_weights && !options.b_is_weights && !options.is_quadratic) {}

  using BinaryLayer::apply;
  using BinaryLayer::apply_backward;

  void apply(std::size_t batch_size, const Descriptor& input, const Descriptor& output) {
    constexpr const char* kOperation = "BroadcastMatrixMultiplyLayer::apply";
    require_one_input(batch_size, kOperation);
    form_of_input().check(input, batch_size, kOperation, "input");
    form_of_output().check(output, batch_size, kOperation, "output");
    detail::check(
        BNNSFilterApplyBatch(native_handle(), batch_size, input.data, detail::batch_stride(input),
                             output.data, detail::batch_stride(output)),
        Error::Code::layer_apply_fail, kOperation);
  }
  void apply(const Descriptor& input, const Descriptor& output) {
    apply(detail::common_batch_size("BroadcastMatrixMultiplyLayer::apply",
                                    {{"input", input}, {"output", output}}),
          input, output);
  }

  void apply_backward(std::size_t batch_size, MatrixMultiplyBackwardArguments arguments) {
    constexpr const char* kOperation = "BroadcastMatrixMultiplyLayer::apply_backward";
    require_one_input(batch_size, kOperation);
    std::optional<Descriptor>& gradient = arguments.input_gradient;
    form_of_input().check_optional(arguments.input, batch_size, kOperation, "input");
    detail::require_samples(*arguments.output_gradient, batch_size, kOperation, "output_gradient");
    if (gradient) detail::require_samples(*gradient, batch_size, kOperation, "input_gradient");
    detail::check(BNNSFilterApplyBackwardBatch(
                      native_handle(), batch_size, arguments.input.data,
                      detail::batch_stride(arguments.input), detail::pointer_or_null(gradient),
                      gradient ? detail::batch_stride(*gradient) : 0, nullptr, 0,
                      &*arguments.output_gradient, detail::batch_stride(*arguments.output_gradient),
                      detail::pointer_or_null(arguments.weights_gradient), nullptr),
                  Error::Code::layer_apply_fail, kOperation);
  }
  void apply_backward(const MatrixMultiplyBackwardArguments& arguments) {
    apply_backward(detail::common_batch_size("BroadcastMatrixMultiplyLayer::apply_backward",
                                             {{"input", arguments.input},
                                              {"output_gradient", *arguments.output_gradient}}),
                   arguments);
  }

 private:
  const detail::Form& form_of_input() const { return input_is_b_ ? form_of_b() : form_of_a(); }

  void require_one_input(std::size_t batch_size, const char* operation) const {
    require_ready(batch_size, operation);
    detail::require(!two_inputs_, Error::Code::invalid_argument, operation,
                    "the layer has two inputs; both must be given");
  }

  static BNNSFilter create(const BroadcastMatrixMultiplyLayerOptions& options) {
    BNNSLayerParametersBroadcastMatMul parameters = {};
    parameters.alpha = options.alpha;
    parameters.beta = options.accumulates_to_output ? 1.0f : 0.0f;
    parameters.transA = options.transpose_a;
    parameters.transB = options.transpose_b;
    parameters.quadratic = options.is_quadratic;
    parameters.a_is_weights = options.a_is_weights;
    parameters.b_is_weights = options.b_is_weights;
    parameters.iA_desc = *options.input_a;
    parameters.iB_desc = options.input_b;
    parameters.o_desc = *options.output;
    const BNNSFilterParameters native = detail::native(options.filter_parameters);
    return BNNSFilterCreateLayerBroadcastMatMul(&parameters, &native);
  }

  bool input_is_b_, two_inputs_;
};

}  // namespace bnns

#endif
