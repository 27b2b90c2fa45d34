// Functions on arrays that need no layer: copies, transposition, products, clipping, norms.
#ifndef OPENBNNS_FUNCTIONS_HPP
#define OPENBNNS_FUNCTIONS_HPP

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "layers/activation.hpp"
#include "layers/reduction.hpp"
#include "optimizer.hpp"

namespace bnns {

namespace detail {

inline void check_apply(int status, const char* operation) {
  check(status, Error::Code::layer_apply_fail, operation);
}

// These functions know no batch.
inline void require_one_sample_each(const char* operation,
                                    std::initializer_list<NamedArgument> arguments) {
  for (const NamedArgument& argument : arguments) {
    require_one_sample(argument.descriptor, operation, argument.name);
  }
}

}  // namespace detail

// Converts layout, strides and data type.
inline void copy(const Descriptor& source, Descriptor destination,
                 const FilterParameters& filter_parameters = {}) {
  const BNNSFilterParameters native = detail::native(filter_parameters);
  detail::require_one_sample_each("copy", {{"source", source}, {"destination", destination}});
  detail::check_apply(BNNSCopy(&destination, &source, &native), "copy");
}

inline void transpose(const Descriptor& input, Descriptor output, std::size_t first_transpose_axis,
                      std::size_t second_transpose_axis,
                      const FilterParameters& filter_parameters = {}) {
  const BNNSFilterParameters native = detail::native(filter_parameters);
  detail::require_one_sample_each("transpose", {{"input", input}, {"output", output}});
  detail::check_apply(
      BNNSTranspose(&output, &input, first_transpose_axis, second_transpose_axis, &native),
      "transpose");
}

// The output has the size 1 where it is reduced.
inline void apply_reduction(const ReductionFunction& function, const Descriptor& input,
                            const Descriptor& output,
                            const std::optional<Descriptor>& weights = std::nullopt,
                            const FilterParameters& filter_parameters = {}) {
  constexpr const char* kOperation = "apply_reduction";
  detail::require_one_sample_each(kOperation, {{"input", input}, {"output", output}});
  if (weights) detail::require_one_sample(*weights, kOperation, "weights");
  const std::size_t input_rank = rank(static_cast<DataLayout>(input.layout));
  const std::size_t output_rank = rank(static_cast<DataLayout>(output.layout));
  detail::require(input_rank == output_rank, Error::Code::invalid_argument, kOperation,
                  "input has rank ", input_rank, ", output has rank ", output_rank,
                  "; they must be equal");
  const BNNSLayerParametersReduction parameters =
      detail::reduction_parameters(function, input, output, detail::value_or_zero(weights));
  const BNNSFilterParameters native = detail::native(filter_parameters);
  detail::check_apply(BNNSDirectApplyReduction(&parameters, &native), kOperation);
}

enum class RelationalOperator {
  equal = BNNSRelationalOperatorEqual,
  less = BNNSRelationalOperatorLess,
  less_equal = BNNSRelationalOperatorLessEqual,
  greater = BNNSRelationalOperatorGreater,
  greater_equal = BNNSRelationalOperatorGreaterEqual,
  not_equal = BNNSRelationalOperatorNotEqual,
  logical_and = BNNSRelationalOperatorLogicalAND,
  logical_or = BNNSRelationalOperatorLogicalOR,
  logical_not = BNNSRelationalOperatorLogicalNOT,  // of the first tensor
  logical_nand = BNNSRelationalOperatorLogicalNAND,
  logical_nor = BNNSRelationalOperatorLogicalNOR,
  logical_xor = BNNSRelationalOperatorLogicalXOR,
};

// output = in0 op in1 by elements; the output is of booleans. Reasons name these arguments.
inline void compare(const Descriptor& in0, const Descriptor& in1, RelationalOperator op,
                    Descriptor output) {
  detail::require_one_sample_each("compare", {{"in0", in0}, {"in1", in1}, {"output", output}});
  const int status =
      BNNSCompareTensor(&in0, &in1, static_cast<BNNSRelationalOperator>(op), &output);
  if (status != 0) {
    throw Error(Error::Code::layer_apply_fail, "compare", OpenBNNSGetLastError(), status);
  }
}

struct MatrixMultiplyOptions {
  bool transpose_a = false;
  bool transpose_b = false;
  float alpha = 1;
  FilterParameters filter_parameters = {};
};

// Bytes that a workspace for matrix_multiply needs; the memory of the arrays is not looked at.
inline std::size_t matrix_multiply_workspace_size(const Descriptor& input_a,
                                                  const Descriptor& input_b,
                                                  const Descriptor& output,
                                                  const MatrixMultiplyOptions& options = {}) {
  const BNNSFilterParameters native = detail::native(options.filter_parameters);
  const auto size = BNNSMatMulWorkspaceSize(options.transpose_a, options.transpose_b, options.alpha,
                                            &input_a, &input_b, &output, &native);
  detail::check_apply(size < 0 ? -1 : 0, "matrix_multiply_workspace_size");
  return static_cast<std::size_t>(size);
}

// output = alpha op(input_a) op(input_b) on the last two axes; axes before them are broadcast. With
// a workspace of the size above nothing is allocated.
inline void matrix_multiply(const Descriptor& input_a, const Descriptor& input_b,
                            const Descriptor& output, const MatrixMultiplyOptions& options = {},
                            std::span<std::byte> workspace = {}) {
  constexpr const char* kOperation = "matrix_multiply";
  const BNNSFilterParameters native = detail::native(options.filter_parameters);
  detail::require_one_sample_each(kOperation,
                                  {{"input_a", input_a}, {"input_b", input_b}, {"output", output}});
  if (!workspace.empty()) {
    const std::size_t size = matrix_multiply_workspace_size(input_a, input_b, output, options);
    detail::require(workspace.size() >= size, Error::Code::invalid_argument, kOperation,
                    "workspace has ", workspace.size(), " bytes, the product needs ", size);
  }
  detail::check_apply(BNNSMatMul(options.transpose_a, options.transpose_b, options.alpha, &input_a,
                                 &input_b, &output, workspace.data(), &native),
                      kOperation);
}

inline void clip(float lower, float upper, const Descriptor& input, Descriptor output) {
  detail::require_one_sample_each("clip", {{"input", input}, {"output", output}});
  detail::check_apply(BNNSClipByValue(&output, &input, lower, upper), "clip");
}

// No axes: one norm over all of them.
inline void clip_by_norm(float threshold, const Descriptor& input, Descriptor output,
                         const std::vector<std::size_t>& axes = {}) {
  detail::require_one_sample_each("clip_by_norm", {{"input", input}, {"output", output}});
  detail::check_apply(
      BNNSClipByNorm(&output, &input, threshold, detail::axis_flags(axes, "clip_by_norm")),
      "clip_by_norm");
}

// A global_norm of 0 is computed from all inputs.
inline void clip_by_global_norm(float threshold, DescriptorList inputs, DescriptorList outputs,
                                float global_norm = 0) {
  detail::require(inputs.size() == outputs.size(), Error::Code::invalid_argument,
                  "clip_by_global_norm", "there are not as many outputs as inputs");
  for (const Descriptor& input : inputs) {
    detail::require_one_sample(input, "clip_by_global_norm", "an input");
  }
  for (const Descriptor& output : outputs) {
    detail::require_one_sample(output, "clip_by_global_norm", "an output");
  }
  auto from = detail::pointers_to<const BNNSNDArrayDescriptor*>(inputs);
  auto to = detail::pointers_to<BNNSNDArrayDescriptor*>(outputs);
  detail::check_apply(
      BNNSClipByGlobalNorm(to.data(), from.data(), from.size(), threshold, global_norm),
      "clip_by_global_norm");
}

// The Euclidean norm over the axes; none: over all.
inline void compute_norm(const Descriptor& input, Descriptor output,
                         const std::vector<std::size_t>& axes = {}) {
  detail::require_one_sample_each("compute_norm", {{"input", input}, {"output", output}});
  detail::check_apply(
      BNNSComputeNorm(&output, &input, BNNSL2Norm, detail::axis_flags(axes, "compute_norm")),
      "compute_norm");
}

inline void compute_norm_backward(const Descriptor& input, const Descriptor& output,
                                  const std::vector<std::size_t>& axes,
                                  const Descriptor& output_gradient, Descriptor input_gradient) {
  constexpr const char* kOperation = "compute_norm_backward";
  detail::require_data(input, kOperation, "input");
  detail::require_data(output, kOperation, "output");
  detail::require_one_sample_each(kOperation, {{"input", input},
                                               {"output", output},
                                               {"output_gradient", output_gradient},
                                               {"input_gradient", input_gradient}});
  detail::check_apply(
      BNNSComputeNormBackward(input.data, &input_gradient, output.data, &output_gradient,
                              BNNSL2Norm, detail::axis_flags(axes, kOperation)),
      kOperation);
}

// scale * x + bias to integers (rounded to even, saturated), or (x - bias) / scale from them.
// Without an axis there is one scale and one bias, else one per index of that axis; an axis behind
// the last one is the batch.
struct QuantizationOptions {
  Required<Descriptor, field::input> input;
  Required<Descriptor, field::output> output;
  std::optional<std::size_t> axis = std::nullopt;
  std::optional<Descriptor> scale = std::nullopt;  // vectors
  std::optional<Descriptor> bias = std::nullopt;
  FilterParameters filter_parameters = {};
};

namespace detail {

inline void apply_quantizer(BNNSQuantizerFunction function, std::size_t batch_size,
                            const QuantizationOptions& options, const char* operation) {
  require(batch_size > 0, Error::Code::invalid_argument, operation, "batch_size is 0");
  require_samples(options.input, batch_size, operation, "input");
  require_samples(options.output, batch_size, operation, "output");
  BNNSLayerParametersQuantization parameters = {};
  if (options.axis) {
    parameters.axis_mask = axis_flags({*options.axis}, operation);
  }
  parameters.function = function;
  parameters.i_desc = *options.input;
  parameters.o_desc = *options.output;
  parameters.scale = value_or_zero(options.scale);
  parameters.bias = value_or_zero(options.bias);
  const BNNSFilterParameters filter_parameters = native(options.filter_parameters);
  check_apply(BNNSDirectApplyQuantizer(&parameters, &filter_parameters, batch_size,
                                       batch_stride(options.input), batch_stride(options.output)),
              operation);
}

}  // namespace detail

inline void quantize(std::size_t batch_size, const QuantizationOptions& options) {
  detail::apply_quantizer(BNNSQuantizerFunctionQuantize, batch_size, options, "quantize");
}

inline void dequantize(std::size_t batch_size, const QuantizationOptions& options) {
  detail::apply_quantizer(BNNSQuantizerFunctionDequantize, batch_size, options, "dequantize");
}

// In bytes, gaps included.
inline std::size_t data_size(const Descriptor& descriptor) {
  const std::size_t size = BNNSNDArrayGetDataSize(&descriptor);
  detail::check_apply(size == 0 ? -1 : 0, "data_size");
  return size;
}

}  // namespace bnns

#endif
