// Element-wise arithmetic of one, two or three inputs, which are broadcast to the output along axes
// where their size is 1.
#ifndef OPENBNNS_LAYERS_ARITHMETIC_HPP
#define OPENBNNS_LAYERS_ARITHMETIC_HPP

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

#include "activation.hpp"

namespace bnns {

// What a tensor of an arithmetic layer is. A sample exists once per sample of the batch. A
// parameter exists once, and its gradient is summed over the batch. A constant has no gradient.
enum class DescriptorType : std::uint32_t {
  constant = BNNSConstant,
  sample = BNNSSample,
  parameter = BNNSParameter,
};

enum class ArithmeticUnaryFunction : std::uint32_t {
  square_root = BNNSArithmeticSquareRoot,
  reciprocal_square_root = BNNSArithmeticReciprocalSquareRoot,
  ceil = BNNSArithmeticCeil,
  floor = BNNSArithmeticFloor,
  round = BNNSArithmeticRound,
  sin = BNNSArithmeticSin,
  cos = BNNSArithmeticCos,
  tan = BNNSArithmeticTan,
  asin = BNNSArithmeticAsin,
  acos = BNNSArithmeticAcos,
  atan = BNNSArithmeticAtan,
  sinh = BNNSArithmeticSinh,
  cosh = BNNSArithmeticCosh,
  tanh = BNNSArithmeticTanh,
  asinh = BNNSArithmeticAsinh,
  acosh = BNNSArithmeticAcosh,
  atanh = BNNSArithmeticAtanh,
  exp = BNNSArithmeticExp,
  exp2 = BNNSArithmeticExp2,
  log = BNNSArithmeticLog,
  log2 = BNNSArithmeticLog2,
  abs = BNNSArithmeticAbs,
  sign = BNNSArithmeticSign,
  negate = BNNSArithmeticNegate,
  reciprocal = BNNSArithmeticReciprocal,
  square = BNNSArithmeticSquare,
  erf = BNNSArithmeticErf,
};

enum class ArithmeticBinaryFunction : std::uint32_t {
  add = BNNSArithmeticAdd,
  subtract = BNNSArithmeticSubtract,
  multiply = BNNSArithmeticMultiply,
  divide = BNNSArithmeticDivide,
  pow = BNNSArithmeticPow,
  multiply_no_nan = BNNSArithmeticMultiplyNoNaN,
  divide_no_nan = BNNSArithmeticDivideNoNaN,
  min = BNNSArithmeticMinimum,
  max = BNNSArithmeticMaximum,
  flooring_divide = BNNSArithmeticFloorDivide,
  truncating_divide = BNNSArithmeticTruncDivide,
  truncating_remainder = BNNSArithmeticTruncRemainder,
};

enum class ArithmeticTernaryFunction : std::uint32_t {
  multiply_add = BNNSArithmeticMultiplyAdd,
  select = BNNSArithmeticSelect,  // an addition to Swift's: input_a is the condition
};

namespace detail {

// What the three classes have in common. Names are those of the inputs in messages.
template <std::size_t kInputs>
class ArithmeticLayer : public Layer {
 protected:
  using Inputs = std::array<Descriptor, kInputs>;
  using Gradients = std::array<std::optional<Descriptor>, kInputs>;
  using Types = std::array<DescriptorType, kInputs>;
  struct Names {
    const char* input[3];
    const char* gradient[3];
  };
  static constexpr Names kNames =
      kInputs == 1 ? Names{{"input", "", ""}, {"input_gradient", "", ""}}
                   : Names{{"input_a", "input_b", "input_c"},
                           {"input_a_gradient", "input_b_gradient", "input_c_gradient"}};

  ArithmeticLayer(detail::OwnedFilter filter, const char* class_name, const Inputs& inputs,
                  const Types& types, const Descriptor& output, DescriptorType output_type)
      : Layer(std::move(filter), class_name),
        types_(types),
        output_(output),
        output_type_(output_type) {
    for (std::size_t k = 0; k < kInputs; ++k) inputs_[k].emplace(inputs[k]);
  }

