// Rows of stored values of which only the size matters.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace bnns::impl {

template <class T>
void copy_row(const T* from, size_t from_stride, T* to, size_t to_stride, size_t n) {
  if (from_stride == 1 && to_stride == 1) {
    std::memcpy(to, from, n * sizeof(T));
  } else if (to_stride == 1) {
    for (size_t i = 0; i < n; ++i) to[i] = from[i * from_stride];
  } else {
    for (size_t i = 0; i < n; ++i) to[i * to_stride] = from[i * from_stride];
  }
}

template <class T>
void fill_row(T value, T* to, size_t stride, size_t n) {
  for (size_t i = 0; i < n; ++i) to[i * stride] = value;
}

// Calls body(T()) with the unsigned integer type of `bytes` bytes: 1, 2, 4 or 8.
template <class Body>
void with_value_type(size_t bytes, const Body& body) {
  switch (bytes) {
    case 1:
      return body(uint8_t());
    case 2:
      return body(uint16_t());
    case 4:
      return body(uint32_t());
    default:
      return body(uint64_t());
  }
}

}  // namespace bnns::impl
