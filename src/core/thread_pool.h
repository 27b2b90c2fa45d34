// The library's worker threads. The grains of a job are divided into ranges, one per thread, so
// that consecutive jobs on one tensor find its parts in the caches of the same cores. A thread that
// has finished its range takes grains of the others. The caller works too and never waits for a
// worker that has not started: when no grain is left it closes the job and waits only for the
// workers inside. Workers spin briefly after a job, then sleep. If a second caller, or a grain,
// starts a job while one is running, it runs that job serially. Any thread may run a grain, and the
// result of a grain does not depend on which one it is.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>

namespace bnns::impl {

class ThreadPool {
 public:
  static constexpr size_t kMaxThreads = 256;

  // body(context, grain, worker): worker 0 is the caller, others are below `threads`.
  using Body = void (*)(void* context, size_t grain, size_t worker);

  static ThreadPool& instance();

  // Runs all grains on the calling thread, as worker 0. Out of line: see parallel_for.
  static void run_serially(size_t grains, Body body, void* context);
  void run(size_t threads, size_t grains, Body body, void* context);

  // Starts workers for jobs of `threads` threads; fewer if the system refuses.
  void start(size_t threads) noexcept;

 private:
  // One atomic word, so that a worker enters an open job and is counted as inside in one step.
  struct State {
    uint16_t inside;      // workers in the job
    uint16_t places;      // workers that may still enter; the place taken is the worker's index
    uint32_t epoch_open;  // job number * 2 + (1 while open)
  };
  static uint64_t pack(State s) {
    return uint64_t{s.epoch_open} << 32 | uint64_t{s.places} << 16 | s.inside;
  }
  static State unpack(uint64_t w) {
    return {.inside = static_cast<uint16_t>(w),
            .places = static_cast<uint16_t>(w >> 16),
            .epoch_open = static_cast<uint32_t>(w >> 32)};
  }

  static void* work(void* pool) noexcept;
  void work() noexcept;
  uint32_t wait_for_job(uint32_t seen, bool may_spin) noexcept;
  bool enter(uint32_t epoch_open, size_t* worker) noexcept;
  void share_out(size_t threads, size_t grains) noexcept;
  void run_grains(size_t worker) noexcept;
  void close_job() noexcept;

  std::atomic<bool> busy_{false};
  std::atomic<uint64_t> state_{0};

  // The current job: written before it is opened, read by the workers inside.
  Body body_ = nullptr;
  void* context_ = nullptr;
  // Grains [next, end); each range has its own cache line.
  struct alignas(64) Range {
    std::atomic<size_t> next{0};
    size_t end = 0;
  };
  static constexpr size_t kMostRanges = 32;
  Range ranges_[kMostRanges];
  size_t range_count_ = 0;

  alignas(64) std::atomic<size_t> sleepers_{0};
  std::mutex mutex_;
  std::condition_variable wake_;
  std::atomic<size_t> workers_{0};  // workers started
  std::atomic<size_t> running_{0};  // workers that have begun to run; no more than the cores spin
};

}  // namespace bnns::impl
