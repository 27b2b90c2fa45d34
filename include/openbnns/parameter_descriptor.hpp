// Weights, bias and whatever else a layer goes on using after it was made. A layer reads such
// memory at every call, so that a step of the optimizer is seen by the next one, and shares the
// ownership if it is that of a Tensor: a tensor that goes out of scope, or a temporary, cannot
// leave it dangling. Memory behind a plain pointer must outlive the layer.
#ifndef OPENBNNS_PARAMETER_DESCRIPTOR_HPP
#define OPENBNNS_PARAMETER_DESCRIPTOR_HPP

#include <memory>
#include <utility>

#include "descriptor.hpp"

namespace bnns {

template <typename T>
concept OwnsMemory = requires(const T& array) {
  { array.descriptor() } -> std::same_as<Descriptor>;
  { array.owner() } -> std::convertible_to<std::shared_ptr<const void>>;
};

class ParameterDescriptor : public Descriptor {
 public:
  ParameterDescriptor() = default;
  ParameterDescriptor(const Descriptor& descriptor) : Descriptor(descriptor) {
    detail::require_one_sample(descriptor, "ParameterDescriptor", "the parameter");
  }
  template <OwnsMemory Array>
  ParameterDescriptor(const Array& array) : ParameterDescriptor(array.descriptor()) {
    owner_ = array.owner();
    trained_ = requires {
      array.gradient;
    };
  }
  ParameterDescriptor(const Descriptor& descriptor, std::shared_ptr<const void> owner)
      : ParameterDescriptor(descriptor) {
    owner_ = std::move(owner);
  }

  // Empty for a plain pointer.
  const std::shared_ptr<const void>& owner() const noexcept { return owner_; }
  // Whether it was made from a Parameter, which has a gradient: the layer is going to be trained.
  bool is_trained() const noexcept { return trained_; }

 private:
  std::shared_ptr<const void> owner_;
  bool trained_ = false;
};

}  // namespace bnns

#endif
