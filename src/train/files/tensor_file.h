// Named tensors and texts, as a model file holds them.
#ifndef OPENBNNS_TRAIN_FILES_TENSOR_FILE_H
#define OPENBNNS_TRAIN_FILES_TENSOR_FILE_H

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace bnns::train::impl {

enum class DType { boolean, u8, i32, i64, f16, bf16, f32, f64 };

// The name that safetensors has for it, such as "F32".
std::string_view name_of(DType dtype);
std::size_t size_of(DType dtype);
std::optional<DType> dtype_named(std::string_view name);

// The elements of a shape; nothing if the bytes do not fit into 63 bits, not even without the sizes
// that are 0. No size at all: one element.
std::optional<std::size_t> bytes_of(DType dtype, std::span<const std::size_t> shape);

struct NamedTensor {
  std::string name;
  DType dtype = DType::f32;
  std::vector<std::size_t> shape;
  std::vector<std::byte> data;  // as in the file: little endian, row by row

  // Copies the values; the shape must have as many elements (write_safetensors checks it).
  static NamedTensor of(std::string name, std::vector<std::size_t> shape,
                        std::span<const float> values);
  static NamedTensor of(std::string name, std::vector<std::size_t> shape,
                        std::span<const double> values);
  static NamedTensor of(std::string name, std::vector<std::size_t> shape,
                        std::span<const std::int64_t> values);

  std::size_t count() const { return data.size() / size_of(dtype); }
  // The values of F32, F64 (rounded), F16 or BF16; another type is refused with an Error of kind
  // `model`.
  std::vector<float> floats() const;
  // The values of F64; of I64; another type is refused.
  std::vector<double> doubles() const;
  std::vector<std::int64_t> integers() const;

  friend bool operator==(const NamedTensor&, const NamedTensor&) = default;
};

struct TensorFile {
  std::map<std::string, std::string> metadata;
  std::vector<NamedTensor> tensors;  // in the order of the file

  // NULL if there is no tensor of this name.
  const NamedTensor* find(std::string_view name) const;

  friend bool operator==(const TensorFile&, const TensorFile&) = default;
};

}  // namespace bnns::train::impl

#endif
