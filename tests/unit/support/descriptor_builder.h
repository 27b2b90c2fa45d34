// Builds descriptors for the tests of their reader, and catches what it refuses.
#pragma once

#include <cstdint>
#include <string>

#include "core/descriptor.h"
#include "support/layouts.h"

namespace test {

// Entries beyond the rank hold garbage: only the first ones may be read.
inline BNNSNDArrayDescriptor strided_array(const Layout& layout, const Sizes& size,
                                           const Sizes& stride = {}) {
  BNNSNDArrayDescriptor d = {};
  d.layout = layout.value;
  d.data_type = BNNSDataTypeFloat32;
  for (size_t k = 0; k < size.size(); ++k) {
    d.size[k] = k < layout.rank ? size[k] : SIZE_MAX;
    d.stride[k] = k < layout.rank ? stride[k] : SIZE_MAX - k;
  }
  return d;
}

// The text of the refusal; empty if there was none.
template <class Call>
std::string refusal(const Call& call) {
  try {
    call();
  } catch (const bnns::impl::Error& error) {
    return error.text.c_str();
  }
  return "";
}

inline std::string refusal_of(const BNNSNDArrayDescriptor& d,
                              bnns::impl::Use use = bnns::impl::Use::kInput) {
  return refusal([&] { bnns::impl::read_descriptor(d, "x", use); });
}

}  // namespace test