  template <typename Fields>
  static BNNSFilter create(std::uint32_t function, Fields fields,
                           const ActivationFunction& activation,
                           const FilterParameters& filter_parameters) {
    BNNSLayerParametersArithmetic parameters = {};
    parameters.arithmetic_function = static_cast<BNNSArithmeticFunction>(function);
    parameters.arithmetic_function_fields = &fields;
    parameters.activation = activation.native();
    const BNNSFilterParameters native = detail::native(filter_parameters);
    return BNNSFilterCreateLayerArithmetic(&parameters, &native);
  }

  void forward(std::size_t batch_size, const Inputs& inputs, const Descriptor& output,
               const char* operation) {
    require_ready(batch_size, operation);
    for (std::size_t k = 0; k < kInputs; ++k)
      inputs_[k]->check(inputs[k], samples(k, batch_size), operation, kNames.input[k]);
    output_.check(output, output_samples(batch_size), operation, "output");
    const Native native(inputs);
    check(BNNSArithmeticFilterApplyBatch(native_handle(), batch_size, kInputs,
                                         const_cast<const void**>(native.data.data()),
                                         native.stride.data(), output.data, batch_stride(output)),
          Error::Code::layer_apply_fail, operation);
  }

  // A gradient that is left out is not computed.
  void backward(std::size_t batch_size, const Inputs& inputs, const Descriptor& output,
                Descriptor output_gradient, const Gradients& gradients, const char* operation) {
    require_ready(batch_size, operation);
    for (std::size_t k = 0; k < kInputs; ++k)
      inputs_[k]->check_optional(inputs[k], samples(k, batch_size), operation, kNames.input[k]);
    output_.check_optional(output, output_samples(batch_size), operation, "output");
    require_samples(output_gradient, output_samples(batch_size), operation, "output_gradient");
    std::array<Descriptor, kInputs> deltas = {};
    std::array<BNNSNDArrayDescriptor*, kInputs> pointers;
    std::array<std::size_t, kInputs> strides = {};
    for (std::size_t k = 0; k < kInputs; ++k) {
      pointers[k] = &deltas[k];
      if (!gradients[k]) continue;
      deltas[k] = *gradients[k];
      require_samples(deltas[k], samples(k, batch_size), operation, kNames.gradient[k]);
      strides[k] = batch_stride(deltas[k]);
    }
    const Native native(inputs);
    check(BNNSArithmeticFilterApplyBackwardBatch(
              native_handle(), batch_size, kInputs, const_cast<const void**>(native.data.data()),
              native.stride.data(), pointers.data(), strides.data(), output.data,
              output.data == nullptr ? 0 : batch_stride(output), &output_gradient,
              batch_stride(output_gradient)),
          Error::Code::layer_apply_fail, operation);
  }

  // The batch size of a call that was not told one: that of its samples.
  std::size_t common(const Inputs& inputs, const Descriptor& output, const char* operation) const {
    const Descriptor none = {};
    const auto sample = [&](std::size_t k) -> const Descriptor& {
      return k < kInputs && types_[k] == DescriptorType::sample ? inputs[k] : none;
    };
    if (output_type_ != DescriptorType::sample) return 1;
    return common_batch_size(operation, {{kNames.input[0], sample(0)},
                                         {kNames.input[1], sample(1)},
                                         {kNames.input[2], sample(2)},
                                         {"output", output}});
  }

 private:
  struct Native {
    explicit Native(const Inputs& inputs) {
      for (std::size_t k = 0; k < kInputs; ++k) {
        data[k] = inputs[k].data;
        stride[k] = inputs[k].data == nullptr ? 0 : batch_stride(inputs[k]);
      }
    }
    std::array<const void*, kInputs> data;
    std::array<std::size_t, kInputs> stride;
  };

  std::size_t samples(std::size_t input, std::size_t batch_size) const {
    return types_[input] == DescriptorType::sample ? batch_size : 1;
  }
  std::size_t output_samples(std::size_t batch_size) const {
    return output_type_ == DescriptorType::sample ? batch_size : 1;
  }

