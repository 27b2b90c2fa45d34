// Owning arrays: a shape, a number of samples of that shape, and memory for them. They stand
// wherever a descriptor is wanted. A layer shares the memory of the tensors that are its weights;
// assigning another tensor to them replaces the memory, copy_from() the values.
#ifndef OPENBNNS_TENSOR_HPP
#define OPENBNNS_TENSOR_HPP

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <initializer_list>
#include <memory>
#include <new>
#include <ranges>
#include <span>
#include <type_traits>
#include <utility>

#include "initialize.hpp"
#include "random.hpp"

namespace bnns {

template <Scalar T>
class BasicTensor {
 public:
  // All elements 0.
  explicit BasicTensor(const Shape& shape, std::size_t batch_size = 1)
      : BasicTensor(filled(T{}, shape, batch_size)) {}

  static BasicTensor uninitialized(const Shape& shape, std::size_t batch_size = 1) {
    return BasicTensor(Uninitialized{}, shape, batch_size);
  }
  static BasicTensor filled(T value, const Shape& shape, std::size_t batch_size = 1) {
    BasicTensor tensor = uninitialized(shape, batch_size);
    std::ranges::fill(tensor.values(), value);
    return tensor;
  }
  // `values` are the elements as they lie in memory, sample by sample.
  template <std::ranges::input_range Range>
  static BasicTensor from(const Range& values, const Shape& shape, std::size_t batch_size = 1) {
    BasicTensor tensor = uninitialized(shape, batch_size);
    tensor.copy_from(values);
    return tensor;
  }
  static BasicTensor from(std::initializer_list<T> values, const Shape& shape,
                          std::size_t batch_size = 1) {
    return from<std::initializer_list<T>>(values, shape, batch_size);
  }
  // In [a, b).
  static BasicTensor uniform(RandomGenerator& generator, T a, T b, const Shape& shape,
                             std::size_t batch_size = 1) {
    BasicTensor tensor(shape, batch_size);
    if constexpr (std::is_floating_point_v<T>) {
      generator.fill_uniform(tensor.flat(), a, b);
    } else {
      generator.fill_uniform_int(tensor.flat(), static_cast<std::int64_t>(a),
                                 static_cast<std::int64_t>(b));
    }
    return tensor;
  }
  // Weights drawn for layers in front of ReLU (he) and of tanh, sigmoid or softmax (glorot).
  static BasicTensor he_uniform(RandomGenerator& generator, const Shape& shape) {
    return symmetric(generator, detail::uniform_bound(detail::he_deviation(shape, "he_uniform")),
                     shape);
  }
  static BasicTensor he_normal(RandomGenerator& generator, const Shape& shape) {
    return normal(generator, 0, detail::he_deviation(shape, "he_normal"), shape);
  }
  static BasicTensor glorot_uniform(RandomGenerator& generator, const Shape& shape) {
    return symmetric(
        generator, detail::uniform_bound(detail::glorot_deviation(shape, "glorot_uniform")), shape);
  }
  static BasicTensor glorot_normal(RandomGenerator& generator, const Shape& shape) {
    return normal(generator, 0, detail::glorot_deviation(shape, "glorot_normal"), shape);
  }
  // As PyTorch's Linear and Conv2d begin: uniform within 1 / sqrt(fan_in). The bias of a layer
  // takes the weights' shape for that.
  static BasicTensor torch_uniform(RandomGenerator& generator, const Shape& shape,
                                   const Shape& weights) {
    return symmetric(generator, 1 / std::sqrt(detail::fans_of(weights, "torch_uniform").in), shape);
  }
  static BasicTensor torch_uniform(RandomGenerator& generator, const Shape& weights) {
    return torch_uniform(generator, weights, weights);
  }
  static BasicTensor normal(RandomGenerator& generator, float mean, float standard_deviation,
                            const Shape& shape,
                            std::size_t batch_size = 1) requires std::is_floating_point_v<T> {
    BasicTensor tensor(shape, batch_size);
    generator.fill_normal(tensor.flat(), mean, standard_deviation);
    return tensor;
  }

