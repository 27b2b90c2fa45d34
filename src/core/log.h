// The log callback and the per-thread last error. Nothing is printed unless the client asks: with a
// callback, or with OPENBNNS_LOG=error|info in the environment.
#pragma once

#include "core/error.h"
#include "openbnns/openbnns.h"

namespace bnns::impl {

void set_log_callback(OpenBNNSLogCallback callback, void* user);

// True if a message of this level would reach anybody; saves building the text of a plan.
bool log_wants(OpenBNNSLogLevel level);
void log_message(OpenBNNSLogLevel level, const char* text);

const char* last_error();

// Stores "function: text" as this thread's last error and logs it.
void record_failure(const char* function, const Error& error) noexcept;

}  // namespace bnns::impl
