// bnns::Error, which every failure of the C++ classes throws. what() names the operation and gives
// the reason of the C call that failed: field, value and rule.
#ifndef OPENBNNS_ERROR_HPP
#define OPENBNNS_ERROR_HPP

#include <stdexcept>
#include <string>

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

inline void require(bool condition, Error::Code code, const char* operation, const char* reason) {
  if (!condition) throw Error(code, operation, reason);
}

inline void check(int status, Error::Code code, const char* operation) {
  if (status != 0) throw Error(code, operation, OpenBNNSGetLastError(), status);
}

inline void require_data(const BNNSNDArrayDescriptor& descriptor, const char* operation,
                         const char* argument) {
  if (descriptor.data == nullptr) {
    throw Error(Error::Code::array_descriptor_invalid_data, operation,
                std::string(argument) + ".data is NULL");
  }
}

}  // namespace detail
}  // namespace bnns

#endif
