// Memory of a filter. Every byte comes from the client's alloc_memory / free_memory hooks
// (posix_memalign and free by default); nothing in the library uses another heap on behalf of a
// filter. A failing hook throws Error, so that out of memory is a failure like any other.
#pragma once

#include <atomic>
#include <cstddef>
#include <span>
#include <type_traits>
#include <utility>

#include "core/checked.h"
#include "openbnns/bnns_structures.h"

namespace bnns::impl {

// One cache line, and enough for any vector type.
constexpr size_t kAlignment = 64;

class Memory {
 public:
  Memory() = default;
  explicit Memory(const BNNSFilterParameters* parameters);

  void* allocate(size_t bytes) const;
  // `bytes` is the size that was allocated, if it is to be subtracted from the count.
  void release(void* block, size_t bytes = 0) const noexcept;

  // The same hooks, but bytes allocated through the result and its copies are counted in `held`.
  Memory counted_by(std::atomic<size_t>* held) const {
    Memory counted = *this;
    counted.held_ = held;
    return counted;
  }
  size_t held() const { return held_ == nullptr ? 0 : held_->load(std::memory_order_relaxed); }

 private:
  BNNSAlloc alloc_ = nullptr;
  BNNSFree free_ = nullptr;
  std::atomic<size_t>* held_ = nullptr;
};

// Owns `size` values of a trivial type, aligned to kAlignment, uninitialised.
template <class T>
class Array {
  static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T>);

 public:
  Array() = default;
  Array(const Memory& memory, size_t size)
      : memory_(memory),
        data_(static_cast<T*>(
            memory.allocate(checked_mul(size, sizeof(T), "an internal buffer in bytes")))),
        size_(size) {}
  Array(Array&& other) noexcept { swap(other); }
  Array& operator=(Array&& other) noexcept {
    swap(other);
    return *this;
  }
  ~Array() {
    if (data_ != nullptr) memory_.release(data_, size_ * sizeof(T));
  }

  // Makes room for at least `size` values; those of a smaller array are lost.
  void grow(const Memory& memory, size_t size) {
    if (size_ < size) *this = Array(memory, size);
  }

  T* data() const { return data_; }
  size_t size() const { return size_; }
  T& operator[](size_t i) const { return data_[i]; }
  explicit operator bool() const { return data_ != nullptr; }

 private:
  void swap(Array& other) noexcept {
    std::swap(memory_, other.memory_);
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
  }

  Memory memory_;
  T* data_ = nullptr;
  size_t size_ = 0;
};

}  // namespace bnns::impl
