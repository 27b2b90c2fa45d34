// What all layers derive from: an owned filter of the C API. Layers are moved, not copied; a layer
// that was moved from holds no filter, and its calls throw.
#ifndef OPENBNNS_LAYER_HPP
#define OPENBNNS_LAYER_HPP

#include <cstddef>
#include <memory>
#include <optional>

#include "filter_parameters.hpp"

namespace bnns {

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
  // Takes what a create function returned.
  Layer(BNNSFilter filter, const char* class_name) : filter_(filter) {
    if (!filter_) {
      throw Error(Error::Code::unable_to_create_layer, class_name, OpenBNNSGetLastError());
    }
  }
  ~Layer() = default;
  Layer(Layer&&) noexcept = default;
  Layer& operator=(Layer&&) noexcept = default;

  void require_ready(std::size_t batch_size, const char* operation) const {
    detail::require(filter_ != nullptr, Error::Code::invalid_argument, operation,
                    "the layer was moved from or released");
    detail::require(batch_size > 0, Error::Code::invalid_argument, operation, "batch_size is 0");
  }

 private:
  struct Destroy {
    void operator()(void* filter) const noexcept { BNNSFilterDestroy(filter); }
  };
  std::unique_ptr<void, Destroy> filter_;
};

// Arguments of a backward pass with one input. `input` and `output` are those of the forward pass.
struct UnaryBackwardArguments {
  Descriptor input;
  Descriptor output;
  Descriptor output_gradient;
  std::optional<Descriptor> input_gradient;
};

class UnaryLayer : public Layer {
 public:
  void apply(std::size_t batch_size, const Descriptor& input, const Descriptor& output) {
    constexpr const char* kOperation = "UnaryLayer::apply";
    require_ready(batch_size, kOperation);
    detail::require_data(input, kOperation, "input");
    detail::require_data(output, kOperation, "output");
    detail::check(
        BNNSFilterApplyBatch(native_handle(), batch_size, input.data, detail::batch_stride(input),
                             output.data, detail::batch_stride(output)),
        Error::Code::layer_apply_fail, kOperation);
  }

  void apply_backward(std::size_t batch_size, const UnaryBackwardArguments& arguments) {
    backward(batch_size, arguments, std::nullopt, std::nullopt, "UnaryLayer::apply_backward");
  }

 protected:
  using Layer::Layer;

  void backward(std::size_t batch_size, UnaryBackwardArguments arguments,
                std::optional<Descriptor> weights_gradient, std::optional<Descriptor> bias_gradient,
                const char* operation) {
    require_ready(batch_size, operation);
    std::optional<Descriptor>& input_gradient = arguments.input_gradient;
    detail::check(
        BNNSFilterApplyBackwardBatch(
            native_handle(), batch_size, arguments.input.data,
            detail::batch_stride(arguments.input), detail::pointer_or_null(input_gradient),
            input_gradient ? detail::batch_stride(*input_gradient) : 0, arguments.output.data,
            detail::batch_stride(arguments.output), &arguments.output_gradient,
            detail::batch_stride(arguments.output_gradient),
            detail::pointer_or_null(weights_gradient), detail::pointer_or_null(bias_gradient)),
        Error::Code::layer_apply_fail, operation);
  }
};

}  // namespace bnns

#endif