  BasicTensor(BasicTensor&& other) noexcept
      : shape_(other.shape_),
        batch_size_(std::exchange(other.batch_size_, 0)),
        count_(std::exchange(other.count_, 0)),
        data_(std::move(other.data_)) {}
  BasicTensor& operator=(BasicTensor&& other) noexcept {
    shape_ = other.shape_;
    batch_size_ = std::exchange(other.batch_size_, 0);
    count_ = std::exchange(other.count_, 0);
    data_ = std::move(other.data_);
    return *this;
  }

  const Shape& shape() const noexcept { return shape_; }
  std::size_t batch_size() const noexcept { return batch_size_; }
  // Elements of all samples, gaps included.
  std::size_t count() const noexcept { return count_; }

  T* data() noexcept { return data_.get(); }
  const T* data() const noexcept { return data_.get(); }
  std::span<T> values() noexcept { return {data_.get(), count_}; }
  std::span<const T> values() const noexcept { return {data_.get(), count_}; }
  std::span<T> sample(std::size_t index) { return sample_of(values(), index); }
  std::span<const T> sample(std::size_t index) const { return sample_of(values(), index); }

  T& operator[](std::size_t index) noexcept { return data_.get()[index]; }
  const T& operator[](std::size_t index) const noexcept { return data_.get()[index]; }
  T& at(std::size_t index) { return data_.get()[checked(index)]; }
  const T& at(std::size_t index) const { return data_.get()[checked(index)]; }

  template <std::ranges::input_range Range>
  void copy_from(const Range& values) {
    const auto size = static_cast<std::size_t>(std::ranges::distance(values));
    detail::require(size == count_, Error::Code::invalid_argument, "Tensor::copy_from",
                    "the number of values is not that of the tensor");
    std::ranges::copy(values, data_.get());
  }

  // Of one sample, with the number of samples; the next one follows after shape().batch_stride()
  // elements. Data that is only read loses its const here: the C structure has one pointer for
  // both.
  Descriptor descriptor() const {
    return Descriptor(make_descriptor(data_type_of<T>, shape_, data_.get()), batch_size_);
  }
  operator Descriptor() const { return descriptor(); }
  // All samples as one vector, gaps included.
  Descriptor flat() const {
    return Descriptor(make_descriptor(data_type_of<T>, Shape::vector(count_), data_.get()), 1);
  }
  // Keeps the memory alive as long as it exists; layers hold that of their weights.
  std::shared_ptr<const void> owner() const noexcept { return data_; }

 private:
  struct Uninitialized {};
  struct Free {
    void operator()(T* data) const noexcept { ::operator delete(data, kAlignment); }
  };
  // A cache line, and the widest vector register.
  static constexpr std::align_val_t kAlignment{64};

  BasicTensor(Uninitialized, const Shape& shape, std::size_t batch_size)
      : shape_(shape),
        batch_size_(batch_size),
        count_(detail::multiply(shape.batch_stride(), batch_size, "Tensor")) {
    detail::require(batch_size > 0, Error::Code::invalid_argument, "Tensor", "batch_size is 0");
    data_ = std::shared_ptr<T[]>(
        static_cast<T*>(::operator new(detail::multiply(count_, sizeof(T), "Tensor"), kAlignment)),
        Free{});
  }

  // In [-bound, bound).
  static BasicTensor symmetric(RandomGenerator& generator, float bound,
                               const Shape& shape) requires std::is_floating_point_v<T> {
    return uniform(generator, -bound, bound, shape);
  }

  template <typename Span>
  Span sample_of(Span values, std::size_t index) const {
    detail::require(index < batch_size_, Error::Code::invalid_argument, "Tensor::sample",
                    "there is no sample of that index");
    return values.subspan(index * shape_.batch_stride(), shape_.batch_stride());
  }
  std::size_t checked(std::size_t index) const {
    detail::require(index < count_, Error::Code::invalid_argument, "Tensor::at",
                    "there is no element of that index");
    return index;
  }

  Shape shape_;
  std::size_t batch_size_;
  std::size_t count_;
  std::shared_ptr<T[]> data_;
};

using Tensor = BasicTensor<float>;

}  // namespace bnns

#endif
