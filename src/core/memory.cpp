#include "core/memory.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>

namespace bnns::impl {

Memory::Memory(const BNNSFilterParameters* parameters) {
  if (parameters == nullptr) return;
  alloc_ = parameters->alloc_memory;
  free_ = parameters->free_memory;
}

void* Memory::allocate(size_t bytes) const {
  bytes = std::max<size_t>(bytes, 1);
  void* block = nullptr;
  const int status = alloc_ != nullptr ? alloc_(&block, kAlignment, bytes)
                                       : posix_memalign(&block, kAlignment, bytes);
  if (status != 0 || block == nullptr) {
    throw Error{.text = Text(alloc_ != nullptr ? "alloc_memory" : "posix_memalign", " returned ",
                             status, " for ", bytes, " bytes; out of memory"),
                .failure = Failure::kMemory};
  }
  if (reinterpret_cast<uintptr_t>(block) % kAlignment != 0) {
    release(block);
    fail("alloc_memory returned ", static_cast<const void*>(block),
         "; it must respect the alignment of ", kAlignment, " bytes it is asked for");
  }
  if (held_ != nullptr) held_->fetch_add(bytes, std::memory_order_relaxed);
  return block;
}

void Memory::release(void* block, size_t bytes) const noexcept {
  if (held_ != nullptr && bytes > 0) held_->fetch_sub(bytes, std::memory_order_relaxed);
  if (free_ != nullptr) {
    free_(block);
  } else {
    std::free(block);
  }
}

}  // namespace bnns::impl
