#include "core/log.h"

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>

#include "core/platform.h"

namespace bnns::impl {
namespace {

void write_to_stderr(OpenBNNSLogLevel level, const char* text, void*) {
  std::fprintf(stderr, "openbnns %s: %s\n", level == OpenBNNSLogLevelError ? "error" : "info",
               text);
}

struct Sink {
  OpenBNNSLogCallback callback = nullptr;
  void* user = nullptr;
};

// The threshold above all levels, when nobody listens: a failure then takes no lock.
constexpr uint32_t kSilent = 2;

class Log {
 public:
  void set(Sink sink, uint32_t threshold) {
    const std::lock_guard lock(mutex_);
    sink_ = sink;
    threshold_.store(threshold, std::memory_order_relaxed);
  }

  bool wants(OpenBNNSLogLevel level) const {
    return level >= threshold_.load(std::memory_order_relaxed);
  }

  void hold_during_fork() noexcept { platform::hold_during_fork(mutex_); }

  void write(OpenBNNSLogLevel level, const char* text) {
    if (!wants(level)) return;
    Sink sink;
    {
      const std::lock_guard lock(mutex_);
      sink = sink_;
    }
    // Outside the lock: a callback may itself call the library.
    if (sink.callback != nullptr) sink.callback(level, text, sink.user);
  }

 private:
  std::mutex mutex_;
  Sink sink_;
  std::atomic<uint32_t> threshold_{kSilent};
};

// Constant-initialised and trivially destroyed: usable before main and during exit.
constinit Log the_log;

[[maybe_unused]] const bool environment_read = [] {
  the_log.hold_during_fork();
  const char* wish = std::getenv("OPENBNNS_LOG");
  if (wish == nullptr) return false;
  if (std::strcmp(wish, "error") == 0) {
    the_log.set({.callback = write_to_stderr}, OpenBNNSLogLevelError);
  } else if (std::strcmp(wish, "info") == 0) {
    the_log.set({.callback = write_to_stderr}, OpenBNNSLogLevelInfo);
  }
  return true;
}();

thread_local char last_error_text[Text::kCapacity + 128] = "";

}  // namespace

void set_log_callback(OpenBNNSLogCallback callback, void* user) {
  the_log.set({.callback = callback, .user = user},
              callback == nullptr ? kSilent : uint32_t{OpenBNNSLogLevelInfo});
}

bool log_wants(OpenBNNSLogLevel level) {
  return the_log.wants(level);
}

void log_message(OpenBNNSLogLevel level, const char* text) {
  the_log.write(level, text);
}

const char* last_error() {
  return last_error_text;
}

void record_failure(const char* function, const Error& error) noexcept {
  std::snprintf(last_error_text, sizeof last_error_text, "%s: %s", function, error.text.c_str());
  const bool unsupported = error.failure == Failure::kUnsupported;
  the_log.write(unsupported ? OpenBNNSLogLevelInfo : OpenBNNSLogLevelError, last_error_text);
}

}  // namespace bnns::impl
