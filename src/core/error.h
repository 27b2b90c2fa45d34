// The one way a call fails inside the library: throw Error through require() or fail(). The C
// boundary (api/boundary.h) turns it into -1 or NULL plus the thread's last error.
// Texts name the field, its value and the rule; the boundary puts the function in front:
//   require(k > 0, "k_width is ", k, "; it must be at least 1");
#pragma once

#include "core/text.h"

namespace bnns::impl {

enum class Failure {
  kInvalid,      // a bad argument: logged as an error
  kUnsupported,  // a valid combination this library does not do: logged as information
  kMemory,       // an allocation failed
};

struct Error {
  Text text;
  Failure failure = Failure::kInvalid;
  int status = -1;
};

template <class... Pieces>
[[noreturn, gnu::noinline, gnu::cold]] void fail(const Pieces&... pieces) {
  throw Error{.text = Text(pieces...)};
}

template <class... Pieces>
[[noreturn, gnu::noinline, gnu::cold]] void fail_unsupported(const Pieces&... pieces) {
  throw Error{.text = Text(pieces...), .failure = Failure::kUnsupported};
}

template <class... Pieces>
inline void require(bool condition, const Pieces&... pieces) {
  if (!condition) [[unlikely]]
    fail(pieces...);
}

}  // namespace bnns::impl
