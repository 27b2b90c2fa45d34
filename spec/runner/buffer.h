// Memory between two inaccessible pages. Data is placed to end exactly at the upper one or to start
// right behind the lower one; everything around it holds a canary. All bits set is NaN in every
// float format, so that padding which leaks into a result shows.
#ifndef OPENBNNS_SPEC_BUFFER_H
#define OPENBNNS_SPEC_BUFFER_H

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstring>
#include <new>
#include <utility>

namespace spec {

enum class Edge { kEnd, kStart, kInside };

class GuardedBuffer {
 public:
  static constexpr int kCanary = 0xFF;

  GuardedBuffer() = default;
  GuardedBuffer(const GuardedBuffer&) = delete;
  GuardedBuffer& operator=(const GuardedBuffer&) = delete;
  GuardedBuffer(GuardedBuffer&& other) noexcept
      : base_(std::exchange(other.base_, nullptr)),
        capacity_(std::exchange(other.capacity_, 0)),
        data_(std::exchange(other.data_, nullptr)) {}
  ~GuardedBuffer() { release(); }

  // `shift` moves the data away from the edge, to give it an odd alignment.
  std::byte* place(size_t bytes, Edge edge, size_t shift) {
    if (bytes + shift > capacity_) reserve(bytes + shift);
    data_ = edge == Edge::kEnd ? end() - bytes - shift : begin() + shift;
    return data_;
  }

  std::byte* data() const { return data_; }
  std::byte* begin() const { return base_ + page(); }
  std::byte* end() const { return begin() + capacity_; }
  size_t capacity() const { return capacity_; }

  void fill() { std::memset(begin(), kCanary, capacity_); }
  bool all_canary() const {
    const auto* p = reinterpret_cast<const unsigned char*>(begin());
    return capacity_ == 0 || (p[0] == kCanary && std::memcmp(p, p + 1, capacity_ - 1) == 0);
  }

 private:
  static size_t page() {
    static const size_t size = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    return size;
  }

  void reserve(size_t bytes) {
    release();
    const size_t inner = (bytes + page() - 1) / page() * page();
    void* p = mmap(nullptr, inner + 2 * page(), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED) throw std::bad_alloc();
    base_ = static_cast<std::byte*>(p);
    capacity_ = inner;
    if (mprotect(begin(), inner, PROT_READ | PROT_WRITE) != 0) throw std::bad_alloc();
  }

  void release() {
    if (base_) munmap(base_, capacity_ + 2 * page());
    base_ = nullptr;
    capacity_ = 0;
  }

  std::byte* base_ = nullptr;
  size_t capacity_ = 0;
  std::byte* data_ = nullptr;
};

}  // namespace spec
#endif
