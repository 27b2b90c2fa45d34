#include "core/platform.h"

#if defined(__linux__)
#include <link.h>
#endif
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>

#include <exception>
#include <thread>

namespace bnns::impl::platform {
namespace {

// Workers were seen to use 56 KB at most, in the spec on all x86 targets; without optimisation the
// largest frame of a kernel takes 96 KB. The default of the system is 8 MB of address space.
constexpr size_t kStackBytes = size_t{256} << 10;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kSmallStacks = false;  // instrumented frames are many times as large
#elif defined(__has_feature)
constexpr bool kSmallStacks = !__has_feature(address_sanitizer) &&
                              !__has_feature(thread_sanitizer) && !__has_feature(memory_sanitizer);
#else
constexpr bool kSmallStacks = true;
#endif

// Bytes of the thread-local variables of all loaded libraries: glibc stores them in the memory of
// the thread's stack.
size_t thread_local_bytes() noexcept {
  size_t sum = 0;
#if defined(__linux__)
  dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void* to) {
        for (size_t i = 0; i < info->dlpi_phnum; ++i) {
          const auto& header = info->dlpi_phdr[i];
          if (header.p_type == PT_TLS) *static_cast<size_t*>(to) += header.p_memsz + header.p_align;
        }
        return 0;
      },
      &sum);
#endif
  return sum;
}

constexpr size_t kMostMutexes = 4;
constinit std::mutex* fork_mutexes[kMostMutexes] = {};

template <void (std::mutex::*kCall)()>
void each_fork_mutex() {
  for (std::mutex* mutex : fork_mutexes) {
    if (mutex != nullptr) (mutex->*kCall)();
  }
}

}  // namespace

void* reserve(size_t bytes) noexcept {
  void* range = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return range == MAP_FAILED ? nullptr : range;
}

void after_fork_in_child(void (*in_child)()) noexcept {
  pthread_atfork(nullptr, nullptr, in_child);
}

void hold_during_fork(std::mutex& mutex) noexcept {
  size_t n = 0;
  while (n < kMostMutexes && fork_mutexes[n] != nullptr) ++n;
  if (n == kMostMutexes) std::terminate();
  if (n == 0) {
    pthread_atfork(each_fork_mutex<&std::mutex::lock>, each_fork_mutex<&std::mutex::unlock>,
                   each_fork_mutex<&std::mutex::unlock>);
  }
  fork_mutexes[n] = &mutex;
}

void spin_pause() noexcept {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

size_t core_count() noexcept {
#if defined(__linux__)
  // The cores that this process may use, which taskset or a container may limit.
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0) {
    const int count = CPU_COUNT(&set);
    if (count > 0) return static_cast<size_t>(count);
  }
#endif
  const unsigned count = std::thread::hardware_concurrency();
  return count == 0 ? 1 : count;
}

bool start_thread(void* (*body)(void*), void* argument) noexcept {
  pthread_attr_t attributes;
  if (pthread_attr_init(&attributes) != 0) return false;
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  if (kSmallStacks) {
    const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    const size_t bytes = kStackBytes + thread_local_bytes();
    pthread_attr_setstacksize(&attributes, (bytes + page - 1) / page * page);
  }
  pthread_t thread;
  const bool started = pthread_create(&thread, &attributes, body, argument) == 0;
  pthread_attr_destroy(&attributes);
  return started;
}

bool entropy(void* to, size_t bytes) noexcept {
  return getentropy(to, bytes) == 0;
}

}  // namespace bnns::impl::platform
