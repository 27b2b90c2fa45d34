// bnns::Error, which every failure of the C++ classes throws. what() names the operation and gives
// the reason: field, value and rule.
#ifndef OPENBNNS_ERROR_HPP
#define OPENBNNS_ERROR_HPP

#include <sstream>
#include <stdexcept>
#include <string>

#include "names.hpp"
#include "openbnns.h"

namespace bnns {

class Error : public std::runtime_error {
 public:
  enum class Code {
    layer_apply_fail,
    unable_to_create_layer,
    array_descriptor_invalid_data,
    optimizer_step_fail,
    invalid_argument,  // what the Swift classes end the process for
  };

  Error(Code code, const std::string& operation, const std::string& reason, int native_status = 0)
      : std::runtime_error("bnns::" + operation + ": " + reason),
        code_(code),
        native_status_(native_status) {}

  Code code() const noexcept { return code_; }
  // Of the C call; 0 if the failure was found before it.
  int native_status() const noexcept { return native_status_; }

 private:
  Code code_;
  int native_status_;
};

namespace detail {

// The reason is the text of the parts, one after the other.
template <typename... Parts>
[[noreturn]] void fail(Error::Code code, const char* operation, const Parts&... parts) {
  std::ostringstream reason;
  (reason << ... << parts);
  throw Error(code, operation, reason.str());
}

template <typename... Parts>
void require(bool condition, Error::Code code, const char* operation, const Parts&... parts) {
  if (!condition) fail(code, operation, parts...);
}

// The failure of a C call, told with the names of the C++ classes.
inline void check(int status, Error::Code code, const char* operation) {
  if (status != 0) throw Error(code, operation, in_cpp_names(OpenBNNSGetLastError()), status);
}

}  // namespace detail
}  // namespace bnns

#endif