  std::array<std::optional<Form>, kInputs> inputs_;
  Types types_;
  Form output_;
  DescriptorType output_type_;
};

inline BNNSDescriptorType native(DescriptorType type) {
  return static_cast<BNNSDescriptorType>(type);
}

}  // namespace detail

// ---- One input ----

struct UnaryArithmeticLayerOptions {
  Required<Descriptor, field::input> input;
  Required<Descriptor, field::output> output;
  Required<ArithmeticUnaryFunction, field::function> function;
  DescriptorType input_descriptor_type = DescriptorType::sample;
  DescriptorType output_descriptor_type = DescriptorType::sample;
  ActivationFunction activation = ActivationFunction::identity();
  FilterParameters filter_parameters = {};
};

class UnaryArithmeticLayer : public detail::ArithmeticLayer<1> {
 public:
  explicit UnaryArithmeticLayer(const UnaryArithmeticLayerOptions& o)
      : ArithmeticLayer(
            create(static_cast<std::uint32_t>(*o.function),
                   BNNSArithmeticUnary{*o.input, detail::native(o.input_descriptor_type), *o.output,
                                       detail::native(o.output_descriptor_type)},
                   o.activation, o.filter_parameters),
            "UnaryArithmeticLayer", {*o.input}, {o.input_descriptor_type}, *o.output,
            o.output_descriptor_type) {}

  void apply(std::size_t batch_size, const Descriptor& input, const Descriptor& output) {
    forward(batch_size, {input}, output, "UnaryArithmeticLayer::apply");
  }
  void apply(const Descriptor& input, const Descriptor& output) {
    apply(common({input}, output, "UnaryArithmeticLayer::apply"), input, output);
  }

  void apply_backward(std::size_t batch_size, const UnaryBackwardArguments& a) {
    backward(batch_size, {a.input}, a.output, *a.output_gradient, {a.input_gradient},
             "UnaryArithmeticLayer::apply_backward");
  }
  void apply_backward(const UnaryBackwardArguments& a) {
    apply_backward(common({a.input}, *a.output_gradient, "UnaryArithmeticLayer::apply_backward"),
                   a);
  }
};

// ---- Two inputs ----

struct BinaryArithmeticLayerOptions {
  Required<Descriptor, field::input_a> input_a;
  Required<Descriptor, field::input_b> input_b;
  Required<Descriptor, field::output> output;
  Required<ArithmeticBinaryFunction, field::function> function;
  DescriptorType input_a_descriptor_type = DescriptorType::sample;
  DescriptorType input_b_descriptor_type = DescriptorType::sample;
  DescriptorType output_descriptor_type = DescriptorType::sample;
  ActivationFunction activation = ActivationFunction::identity();
  FilterParameters filter_parameters = {};
};

// Inputs and output are those of the forward pass; one that the gradients do not depend on may be
// left out.
struct BinaryArithmeticBackwardArguments {
  Descriptor input_a = {};
  Descriptor input_b = {};
  Descriptor output = {};
  Required<Descriptor, field::output_gradient> output_gradient;
  std::optional<Descriptor> input_a_gradient = std::nullopt;
  std::optional<Descriptor> input_b_gradient = std::nullopt;
};

class BinaryArithmeticLayer : public detail::ArithmeticLayer<2> {
 public:
  explicit BinaryArithmeticLayer(const BinaryArithmeticLayerOptions& o)
      : ArithmeticLayer(
            create(static_cast<std::uint32_t>(*o.function),
                   BNNSArithmeticBinary{*o.input_a, detail::native(o.input_a_descriptor_type),
                                        *o.input_b, detail::native(o.input_b_descriptor_type),
                                        *o.output, detail::native(o.output_descriptor_type)},
                   o.activation, o.filter_parameters),
            "BinaryArithmeticLayer", {*o.input_a, *o.input_b},
            {o.input_a_descriptor_type, o.input_b_descriptor_type}, *o.output,
            o.output_descriptor_type) {}

