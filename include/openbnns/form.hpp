// What a layer was made for, and whether what it is given agrees: the shape and type of a sample.
// The C calls take plain pointers here and cannot see it.
#ifndef OPENBNNS_FORM_HPP
#define OPENBNNS_FORM_HPP

#include <algorithm>
#include <cstddef>
#include <initializer_list>
#include <string>

#include "descriptor.hpp"

namespace bnns::detail {

inline std::string to_text(const BNNSNDArrayDescriptor& descriptor) {
  std::string text = "{";
  const std::size_t n =
      std::min<std::size_t>(rank(static_cast<DataLayout>(descriptor.layout)), Shape::max_rank);
  for (std::size_t k = 0; k < n; ++k) {
    text += (k == 0 ? "" : ", ") + std::to_string(descriptor.size[k]);
  }
  return text + "}";
}

inline std::string to_text(BNNSDataType type) {
  const auto bits = static_cast<std::uint32_t>(type);
  const std::string width = std::to_string(bits & 0xFFFFu);
  if (type == BNNSDataTypeBoolean) return "Boolean";
  if (type == BNNSDataTypeBFloat16) return "BFloat16";
  switch (bits & 0xFFFF0000u) {
    case BNNSDataTypeFloatBit:
      return "Float" + width;
    case BNNSDataTypeIntBit:
      return "Int" + width;
    case BNNSDataTypeUIntBit:
      return "UInt" + width;
    default:
      return "type " + std::to_string(bits);
  }
}

// Where the elements of a sample lie: the axes with more than one element, the fastest first.
struct MemoryOrder {
  explicit MemoryOrder(const BNNSNDArrayDescriptor& descriptor) {
    const auto layout = static_cast<DataLayout>(descriptor.layout);
    const std::size_t n = std::min<std::size_t>(rank(layout), Shape::max_rank);
    std::size_t packed = 1;
    for (std::size_t k = 0; k < n; ++k) {
      const std::size_t size =
          std::max<std::size_t>(descriptor.size[is_first_major(layout) ? n - 1 - k : k], 1);
      const std::size_t step = descriptor.stride[k] == 0 ? packed : descriptor.stride[k];
      packed = multiply(size, step, "Shape");
      if (size == 1) continue;
      contiguous = contiguous && step == count;
      count = multiply(count, size, "Shape");
      sizes[axes] = size;
      steps[axes++] = step;
    }
  }
  friend bool operator==(const MemoryOrder&, const MemoryOrder&) = default;

  std::size_t axes = 0, count = 1;
  bool contiguous = true;
  std::size_t sizes[Shape::max_rank] = {}, steps[Shape::max_rank] = {};
};

// The same elements at the same places. A contiguous array of any shape may stand for a vector and
// the other way round: that is how the output of a convolution enters a fully connected layer.
inline bool same_memory_order(const BNNSNDArrayDescriptor& a, const BNNSNDArrayDescriptor& b) {
  if (a.layout == b.layout && std::ranges::equal(a.size, b.size) &&
      std::ranges::equal(a.stride, b.stride)) {
    return true;
  }
  const MemoryOrder x(a), y(b);
  const bool flat = x.contiguous && y.contiguous && (x.axes <= 1 || y.axes <= 1);
  return x == y || (flat && x.count == y.count);
}

class Form {
 public:
  explicit Form(const BNNSNDArrayDescriptor& sample) : sample_(sample) {}

  void check(const Descriptor& given, std::size_t batch_size, const char* operation,
             const char* argument) const {
    if (given.data_type != sample_.data_type && given.data != nullptr) {
      fail(Error::Code::invalid_argument, operation, argument, " is ", to_text(given.data_type),
           ", the layer was made for ", to_text(sample_.data_type));
    }
    check_places(given, batch_size, operation, argument);
  }

  // The same but for the type, which the C call is told.
  void check_places(const Descriptor& given, std::size_t batch_size, const char* operation,
                    const char* argument) const {
    require_data(given, operation, argument);
    if (!same_memory_order(given, sample_)) {
      const bool sizes =
          std::ranges::equal(given.size, sample_.size) && given.layout == sample_.layout;
      fail(Error::Code::invalid_argument, operation, argument, " has the ",
           sizes ? "sizes " : "shape ", to_text(given), ", the layer was made for ",
           sizes ? "these sizes with other strides" : to_text(sample_));
    }
    require_samples(given, batch_size, operation, argument);
  }

  // An argument that some layers do not need may be left out.
  void check_optional(const Descriptor& given, std::size_t batch_size, const char* operation,
                      const char* argument) const {
    if (given.data != nullptr) check(given, batch_size, operation, argument);
  }

  std::size_t batch_stride() const { return shape_of(sample_).batch_stride(); }
  std::size_t count() const { return shape_of(sample_).dense_count(); }

 private:
  BNNSNDArrayDescriptor sample_;
};

struct NamedArgument {
  const char* name;
  const Descriptor& descriptor;
};

// The batch size of a call that was not told one. All tensors of the call have it.
inline std::size_t common_batch_size(const char* operation,
                                     std::initializer_list<NamedArgument> arguments) {
  const NamedArgument* first = nullptr;
  for (const NamedArgument& argument : arguments) {
    const std::size_t samples = argument.descriptor.batch_size;
    if (samples == 0) continue;
    if (first == nullptr) first = &argument;
    require(samples == first->descriptor.batch_size, Error::Code::invalid_argument, operation,
            argument.name, " has ", samples, " samples, ", first->name, " has ",
            first->descriptor.batch_size);
  }
  require(first != nullptr, Error::Code::invalid_argument, operation,
          "no argument tells its number of samples; give batch_size");
  return first->descriptor.batch_size;
}

}  // namespace bnns::detail

#endif
