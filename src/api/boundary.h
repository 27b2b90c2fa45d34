// The place where exceptions end: they never reach the client. Every extern "C" function enters
// here with its name and a body; what the body throws becomes the failure value, the thread's last
// error and a log message "function: field is value; rule".
#pragma once

#include <exception>
#include <new>

#include "core/error.h"
#include "openbnns/bnns.h"

namespace bnns::impl::boundary {

// Records the exception being handled; returns the status of an int function.
int record_current(const char* function) noexcept;

// Returns the value of body(), or `failure` if it throws.
template <class T, class Body>
T value(const char* function, T failure, const Body& body) noexcept {
  try {
    return body();
  } catch (...) {
    record_current(function);
    return failure;
  }
}

// Returns 0, or the status of the failure (-1 unless the error has another one).
template <class Body>
int status(const char* function, const Body& body) noexcept {
  try {
    body();
    return 0;
  } catch (...) {
    return record_current(function);
  }
}

// Returns the new handle that body() creates, or NULL if it throws.
template <class Body>
void* handle(const char* function, const Body& body) noexcept {
  return value<void*>(function, nullptr, body);
}

}  // namespace bnns::impl::boundary
