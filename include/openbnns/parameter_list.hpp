// What an optimizer steps: parameters with their gradients, and the moments it keeps of them.
#ifndef OPENBNNS_PARAMETER_LIST_HPP
#define OPENBNNS_PARAMETER_LIST_HPP

#include <concepts>
#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "parameter_descriptor.hpp"
#include "tensor.hpp"

namespace bnns {

using DescriptorList = std::vector<Descriptor>;

// A tensor that is trained, and its gradient. It stands for its value where a layer is made.
struct Parameter {
  explicit Parameter(Tensor initial) : value(std::move(initial)), gradient(value.shape()) {}
  // Zeros.
  explicit Parameter(const Shape& shape) : Parameter(Tensor(shape)) {}

  Descriptor descriptor() const { return value.descriptor(); }
  std::shared_ptr<const void> owner() const noexcept { return value.owner(); }

  Tensor value;
  Tensor gradient;
};

// All parameters of a network: `adam.step(list)` is one step of it. The moments are made at the
// first step and start with zeros. The list shares the memory of what it was given.
class ParameterList {
 public:
  ParameterList() = default;
  template <std::same_as<Parameter>... Parameters>
  explicit ParameterList(const Parameter& first, const Parameters&... others) {
    add(first);
    (add(others), ...);
  }

  void add(const Parameter& parameter) { add(parameter.value, parameter.gradient); }
  void add(const Tensor& value, const Tensor& gradient) {
    const ParameterDescriptor v(value), g(gradient);
    detail::require(moments_.empty(), Error::Code::invalid_argument, "ParameterList::add",
                    "steps were made already; reset_moments() begins anew");
    values_.push_back(v);
    gradients_.push_back(g);
    owners_.push_back(v.owner());
    owners_.push_back(g.owner());
  }

  std::size_t size() const noexcept { return values_.size(); }
  const DescriptorList& values() const noexcept { return values_; }
  const DescriptorList& gradients() const noexcept { return gradients_; }

  // As many as an optimizer wants, by kind and then by parameter.
  const DescriptorList& moments(std::size_t per_parameter) {
    const std::size_t count = per_parameter * size();
    if (moments_.empty()) {
      for (std::size_t i = 0; i < count; ++i) {
        tensors_.emplace_back(shape_of(values_[i % size()]));
        moments_.push_back(tensors_.back());
      }
    }
    detail::require(moments_.size() == count, Error::Code::invalid_argument,
                    "ParameterList::moments",
                    "the moments are those of another optimizer; reset_moments() begins anew");
    return moments_;
  }
  void reset_moments() {
    tensors_.clear();
    moments_.clear();
  }

 private:
  DescriptorList values_, gradients_, moments_;
  std::vector<Tensor> tensors_;
  std::vector<std::shared_ptr<const void>> owners_;
};

}  // namespace bnns

#endif
