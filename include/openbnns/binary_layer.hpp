// Layers with two inputs.
#ifndef OPENBNNS_BINARY_LAYER_HPP
#define OPENBNNS_BINARY_LAYER_HPP

#include <cstddef>
#include <optional>
#include <utility>

#include "layer.hpp"

namespace bnns {

// Arguments of a backward pass with two inputs. The gradient of one input is computed from the
// other; an input that no wanted gradient needs may be left out.
struct BinaryBackwardArguments {
  Descriptor input_a = {};
  Descriptor input_b = {};
  Descriptor output = {};
  Required<Descriptor, field::output_gradient> output_gradient;
  std::optional<Descriptor> input_a_gradient = std::nullopt;
  std::optional<Descriptor> input_b_gradient = std::nullopt;
};

// Calls without a batch size take all samples of their tensors.
class BinaryLayer : public Layer {
 public:
  void apply(std::size_t batch_size, const Descriptor& input_a, const Descriptor& input_b,
             const Descriptor& output) {
    constexpr const char* kOperation = "BinaryLayer::apply";
    require_ready(batch_size, kOperation);
    input_a_.check(input_a, batch_size, kOperation, "input_a");
    input_b_.check(input_b, batch_size, kOperation, "input_b");
    output_.check(output, batch_size, kOperation, "output");
    detail::check(BNNSFilterApplyTwoInputBatch(native_handle(), batch_size, input_a.data,
                                               detail::batch_stride(input_a), input_b.data,
                                               detail::batch_stride(input_b), output.data,
                                               detail::batch_stride(output)),
                  Error::Code::layer_apply_fail, kOperation);
  }
  void apply(const Descriptor& input_a, const Descriptor& input_b, const Descriptor& output) {
    apply(
        detail::common_batch_size("BinaryLayer::apply",
                                  {{"input_a", input_a}, {"input_b", input_b}, {"output", output}}),
        input_a, input_b, output);
  }

  void apply_backward(std::size_t batch_size, BinaryBackwardArguments arguments) {
    constexpr const char* kOperation = "BinaryLayer::apply_backward";
    require_ready(batch_size, kOperation);
    std::optional<Descriptor>&a = arguments.input_a_gradient, &b = arguments.input_b_gradient;
    input_a_.check_optional(arguments.input_a, batch_size, kOperation, "input_a");
    input_b_.check_optional(arguments.input_b, batch_size, kOperation, "input_b");
    output_.check_optional(arguments.output, batch_size, kOperation, "output");
    detail::require_samples(*arguments.output_gradient, batch_size, kOperation, "output_gradient");
    if (a) detail::require_samples(*a, batch_size, kOperation, "input_a_gradient");
    if (b) detail::require_samples(*b, batch_size, kOperation, "input_b_gradient");
    detail::check(BNNSFilterApplyBackwardTwoInputBatch(
                      native_handle(), batch_size, arguments.input_a.data,
                      detail::batch_stride(arguments.input_a), detail::pointer_or_null(a),
                      a ? detail::batch_stride(*a) : 0, arguments.input_b.data,
                      detail::batch_stride(arguments.input_b), detail::pointer_or_null(b),
                      b ? detail::batch_stride(*b) : 0, arguments.output.data,
                      detail::batch_stride(arguments.output), &*arguments.output_gradient,
                      detail::batch_stride(*arguments.output_gradient), nullptr, nullptr),
                  Error::Code::layer_apply_fail, kOperation);
  }
  void apply_backward(const BinaryBackwardArguments& arguments) {
    apply_backward(detail::common_batch_size("BinaryLayer::apply_backward",
                                             {{"input_a", arguments.input_a},
                                              {"input_b", arguments.input_b},
                                              {"output_gradient", *arguments.output_gradient}}),
                   arguments);
  }

 protected:
  BinaryLayer(detail::OwnedFilter filter, const char* class_name, const Descriptor& input_a,
              const Descriptor& input_b, const Descriptor& output,
              std::initializer_list<std::optional<ParameterDescriptor>> parameters = {})
      : Layer(std::move(filter), class_name, parameters),
        input_a_(input_a),
        input_b_(input_b),
        output_(output) {}

  const detail::Form& form_of_a() const noexcept { return input_a_; }
  const detail::Form& form_of_b() const noexcept { return input_b_; }
  const detail::Form& form_of_output() const noexcept { return output_; }

 private:
  detail::Form input_a_, input_b_, output_;
};

}  // namespace bnns

#endif
