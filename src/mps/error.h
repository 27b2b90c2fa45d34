// How a call of the MPS classes fails: fail() throws MPS::Error, after the text has become the
// thread's last error and gone to the log, like every failure of the C API.
// Texts name class or function, argument, value and rule:
//   require(ok, ErrorCode::ShapeMismatch, "NNLossGradient: labels[", n, "]: width 3, expected 2");
#pragma once

#include <sstream>
#include <string>

#include "openbnns/mps.hpp"

namespace bnns::impl::mps {

using MPS::ErrorCode;

[[noreturn]] void throw_error(ErrorCode code, const std::string& text);

template <class... Pieces>
[[noreturn, gnu::noinline, gnu::cold]] void fail(ErrorCode code, const Pieces&... pieces) {
  std::ostringstream text;
  (text << ... << pieces);
  throw_error(code, text.str());
}

template <class... Pieces>
inline void require(bool condition, ErrorCode code, const Pieces&... pieces) {
  if (!condition) [[unlikely]]
    fail(code, pieces...);
}

}  // namespace bnns::impl::mps
