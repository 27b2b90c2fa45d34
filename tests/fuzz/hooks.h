// Memory hooks that count live blocks, refuse absurd requests, and fail once on demand; and the
// filter parameters that carry them.
#ifndef OPENBNNS_FUZZ_HOOKS_H
#define OPENBNNS_FUZZ_HOOKS_H

#include <atomic>
#include <cerrno>
#include <cstdlib>

#include "check.h"
#include "provider.h"

namespace fuzz {

class Hooks {
 public:
  // Lets the n-th allocation from now on fail, once; n = 1 is the next.
  static void fail_at(size_t n) { countdown_ = n; }
  // True if an allocation was made to fail since fail_at().
  static bool disarm() {
    countdown_ = 0;
    return fired_.exchange(false);
  }
  static void expect_no_leak() { expect(live_ == 0, "free_memory", "blocks were not freed"); }

  static int allocate(void** block, size_t alignment, size_t size) {
    // More than any call of these tests can need: a size that went wrong, or an honest request for
    // a giant. Both end as "out of memory".
    constexpr size_t kMost = size_t{64} << 20;
    if (countdown_ > 0 && --countdown_ == 0) {
      fired_ = true;
      return ENOMEM;
    }
    if (size > kMost) return ENOMEM;
    const int status = posix_memalign(block, alignment, size);
    if (status == 0) ++live_;
    return status;
  }
  static void release(void* block) {
    expect(block != nullptr && live_ > 0, "free_memory", "a block was freed that is not live");
    --live_;
    std::free(block);
  }

 private:
  static inline std::atomic<size_t> live_{0};
  static inline std::atomic<size_t> countdown_{0};
  static inline std::atomic<bool> fired_{false};
};

// Always with hooks: a descriptor may honestly ask for gigabytes.
inline BNNSFilterParameters filter_parameters(Provider& p) {
  static constexpr size_t kThreads[] = {1, 2, 3, 0, 4};
  static constexpr uint32_t kFlags[] = {0, BNNSFlagsUseClientPtr};
  BNNSFilterParameters f = {};
  f.flags = p.one_in(50) ? p.number<uint32_t>() : p.pick(kFlags);
  f.n_threads = p.one_in(50) ? p.odd_size() : p.pick(kThreads);
  f.alloc_memory = &Hooks::allocate;
  f.free_memory = &Hooks::release;
  return f;
}

// The same with another number of threads, which must not change a bit of any result.
inline BNNSFilterParameters twin_of(BNNSFilterParameters f) {
  f.n_threads = f.n_threads == 1 ? 3 : 1;
  return f;
}

}  // namespace fuzz
#endif
