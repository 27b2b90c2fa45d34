#include "core/filter.h"

#include <atomic>
#include <cstdlib>

#include "core/error.h"
#include "core/log.h"
#include "core/platform.h"
#include "core/target.h"
#include "core/thread_pool.h"

namespace bnns::impl {
namespace {

constexpr uint32_t kKnownFlags = BNNSFlagsUseClientPtr;

std::atomic<size_t> chosen_threads{0};

size_t initial_threads() {
  const char* wish = std::getenv("OPENBNNS_THREADS");
  if (wish != nullptr && *wish != '\0') {
    char* end = nullptr;
    const unsigned long long n = std::strtoull(wish, &end, 10);
    if (*end == '\0' && *wish != '-' && n >= 1 && n <= ThreadPool::kMaxThreads) return n;
    const Text text("OPENBNNS_THREADS is \"", wish, "\"; it must be a number from 1 to ",
                    ThreadPool::kMaxThreads, "; it is ignored");
    log_message(OpenBNNSLogLevelError, text.c_str());
  }
  return std::min(platform::core_count(), ThreadPool::kMaxThreads);
}

}  // namespace

void set_default_threads(size_t threads) {
  require(threads <= ThreadPool::kMaxThreads, "n_threads is ", threads, "; it must be at most ",
          ThreadPool::kMaxThreads);
  chosen_threads.store(threads, std::memory_order_relaxed);
}

size_t default_threads() {
  static const size_t initial = initial_threads();
  const size_t chosen = chosen_threads.load(std::memory_order_relaxed);
  return chosen == 0 ? initial : chosen;
}

FilterOptions::FilterOptions(const BNNSFilterParameters* parameters)
    : memory(parameters), threads(default_threads()), use_client_pointer(false) {
  if (parameters == nullptr) return;
  require((parameters->flags & ~kKnownFlags) == 0, "filter_params->flags is ", parameters->flags,
          "; only BNNSFlagsUseClientPtr (", kKnownFlags, ") is known");
  require(parameters->n_threads <= ThreadPool::kMaxThreads, "filter_params->n_threads is ",
          parameters->n_threads, "; it must be at most ", ThreadPool::kMaxThreads);
  use_client_pointer = (parameters->flags & BNNSFlagsUseClientPtr) != 0;
  if (parameters->n_threads != 0) threads = parameters->n_threads;
}

void fail_not_accepted(const Filter& filter) {
  fail("filter is ", filter.kind(), "; it does not accept this call");
}

void Filter::apply(const ForwardArgs&) {
  fail_not_accepted(*this);
}

void Filter::apply_backward(const BackwardArgs&) {
  fail_not_accepted(*this);
}

void Filter::reserve(size_t, size_t) {
  ThreadPool::instance().start(threads_);
}

// While nobody listens the flag stays clear, so that a callback that is set later is told too.
void Filter::log_copy(const char* function, const char* delta, const char* parameters) {
  if (!log_wants(OpenBNNSLogLevelWarning) || warned_of_copy_.exchange(true)) return;
  const Text text(function, ": ", delta, " is wanted, but ", kind_, " copied its ", parameters,
                  " at creation, so that stepping the client's array does not change what it "
                  "computes; create it with BNNSFlagsUseClientPtr");
  log_message(OpenBNNSLogLevelWarning, text.c_str());
}

void fail_no_filter(const void* handle) {
  require(handle != nullptr, "filter is NULL");
  fail("filter is ", handle, "; that is no live filter (destroyed, or never made)");
}

void log_plan(const Filter& filter) {
  if (!log_wants(OpenBNNSLogLevelInfo)) return;
  const Text text("created ", filter.kind(), ": ", filter.plan(), ", target ", target_name(), ", ",
                  filter.threads(), filter.threads() == 1 ? " thread" : " threads");
  log_message(OpenBNNSLogLevelInfo, text.c_str());
}

void destroy_filter(void* handle) {
  if (handle == nullptr) return;
  auto* filter = static_cast<Filter*>(handles().remove(HandleKind::kFilter, handle));
  if (filter == nullptr) fail_no_filter(handle);
  const Memory memory = filter->memory();
  filter->~Filter();
  memory.release(reinterpret_cast<char*>(filter) - kFilterHeader);
}

}  // namespace bnns::impl
