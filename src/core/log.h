// The log callback and the per-thread last error. Nothing is printed unless the client asks: with a
// callback, or with OPENBNNS_LOG=error|warning|info in the environment.
#pragma once

#include "core/error.h"
#include "openbnns/openbnns.h"

namespace bnns::impl {

void set_log_callback(OpenBNNSLogCallback callback, void* user);

// Whether anybody receives messages of this level; if not, the text need not be built.
bool log_wants(OpenBNNSLogLevel level);
void log_message(OpenBNNSLogLevel level, const char* text);

const char* last_error();

// Stores "function: text" as this thread's last error and logs it; the text alone if there is no
// function.
void record_failure(const char* function, const Error& error) noexcept;

}  // namespace bnns::impl
