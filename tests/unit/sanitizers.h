// Which sanitizers this build has. Tests that replace malloc or count system calls cannot run under
// them, others do less work there.
#pragma once

namespace test {

#if defined(__has_feature)
constexpr bool kAddressSanitizer = __has_feature(address_sanitizer);
constexpr bool kThreadSanitizer = __has_feature(thread_sanitizer);
#elif defined(__SANITIZE_ADDRESS__)
constexpr bool kAddressSanitizer = true;
constexpr bool kThreadSanitizer = false;
#elif defined(__SANITIZE_THREAD__)
constexpr bool kAddressSanitizer = false;
constexpr bool kThreadSanitizer = true;
#else
constexpr bool kAddressSanitizer = false;
constexpr bool kThreadSanitizer = false;
#endif

constexpr bool kSanitized = kAddressSanitizer || kThreadSanitizer;

}  // namespace test
