#include "core/platform.h"

#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>

#include <exception>
#include <thread>

namespace bnns::impl::platform {
namespace {

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
  // The cores this process may use, not those of the machine: containers and taskset count.
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0) {
    const int count = CPU_COUNT(&set);
    if (count > 0) return static_cast<size_t>(count);
  }
#endif
  const unsigned count = std::thread::hardware_concurrency();
  return count == 0 ? 1 : count;
}

bool entropy(void* to, size_t bytes) noexcept {
  return getentropy(to, bytes) == 0;
}

}  // namespace bnns::impl::platform
