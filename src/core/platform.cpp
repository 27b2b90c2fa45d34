#include "core/platform.h"

#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstring>
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

#if defined(__linux__)
static_assert(sizeof(CpuMask) == sizeof(cpu_set_t));

int current_cpu() noexcept {
  return sched_getcpu();
}

int current_thread() noexcept {
  return static_cast<int>(syscall(SYS_gettid));
}

CpuMask allowed_cpus() noexcept {
  cpu_set_t set;
  CpuMask mask = {};
  if (sched_getaffinity(0, sizeof set, &set) == 0) std::memcpy(&mask, &set, sizeof mask);
  return mask;
}

void allow_cpus(const CpuMask& mask) noexcept {
  cpu_set_t set;
  std::memcpy(&set, &mask, sizeof set);
  sched_setaffinity(0, sizeof set, &set);
}

bool keep_away(int thread, const CpuMask& mask, int cpu) noexcept {
  cpu_set_t set;
  std::memcpy(&set, &mask, sizeof set);
  if (cpu >= 0 && cpu < CPU_SETSIZE) CPU_CLR(static_cast<size_t>(cpu), &set);
  return CPU_COUNT(&set) > 0 && sched_setaffinity(thread, sizeof set, &set) == 0;
}
#else
int current_cpu() noexcept {
  return -1;
}
int current_thread() noexcept {
  return 0;
}
CpuMask allowed_cpus() noexcept {
  return {};
}
void allow_cpus(const CpuMask&) noexcept {}
bool keep_away(int, const CpuMask&, int) noexcept {
  return false;
}
#endif

bool entropy(void* to, size_t bytes) noexcept {
  return getentropy(to, bytes) == 0;
}

}  // namespace bnns::impl::platform
