#include "core/log.h"

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <mutex>

#include "core/platform.h"

namespace bnns::impl {
namespace {

struct LevelInfo {
  OpenBNNSLogLevel level;
  const char* name;
};

// The levels by severity, the least severe first.
constexpr LevelInfo kLevels[] = {{OpenBNNSLogLevelInfo, "info"},
                                 {OpenBNNSLogLevelWarning, "warning"},
                                 {OpenBNNSLogLevelError, "error"}};

// The index in kLevels.
constexpr uint32_t severity(OpenBNNSLogLevel level) {
  uint32_t i = 0;
  while (kLevels[i].level != level) ++i;
  return i;
}

void write_to_stderr(OpenBNNSLogLevel level, const char* text, void*) {
  std::fprintf(stderr, "openbnns %s: %s\n", kLevels[severity(level)].name, text);
}

// Compares without regard to the case of ASCII letters; `lower` has lower-case letters only.
bool is_word(const char* text, const char* lower) {
  for (; *text != '\0' && *lower != '\0'; ++text, ++lower) {
    const char c = *text >= 'A' && *text <= 'Z' ? static_cast<char>(*text - 'A' + 'a') : *text;
    if (c != *lower) return false;
  }
  return *text == *lower;
}

struct Sink {
  OpenBNNSLogCallback callback = nullptr;
  void* user = nullptr;
};

// The threshold above all levels, when nobody listens: a failure then takes no lock.
constexpr uint32_t kSilent = std::size(kLevels);

class Log {
 public:
  void set(Sink sink, uint32_t threshold) {
    const std::lock_guard lock(mutex_);
    sink_ = sink;
    threshold_.store(threshold, std::memory_order_relaxed);
  }

  bool wants(OpenBNNSLogLevel level) const {
    return severity(level) >= threshold_.load(std::memory_order_relaxed);
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
  std::atomic<uint32_t> threshold_{kSilent};  // the least severity that is wanted
};

// Constant-initialised and trivially destroyed: usable before main and during exit.
constinit Log the_log;

[[maybe_unused]] const bool environment_read = [] {
  the_log.hold_during_fork();
  const char* wish = std::getenv("OPENBNNS_LOG");
  if (wish == nullptr || *wish == '\0') return false;
  for (const LevelInfo& info : kLevels) {
    if (!is_word(wish, info.name)) continue;
    the_log.set({.callback = write_to_stderr}, severity(info.level));
    return true;
  }
  const Text text("OPENBNNS_LOG is \"", wish,
                  "\"; it must be error, warning or info; it is ignored");
  write_to_stderr(OpenBNNSLogLevelWarning, text.c_str(), nullptr);
  return false;
}();

thread_local char last_error_text[Text::kCapacity + 128] = "";

}  // namespace

void set_log_callback(OpenBNNSLogCallback callback, void* user) {
  the_log.set({.callback = callback, .user = user}, callback == nullptr ? kSilent : 0);
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
  std::snprintf(last_error_text, sizeof last_error_text, "%s%s%s",
                function == nullptr ? "" : function, function == nullptr ? "" : ": ",
                error.text.c_str());
  const bool unsupported = error.failure == Failure::kUnsupported;
  the_log.write(unsupported ? OpenBNNSLogLevelInfo : OpenBNNSLogLevelError, last_error_text);
}

}  // namespace bnns::impl
