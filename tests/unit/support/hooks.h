// Allocation hooks that count, remember every block and fail on demand. They have no user pointer,
// so that the state is global; tests with hooks run one after the other.
#pragma once

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <mutex>

namespace test {

// True while allocations that do not come from the hooks are counted on this thread.
inline thread_local bool counting_malloc = false;

class Hooks {
 public:
  enum class Mode { kNormal, kSuccessWithoutBlock, kMisaligned };

  static Hooks& instance() {
    static Hooks hooks;
    return hooks;
  }

  // Also forgets what was leaked, so that one leak fails one test.
  void reset() {
    const std::lock_guard lock(mutex_);
    for (const auto& [block, base] : blocks_) std::free(base);
    blocks_.clear();
    mode_ = Mode::kNormal;
    allocations_ = frees_ = foreign_frees_ = bad_requests_ = failures_ = 0;
    fail_first_ = fail_last_ = 0;
  }
  void set_mode(Mode mode) { mode_ = mode; }
  // Allocations number `first` to `last` fail, counted from 1 since reset().
  void fail(size_t first, size_t last) { fail_first_ = first, fail_last_ = last; }
  void fail_none() { fail(0, 0); }

  size_t allocations() const { return allocations_; }
  size_t calls() const { return allocations_ + frees_; }
  size_t failures() const { return failures_; }
  size_t live() const { return blocks_.size(); }
  // Frees of something that no hook gave out, and requests that posix_memalign would refuse.
  size_t mistakes() const { return foreign_frees_ + bad_requests_; }

  static int alloc(void** block, size_t alignment, size_t size) {
    const bool counting = counting_malloc;
    counting_malloc = false;
    const int status = instance().allocate(block, alignment, size);
    counting_malloc = counting;
    return status;
  }
  static void release(void* block) {
    const bool counting = counting_malloc;
    counting_malloc = false;
    instance().give_back(block);
    counting_malloc = counting;
  }

 private:
  int allocate(void** block, size_t alignment, size_t size) {
    const std::lock_guard lock(mutex_);
    ++allocations_;
    const bool power_of_two = alignment != 0 && (alignment & (alignment - 1)) == 0;
    if (!power_of_two || alignment < sizeof(void*) || size == 0) ++bad_requests_;
    if (allocations_ >= fail_first_ && allocations_ <= fail_last_) {
      ++failures_;
      return ENOMEM;
    }
    if (mode_ == Mode::kSuccessWithoutBlock) {
      *block = nullptr;
      return 0;
    }
    void* base = nullptr;
    const size_t shift = mode_ == Mode::kMisaligned ? sizeof(void*) : 0;
    if (posix_memalign(&base, alignment, size + shift) != 0) return ENOMEM;
    *block = static_cast<char*>(base) + shift;
    blocks_[*block] = base;
    return 0;
  }
  void give_back(void* block) {
    const std::lock_guard lock(mutex_);
    ++frees_;
    const auto found = blocks_.find(block);
    if (found == blocks_.end()) {
      ++foreign_frees_;
      return;
    }
    std::free(found->second);
    blocks_.erase(found);
  }

  std::mutex mutex_;
  std::map<void*, void*> blocks_;  // as given out -> as allocated
  Mode mode_ = Mode::kNormal;
  size_t allocations_ = 0, frees_ = 0, foreign_frees_ = 0, bad_requests_ = 0, failures_ = 0;
  size_t fail_first_ = 0, fail_last_ = 0;
};

}  // namespace test
