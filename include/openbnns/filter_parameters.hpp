// Options of every layer and function: flags, threads, memory hooks.
#ifndef OPENBNNS_FILTER_PARAMETERS_HPP
#define OPENBNNS_FILTER_PARAMETERS_HPP

#include <cstddef>
#include <cstdint>
#include <optional>

#include "descriptor.hpp"

namespace bnns {

struct FilterParameters {
  // BNNSFlagsUseClientPtr: the layer reads weights and bias where they are, at every call. 0: it
  // copies them when it is made, which is a little faster where they never change.
  std::uint32_t flags = BNNSFlagsUseClientPtr;
  std::size_t thread_count = 0;  // 0: the library chooses
  BNNSAlloc allocator = nullptr;
  BNNSFree deallocator = nullptr;
};

namespace detail {

inline BNNSFilterParameters native(const FilterParameters& parameters) {
  return {.flags = parameters.flags,
          .n_threads = parameters.thread_count,
          .alloc_memory = parameters.allocator,
          .free_memory = parameters.deallocator};
}

// Optional descriptors: inside a structure nothing is all zeros, as an argument it is NULL.
template <std::derived_from<Descriptor> D>
BNNSNDArrayDescriptor value_or_zero(const std::optional<D>& descriptor) {
  return descriptor ? BNNSNDArrayDescriptor(*descriptor) : BNNSNDArrayDescriptor{};
}
inline Descriptor* pointer_or_null(std::optional<Descriptor>& descriptor) {
  return descriptor ? &*descriptor : nullptr;
}

}  // namespace detail
}  // namespace bnns

#endif