  void apply(std::size_t batch_size, const Descriptor& input_a, const Descriptor& input_b,
             const Descriptor& output) {
    forward(batch_size, {input_a, input_b}, output, "BinaryArithmeticLayer::apply");
  }
  void apply(const Descriptor& input_a, const Descriptor& input_b, const Descriptor& output) {
    apply(common({input_a, input_b}, output, "BinaryArithmeticLayer::apply"), input_a, input_b,
          output);
  }

  void apply_backward(std::size_t batch_size, const BinaryArithmeticBackwardArguments& a) {
    backward(batch_size, {a.input_a, a.input_b}, a.output, *a.output_gradient,
             {a.input_a_gradient, a.input_b_gradient}, "BinaryArithmeticLayer::apply_backward");
  }
  void apply_backward(const BinaryArithmeticBackwardArguments& a) {
    apply_backward(
        common({a.input_a, a.input_b}, *a.output_gradient, "BinaryArithmeticLayer::apply_backward"),
        a);
  }
};

// ---- Three inputs ----

struct TernaryArithmeticLayerOptions {
  Required<Descriptor, field::input_a> input_a;
  Required<Descriptor, field::input_b> input_b;
  Required<Descriptor, field::input_c> input_c;
  Required<Descriptor, field::output> output;
  Required<ArithmeticTernaryFunction, field::function> function;
  DescriptorType input_a_descriptor_type = DescriptorType::sample;
  DescriptorType input_b_descriptor_type = DescriptorType::sample;
  DescriptorType input_c_descriptor_type = DescriptorType::sample;
  DescriptorType output_descriptor_type = DescriptorType::sample;
  ActivationFunction activation = ActivationFunction::identity();
  FilterParameters filter_parameters = {};
};

struct TernaryArithmeticBackwardArguments {
  Descriptor input_a = {};
  Descriptor input_b = {};
  Descriptor input_c = {};
  Descriptor output = {};
  Required<Descriptor, field::output_gradient> output_gradient;
  std::optional<Descriptor> input_a_gradient = std::nullopt;
  std::optional<Descriptor> input_b_gradient = std::nullopt;
  std::optional<Descriptor> input_c_gradient = std::nullopt;
};

class TernaryArithmeticLayer : public detail::ArithmeticLayer<3> {
 public:
  explicit TernaryArithmeticLayer(const TernaryArithmeticLayerOptions& o)
      : ArithmeticLayer(
            create(static_cast<std::uint32_t>(*o.function),
                   BNNSArithmeticTernary{*o.input_a, detail::native(o.input_a_descriptor_type),
                                         *o.input_b, detail::native(o.input_b_descriptor_type),
                                         *o.input_c, detail::native(o.input_c_descriptor_type),
                                         *o.output, detail::native(o.output_descriptor_type)},
                   o.activation, o.filter_parameters),
            "TernaryArithmeticLayer", {*o.input_a, *o.input_b, *o.input_c},
            {o.input_a_descriptor_type, o.input_b_descriptor_type, o.input_c_descriptor_type},
            *o.output, o.output_descriptor_type) {}

  void apply(std::size_t batch_size, const Descriptor& input_a, const Descriptor& input_b,
             const Descriptor& input_c, const Descriptor& output) {
    forward(batch_size, {input_a, input_b, input_c}, output, "TernaryArithmeticLayer::apply");
  }
  void apply(const Descriptor& input_a, const Descriptor& input_b, const Descriptor& input_c,
             const Descriptor& output) {
    apply(common({input_a, input_b, input_c}, output, "TernaryArithmeticLayer::apply"), input_a,
          input_b, input_c, output);
  }

  void apply_backward(std::size_t batch_size, const TernaryArithmeticBackwardArguments& a) {
    backward(batch_size, {a.input_a, a.input_b, a.input_c}, a.output, *a.output_gradient,
             {a.input_a_gradient, a.input_b_gradient, a.input_c_gradient},
             "TernaryArithmeticLayer::apply_backward");
  }
  void apply_backward(const TernaryArithmeticBackwardArguments& a) {
    apply_backward(common({a.input_a, a.input_b, a.input_c}, *a.output_gradient,
                          "TernaryArithmeticLayer::apply_backward"),
                   a);
  }
};

}  // namespace bnns

#endif
