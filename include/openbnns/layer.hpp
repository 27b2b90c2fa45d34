// What all layers derive from: an owned filter of the C API, and what it was made for. Layers are
// moved, not copied; a layer that was moved from holds no filter, and its calls throw.
#ifndef OPENBNNS_LAYER_HPP
#define OPENBNNS_LAYER_HPP

#include <cstddef>
#include <initializer_list>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "filter_parameters.hpp"
#include "form.hpp"
#include "parameter_descriptor.hpp"
#include "required.hpp"

namespace bnns {

namespace detail {

// What a create function returned. Constructors take it like this, so that it is not lost if
// another of their arguments throws.
class OwnedFilter {
 public:
  OwnedFilter(BNNSFilter filter) noexcept : filter_(filter) {}

  BNNSFilter get() const noexcept { return filter_.get(); }
  BNNSFilter release() noexcept { return filter_.release(); }

 private:
  struct Destroy {
    void operator()(void* filter) const noexcept { BNNSFilterDestroy(filter); }
  };
  std::unique_ptr<void, Destroy> filter_;
};

}  // namespace detail

class Layer {
 public:
  BNNSFilter native_handle() const noexcept { return filter_.get(); }
  // The caller destroys it with BNNSFilterDestroy.
  BNNSFilter release() noexcept { return filter_.release(); }

  // Calls of up to `batch_size` samples by up to `callers` threads at a time allocate nothing.
  void reserve(std::size_t batch_size, std::size_t callers = 1) {
    detail::check(OpenBNNSFilterReserve(native_handle(), batch_size, callers),
                  Error::Code::layer_apply_fail, "Layer::reserve");
  }

 protected:
  // Takes what a create function returned, and shares the memory of what the filter goes on using.
  Layer(detail::OwnedFilter filter, const char* class_name,
        std::initializer_list<std::optional<ParameterDescriptor>> parameters = {})
      : filter_(std::move(filter)) {
    if (native_handle() == nullptr) {
      throw Error(Error::Code::unable_to_create_layer, class_name,
                  detail::in_cpp_names(OpenBNNSGetLastError()));
    }
    for (const auto& parameter : parameters) keep(parameter);
  }
  ~Layer() = default;
  Layer(Layer&&) noexcept = default;
  Layer& operator=(Layer&&) noexcept = default;

  void keep(const std::optional<ParameterDescriptor>& parameter) {
    if (parameter && parameter->owner()) owners_.push_back(parameter->owner());
  }

  void require_ready(std::size_t batch_size, const char* operation) const {
    detail::require(native_handle() != nullptr, Error::Code::invalid_argument, operation,
                    "the layer was moved from or released");
    detail::require(batch_size > 0, Error::Code::invalid_argument, operation, "batch_size is 0");
  }

 private:
  // Declared first: the memory outlives the filter that uses it.
  std::vector<std::shared_ptr<const void>> owners_;
  detail::OwnedFilter filter_;
};

// Arguments of a backward pass with one input. `input` and `output` are those of the forward pass;
// one that the gradients do not depend on may be left out.
struct UnaryBackwardArguments {
  Descriptor input = {};
  Descriptor output = {};
  Required<Descriptor, field::output_gradient> output_gradient;
  std::optional<Descriptor> input_gradient = std::nullopt;
};

// Calls without a batch size take all samples of their tensors.
class UnaryLayer : public Layer {
 public:
  void apply(std::size_t batch_size, const Descriptor& input, const Descriptor& output) {
    constexpr const char* kOperation = "UnaryLayer::apply";
    require_ready(batch_size, kOperation);
    input_.check(input, batch_size, kOperation, "input");
    output_.check(output, batch_size, kOperation, "output");
    detail::check(
        BNNSFilterApplyBatch(native_handle(), batch_size, input.data, detail::batch_stride(input),
                             output.data, detail::batch_stride(output)),
        Error::Code::layer_apply_fail, kOperation);
  }
  void apply(const Descriptor& input, const Descriptor& output) {
    apply(detail::common_batch_size("UnaryLayer::apply", {{"input", input}, {"output", output}}),
          input, output);
  }

  void apply_backward(std::size_t batch_size, const UnaryBackwardArguments& arguments) {
    backward(batch_size, arguments, std::nullopt, std::nullopt, "UnaryLayer::apply_backward");
  }
  void apply_backward(const UnaryBackwardArguments& arguments) {
    apply_backward(common_batch_size(arguments, "UnaryLayer::apply_backward"), arguments);
  }

 protected:
  UnaryLayer(detail::OwnedFilter filter, const char* class_name, const Descriptor& input,
             const Descriptor& output,
             std::initializer_list<std::optional<ParameterDescriptor>> parameters = {})
      : Layer(std::move(filter), class_name, parameters), input_(input), output_(output) {}

  template <typename Arguments>
  static std::size_t common_batch_size(const Arguments& arguments, const char* operation) {
    return detail::common_batch_size(operation, {{"input", arguments.input},
                                                 {"output", arguments.output},
                                                 {"output_gradient", *arguments.output_gradient}});
  }

  // Shapes and types of gradients are checked by the C call, which sees their descriptors.
  void backward(std::size_t batch_size, UnaryBackwardArguments arguments,
                std::optional<Descriptor> weights_gradient, std::optional<Descriptor> bias_gradient,
                const char* operation) {
    require_ready(batch_size, operation);
    std::optional<Descriptor>& input_gradient = arguments.input_gradient;
    input_.check_optional(arguments.input, batch_size, operation, "input");
    output_.check_optional(arguments.output, batch_size, operation, "output");
    detail::require_samples(*arguments.output_gradient, batch_size, operation, "output_gradient");
    if (input_gradient) {
      detail::require_samples(*input_gradient, batch_size, operation, "input_gradient");
    }
    detail::check(
        BNNSFilterApplyBackwardBatch(
            native_handle(), batch_size, arguments.input.data,
            detail::batch_stride(arguments.input), detail::pointer_or_null(input_gradient),
            input_gradient ? detail::batch_stride(*input_gradient) : 0, arguments.output.data,
            detail::batch_stride(arguments.output), &*arguments.output_gradient,
            detail::batch_stride(*arguments.output_gradient),
            detail::pointer_or_null(weights_gradient), detail::pointer_or_null(bias_gradient)),
        Error::Code::layer_apply_fail, operation);
  }

 private:
  detail::Form input_, output_;
};

}  // namespace bnns

#endif
