#include "core/thread_pool.h"

#include <algorithm>
#include <new>
#include <thread>

#include "core/platform.h"

namespace bnns::impl {
namespace {

// About 30 us of spinning: longer than the gap between two layers of a network, but not so long
// that spinning workers take much time from other programs.
constexpr int kSpins = 1500;

thread_local bool inside_job = false;

alignas(ThreadPool) unsigned char first_pool[sizeof(ThreadPool)];
std::atomic<ThreadPool*> current_pool{nullptr};

// A forked child has no workers, and the mutex of their pool may be locked: the child uses a new
// pool.
void replace_pool() {
  current_pool.store(new (std::nothrow) ThreadPool);
}

}  // namespace

ThreadPool& ThreadPool::instance() {
  // Never destroyed, so that exit during an apply is harmless.
  static const bool made = [] {
    current_pool.store(new (first_pool) ThreadPool);
    platform::after_fork_in_child(replace_pool);
    return true;
  }();
  static_cast<void>(made);
  return *current_pool.load(std::memory_order_acquire);
}

void ThreadPool::start(size_t threads) noexcept {
  if (threads <= 1 || workers_.load(std::memory_order_acquire) >= threads - 1) return;
  const std::lock_guard lock(mutex_);
  for (size_t n = workers_.load(); n < threads - 1; ++n) {
    // Results do not depend on the number of threads, so fewer of them will do.
    if (!platform::start_thread(work, this)) return;
    workers_.store(n + 1, std::memory_order_release);
  }
}

void ThreadPool::run_serially(size_t grains, Body body, void* context) {
  for (size_t grain = 0; grain < grains; ++grain) body(context, grain, 0);
}

void ThreadPool::run(size_t threads, size_t grains, Body body, void* context) {
  if (threads <= 1 || grains <= 1 || inside_job ||
      busy_.exchange(true, std::memory_order_acquire)) {
    return run_serially(grains, body, context);
  }
  start(threads);
  body_ = body;
  context_ = context;
  share_out(threads, grains);
  const uint32_t epoch_open = unpack(state_.load(std::memory_order_relaxed)).epoch_open + 1;
  state_.store(
      pack({.inside = 0, .places = static_cast<uint16_t>(threads - 1), .epoch_open = epoch_open}));
  // Sequentially consistent on both sides: a worker counts itself asleep before it looks at the
  // state for the last time, we change the state before we count the sleepers.
  if (sleepers_.load() > 0) {
    { const std::lock_guard lock(mutex_); }  // a worker that saw the old state now waits on wake_
    wake_.notify_all();
  }
  inside_job = true;
  run_grains(0);
  inside_job = false;
  close_job();
  busy_.store(false, std::memory_order_release);
}

void ThreadPool::share_out(size_t threads, size_t grains) noexcept {
  range_count_ = std::min({threads, grains, kMostRanges});
  const size_t each = grains / range_count_, longer = grains % range_count_;
  for (size_t r = 0, first = 0; r < range_count_; ++r) {
    ranges_[r].next.store(first, std::memory_order_relaxed);
    ranges_[r].end = first += each + (r < longer);
  }
}

void ThreadPool::run_grains(size_t worker) noexcept {
  for (size_t r = 0; r < range_count_; ++r) {
    Range& range = ranges_[(worker + r) % range_count_];
    for (size_t grain; (grain = range.next.fetch_add(1, std::memory_order_relaxed)) < range.end;) {
      body_(context_, grain, worker);
    }
  }
}

void ThreadPool::close_job() noexcept {
  uint64_t word = state_.load(std::memory_order_relaxed);
  for (State s;;) {
    s = unpack(word);
    ++s.epoch_open;  // even: closed
    if (state_.compare_exchange_weak(word, pack(s), std::memory_order_acq_rel)) break;
  }
  for (int spins = 0; unpack(state_.load(std::memory_order_acquire)).inside != 0;) {
    platform::spin_pause();
    if (++spins > kSpins) std::this_thread::yield();  // more threads than cores
  }
}

bool ThreadPool::enter(uint32_t epoch_open, size_t* worker) noexcept {
  uint64_t word = state_.load(std::memory_order_acquire);
  for (;;) {
    State s = unpack(word);
    if (s.epoch_open != epoch_open || s.places == 0) return false;
    *worker = s.places--;
    ++s.inside;
    if (state_.compare_exchange_weak(word, pack(s), std::memory_order_acq_rel)) return true;
  }
}

uint32_t ThreadPool::wait_for_job(uint32_t seen, bool may_spin) noexcept {
  const auto opened = [&](uint32_t* epoch_open) {
    *epoch_open = unpack(state_.load()).epoch_open;
    return *epoch_open != seen && *epoch_open % 2 == 1;
  };
  uint32_t epoch_open;
  for (int spins = 0; may_spin && spins < kSpins; ++spins) {
    if (opened(&epoch_open)) return epoch_open;
    platform::spin_pause();
  }
  std::unique_lock lock(mutex_);
  sleepers_.fetch_add(1);
  wake_.wait(lock, [&] { return opened(&epoch_open); });
  sleepers_.fetch_sub(1);
  return epoch_open;
}

void* ThreadPool::work(void* pool) noexcept {
  static_cast<ThreadPool*>(pool)->work();
  return nullptr;
}

void ThreadPool::work() noexcept {
  inside_job = true;  // a grain that starts a job runs it serially
  const bool may_spin = running_.fetch_add(1) + 1 < platform::core_count();
  for (uint32_t seen = 0;;) {
    seen = wait_for_job(seen, may_spin);
    size_t worker;
    if (!enter(seen, &worker)) continue;
    run_grains(worker);
    state_.fetch_sub(1, std::memory_order_acq_rel);  // inside is the lowest field
  }
}

}  // namespace bnns::impl
