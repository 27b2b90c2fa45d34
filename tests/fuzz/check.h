// What every call must keep to, whatever its arguments: a failure gives a fresh reason that starts
// with the name of the function and is plain text; a success leaves the last reason alone.
// A broken promise ends the process, which is how libFuzzer learns of it.
#ifndef OPENBNNS_FUZZ_CHECK_H
#define OPENBNNS_FUZZ_CHECK_H

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include <openbnns/openbnns.h>

namespace fuzz {

[[noreturn]] inline void finding(const char* function, const char* what) {
  std::fprintf(stderr, "finding: %s: %s\n  last error: \"%s\"\n", function, what,
               OpenBNNSGetLastError());
  std::abort();
}

inline void expect(bool condition, const char* function, const char* what) {
  if (!condition) finding(function, what);
}

// Counts what the log callback hears. One thread fuzzes; others never fail calls.
struct Log {
  size_t failures = 0;  // calls that were refused, whatever the level: the text is the last error
  size_t errors = 0;    // messages of level error
  std::string last;

  static void hear(OpenBNNSLogLevel level, const char* message, void* user) {
    Log& log = *static_cast<Log*>(user);
    log.failures += std::strcmp(message, OpenBNNSGetLastError()) == 0;
    log.errors += level == OpenBNNSLogLevelError;
    log.last = message;
  }
};

struct Tally {
  size_t accepted = 0;
  size_t refused = 0;
};

// A target that never gets past creation finds nothing: the counts show how deep it went.
inline Tally& tally() {
  static Tally counts;
  static const bool at_exit = [] {
    return std::atexit([] {
             std::fprintf(stderr, "calls: %zu accepted, %zu refused\n", tally().accepted,
                          tally().refused);
           }) == 0;
  }();
  (void)at_exit;
  return counts;
}

inline Log& log() {
  static Log heard;
  static const bool listening = [] {
    OpenBNNSSetLogCallback(&Log::hear, &heard);
    return true;
  }();
  (void)listening;
  return heard;
}

inline bool is_plain(const char* text) {
  for (; *text != '\0'; ++text) {
    if (*text < 0x20 || *text > 0x7E) return false;
  }
  return true;
}

inline void check_reason(const char* function) {
  const char* reason = OpenBNNSGetLastError();
  const size_t length = std::strlen(function);
  expect(std::strncmp(reason, function, length) == 0 && reason[length] == ':' &&
             reason[length + 1] == ' ' && reason[length + 2] != '\0',
         function, "a failing call leaves no reason that starts with its name");
  expect(is_plain(reason), function, "the reason is not plain printable text");
}

// Brackets one call.
class Watch {
 public:
  explicit Watch(const char* function)
      : function_(function),
        failures_(log().failures),
        errors_(log().errors),
        reason_(OpenBNNSGetLastError()) {}

  void done(bool success) const {
    if (success) {
      ++tally().accepted;
      expect(log().errors == errors_, function_, "a succeeding call logs an error");
      expect(reason_ == OpenBNNSGetLastError(), function_, "a succeeding call changes the reason");
    } else {
      ++tally().refused;
      expect(log().failures == failures_ + 1, function_, "a failing call does not log once");
      expect(log().last == OpenBNNSGetLastError(), function_, "log and last error differ");
      check_reason(function_);
    }
  }

 private:
  const char* function_;
  size_t failures_, errors_;
  std::string reason_;
};

}  // namespace fuzz
#endif
