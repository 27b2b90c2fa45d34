// Descriptor, the array type of all C++ classes: the structure of C, which describes one sample,
// and the number of samples behind its pointer. It does not own its data; bnns::Tensor does.
#ifndef OPENBNNS_DESCRIPTOR_HPP
#define OPENBNNS_DESCRIPTOR_HPP

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "shape.hpp"

namespace bnns {

class Descriptor : public BNNSNDArrayDescriptor {
 public:
  // Describes nothing.
  Descriptor() : BNNSNDArrayDescriptor{} {}
  // The structure says nothing about the extent of its memory and is taken at its word, unless the
  // number of samples is given.
  Descriptor(const BNNSNDArrayDescriptor& native, std::size_t samples = 0)
      : BNNSNDArrayDescriptor(native), batch_size(samples) {}
  // Float32 without data: what a layer needs to know of its input and output.
  Descriptor(const Shape& shape);

  // How many samples the memory holds; 0: unknown.
  std::size_t batch_size = 0;
};

namespace detail {

// 0 for types that no C++ scalar stands for.
template <typename T>
constexpr std::uint32_t data_type_bits() {
  if constexpr (std::same_as<T, bool>) return BNNSDataTypeBoolean;
  if constexpr (std::same_as<T, float>) return BNNSDataTypeFloat32;
  if constexpr (std::signed_integral<T>) return BNNSDataTypeIntBit | 8 * sizeof(T);
  if constexpr (std::unsigned_integral<T>) return BNNSDataTypeUIntBit | 8 * sizeof(T);
  return 0;
}

}  // namespace detail

// Float, Bool and the integers of 8 to 64 bits.
template <typename T>
concept Scalar = detail::data_type_bits<T>()
!= 0 && sizeof(T) <= 8;

template <Scalar T>
constexpr BNNSDataType data_type_of = static_cast<BNNSDataType>(detail::data_type_bits<T>());

// Of memory whose extent only the caller knows.
inline Descriptor make_descriptor(BNNSDataType data_type, const Shape& shape,
                                  void* data = nullptr) {
  Descriptor descriptor;
  descriptor.layout = static_cast<BNNSDataLayout>(shape.layout());
  std::copy(shape.size().begin(), shape.size().end(), descriptor.size);
  std::copy(shape.stride().begin(), shape.stride().end(), descriptor.stride);
  descriptor.data = data;
  descriptor.data_type = data_type;
  descriptor.table_data_type = data_type;
  descriptor.data_scale = 1;
  return descriptor;
}

inline Descriptor::Descriptor(const Shape& shape)
    : Descriptor(make_descriptor(BNNSDataTypeFloat32, shape)) {}

// Throws unless `data` has exactly the elements of `batch_size` samples.
template <Scalar T>
Descriptor make_descriptor(std::span<T> data, const Shape& shape, std::size_t batch_size = 1) {
  constexpr auto invalid = Error::Code::array_descriptor_invalid_data;
  detail::require(data.data() != nullptr, invalid, "make_descriptor", "data is NULL");
  detail::require(batch_size > 0, Error::Code::invalid_argument, "make_descriptor",
                  "batch_size is 0");
  detail::require(
      data.size() == detail::multiply(shape.batch_stride(), batch_size, "make_descriptor"), invalid,
      "make_descriptor", "the size of data is not batch_size times the batch stride of shape");
  return Descriptor(make_descriptor(data_type_of<T>, shape, data.data()), batch_size);
}

// Works for all layouts of C, those without a name in DataLayout included.
inline Shape shape_of(const BNNSNDArrayDescriptor& descriptor) {
  const auto layout = static_cast<DataLayout>(descriptor.layout);
  const std::size_t n = std::min<std::size_t>(rank(layout), Shape::max_rank);
  return Shape(std::span(descriptor.size, n), layout, std::span(descriptor.stride, n));
}

namespace detail {

// A descriptor that is not there may hold any layout.
inline std::size_t batch_stride(const Descriptor& descriptor) {
  return descriptor.data == nullptr ? 0 : shape_of(descriptor).batch_stride();
}

inline void require_data(const Descriptor& descriptor, const char* operation,
                         const char* argument) {
  require(descriptor.data != nullptr, Error::Code::array_descriptor_invalid_data, operation,
          argument, ".data is NULL");
}

// Memory whose extent is known holds the samples of the call.
inline void require_samples(const Descriptor& descriptor, std::size_t batch_size,
                            const char* operation, const char* argument) {
  require(descriptor.batch_size == 0 || descriptor.batch_size >= batch_size,
          Error::Code::invalid_argument, operation, argument, " has ", descriptor.batch_size,
          " samples, the call is for ", batch_size);
}

// For functions that know no batch: the other samples would be passed over without a word.
inline void require_one_sample(const Descriptor& descriptor, const char* operation,
                               const char* argument) {
  require(descriptor.batch_size <= 1, Error::Code::invalid_argument, operation, argument, " has ",
          descriptor.batch_size, " samples, this takes one; flat() describes all as one vector");
}

}  // namespace detail

// A copy of the elements as they lie in memory, gaps included.
template <Scalar T>
std::vector<T> to_vector(const Descriptor& descriptor, std::size_t batch_size = 1) {
  detail::require_data(descriptor, "to_vector", "descriptor");
  detail::require_samples(descriptor, batch_size, "to_vector", "descriptor");
  detail::require(descriptor.data_type == data_type_of<T>, Error::Code::invalid_argument,
                  "to_vector", "the element type is not that of the descriptor");
  const T* data = static_cast<const T*>(descriptor.data);
  return std::vector<T>(
      data, data + detail::multiply(shape_of(descriptor).batch_stride(), batch_size, "to_vector"));
}

}  // namespace bnns

#endif
