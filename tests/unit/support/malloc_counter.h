// Replaces malloc and its relatives in the test program, and with it everything the shared library
// takes from the heap: operator new of the C++ library calls malloc, too. Counts while
// counting_malloc is on. Include it in one file of a program only. Under a sanitizer, which has its
// own malloc, nothing is replaced and nothing is counted.
#pragma once

#include <atomic>
#include <cerrno>
#include <cstddef>

#include "support/hooks.h"
#include "support/sanitizers.h"

namespace test {

inline std::atomic<size_t> malloc_calls{0};

inline void count_malloc() {
  if (counting_malloc) malloc_calls.fetch_add(1, std::memory_order_relaxed);
}

// Counts the calls of the scope; use total() at its end.
class MallocCount {
 public:
  MallocCount() : first_(malloc_calls.load()) { counting_malloc = true; }
  ~MallocCount() { counting_malloc = false; }
  size_t total() const {
    counting_malloc = false;
    return malloc_calls.load() - first_;
  }

 private:
  size_t first_;
};

}  // namespace test

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
extern "C" {

void* __libc_malloc(size_t size);
void* __libc_calloc(size_t count, size_t size);
void* __libc_realloc(void* block, size_t size);
void* __libc_memalign(size_t alignment, size_t size);
void __libc_free(void* block);

void* malloc(size_t size) {
  test::count_malloc();
  return __libc_malloc(size);
}
void* calloc(size_t count, size_t size) {
  test::count_malloc();
  return __libc_calloc(count, size);
}
void* realloc(void* block, size_t size) {
  test::count_malloc();
  return __libc_realloc(block, size);
}
void* memalign(size_t alignment, size_t size) {
  test::count_malloc();
  return __libc_memalign(alignment, size);
}
void* aligned_alloc(size_t alignment, size_t size) {
  test::count_malloc();
  return __libc_memalign(alignment, size);
}
int posix_memalign(void** block, size_t alignment, size_t size) {
  test::count_malloc();
  *block = __libc_memalign(alignment, size);
  return *block == nullptr ? ENOMEM : 0;
}
void free(void* block) {
  if (block != nullptr) test::count_malloc();
  __libc_free(block);
}

}  // extern "C"
#endif
