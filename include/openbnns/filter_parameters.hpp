// Options of every layer and function: flags, threads, memory hooks.
#ifndef OPENBNNS_FILTER_PARAMETERS_HPP
#define OPENBNNS_FILTER_PARAMETERS_HPP

#include <cstddef>
#include <cstdint>
#include <optional>

#include "descriptor.hpp"

namespace bnns {

struct FilterParameters {
  // BNNSFlagsUseClientPtr: the layer reads weights and bias where they are, at every call, and the
  // caller keeps them alive. Layers that are trained need it.
  std::uint32_t flags = 0;
  std::size_t thread_count = 0;  // 0: the library chooses
  BNNSAlloc allocator = nullptr;
  BNNSFree deallocator = nullptr;
};

namespace detail {

// What C takes: a pointer, NULL for no parameters.
class NativeFilterParameters {
 public:
  explicit NativeFilterParameters(const std::optional<FilterParameters>& parameters) {
    if (!parameters) return;
    native_ = BNNSFilterParameters{.flags = parameters->flags,
                                   .n_threads = parameters->thread_count,
                                   .alloc_memory = parameters->allocator,
                                   .free_memory = parameters->deallocator};
  }
  const BNNSFilterParameters* get() const noexcept { return native_ ? &*native_ : nullptr; }

 private:
  std::optional<BNNSFilterParameters> native_;
};

// Optional descriptors: inside a structure nothing is all zeros, as an argument it is NULL.
inline Descriptor value_or_zero(const std::optional<Descriptor>& descriptor) {
  return descriptor.value_or(Descriptor{});
}
inline Descriptor* pointer_or_null(std::optional<Descriptor>& descriptor) {
  return descriptor ? &*descriptor : nullptr;
}

}  // namespace detail
}  // namespace bnns

#endif
